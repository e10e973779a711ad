"""What a project says of itself in its pyproject.toml."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from reeval_build.loading.project_file import ProjectFileError, ProjectSettings, project_settings

if TYPE_CHECKING:
    from pathlib import Path

FIVE = "[tool.reeval-build]\nbudget = 5\n"
NOTHING = ProjectSettings()


def test_the_nearest_file_counts_and_no_other(tmp_path: Path) -> None:
    below = tmp_path / "a" / "b"
    below.mkdir(parents=True)
    (tmp_path / "pyproject.toml").write_text(FIVE)
    assert project_settings(below) == ProjectSettings(budget_bytes=5)

    (tmp_path / "a" / "pyproject.toml").write_text("[project]\nname = 'a'\n")

    assert project_settings(below) == NOTHING
    assert project_settings(tmp_path) == ProjectSettings(budget_bytes=5)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", NOTHING),
        ("[tool.reeval-build]\n", NOTHING),
        ("[tool.reeval-builder]\nbudget = 5\n", NOTHING),
        ('[tool."reeval-build"]\nbudget = "20G"\n', ProjectSettings(budget_bytes=20 * 1024**3)),
        ('[tool.reeval-build]\nplatform = "linux/arm64"\n', ProjectSettings(platform="linux/arm64")),
        ("tool = 1\n# reeval-build\n", NOTHING),
        ("this is no TOML, and not about us", NOTHING),
    ],
)
def test_what_a_file_says(tmp_path: Path, text: str, expected: ProjectSettings) -> None:
    (tmp_path / "pyproject.toml").write_text(text)

    assert project_settings(tmp_path) == expected


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (b"[tool.reeval-build]\nbudget = true\n", "budget of [tool.reeval-build] is True, which is not a size"),
        (b"[tool.reeval-build]\nbudget = -1\n", "budget of [tool.reeval-build] is -1, which is not a size"),
        (b"[tool.reeval-build]\nplatform = 'arm64'\n", "platform of [tool.reeval-build] is 'arm64', which is not a"),
        (b"[tool.reeval-build]\nstore = 'x'\n", 'has an unknown key "store" (known are budget and platform)'),
        (b"tool.reeval-build = []\n", "tool.reeval-build is not a table"),
        (b"# reeval-build \xff\n", "it is not TOML: "),
    ],
)
def test_what_is_wrong_is_said_with_the_path(tmp_path: Path, data: bytes, problem: str) -> None:
    path = tmp_path / "pyproject.toml"
    path.write_bytes(data)

    with pytest.raises(ProjectFileError) as caught:
        project_settings(tmp_path)

    assert str(caught.value).startswith(f"{path}: ")
    assert problem in str(caught.value)
    assert caught.value.path == path
