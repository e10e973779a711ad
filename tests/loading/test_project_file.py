"""What a project says of itself in its pyproject.toml."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from reeval_build.loading.project_file import ProjectFileError, ProjectSettings, project_settings
from tests.support.users import checked_by_permissions

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
        (b"[tool.reeval-build]\nstore = 'x'\n", 'has an unknown key "store" (known are budget, platform and harness)'),
        (b"tool.reeval-build = []\n", "tool.reeval-build is not a table"),
        (b"# reeval-build \xff\n", "it is not TOML: "),
        (b"tool.reeval-build.budget = " + b"[" * 5000 + b"]" * 5000, "it is nested too deeply"),
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


@pytest.mark.parametrize("named", ["in a directory that may not be entered", "that may not be read"])
def test_what_may_not_be_asked_says_nothing_and_what_may_not_be_read_is_said(tmp_path: Path, named: str) -> None:
    inside = tmp_path / "closed" / "inside"
    inside.mkdir(parents=True)
    (tmp_path / "closed" / "pyproject.toml").write_text(FIVE)
    closed = tmp_path / "closed" if named.startswith("in") else tmp_path / "closed" / "pyproject.toml"
    asking = (
        "import sys\nfrom pathlib import Path\n"
        "from reeval_build.loading.project_file import project_settings\n"
        "print(project_settings(Path(sys.argv[1])))"
    )
    command = [*checked_by_permissions(), sys.executable, "-c", asking, str(inside)]
    closed.chmod(0o600 if closed.is_dir() else 0o000)
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    finally:
        closed.chmod(0o755)

    if named.startswith("in"):
        assert done.stdout == f"{NOTHING}\n", done.stderr
    else:
        assert "it cannot be read: Permission denied" in done.stderr
