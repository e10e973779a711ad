"""What an author's mistakes are called, from a definition file to standard error, before anything is built."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pytest

from tests.support.projects import listing

if TYPE_CHECKING:
    from tests.support.cli import ReevalBuild
    from tests.support.projects import Project

MISTAKES: Final = tomllib.loads(Path(__file__).with_name("documented_messages.toml").read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    ("written", "said"),
    [
        pytest.param(row["written"], row["said"], id=name, marks=pytest.mark.conforms(*row["items"], "13", "exit 2"))
        for name, row in MISTAKES.items()
    ],
)
def test_a_mistake_is_said_with_its_file_before_anything_is_built(
    project: Project, reeval: ReevalBuild, written: str, said: str
) -> None:
    project.write("tree/a", "")
    project.write("broken/a", "")
    (project.directory / "broken" / "link").symlink_to("nowhere")
    project.write("cycle/a/b", "")
    (project.directory / "cycle" / "a" / "up").symlink_to("..")
    trace = project.directory.parent / "trace"
    definition = written if written.startswith("define_environment") else f'define_environment("e", {written})'
    project.define(
        f"""
        from reeval_build import directory

        async def soon(helpers):
            return {{}}

        good = define_environment("good", {{"sandbox": fake_sandbox(), "setup": ["touch {trace}"]}})
        bad = {definition}
        """
    )

    done = reeval("build", code=2)

    assert done.stdout == ""
    (line,) = done.stderr.splitlines()
    assert line == f"reeval: env.py: {said}".replace("{root}", str(project.directory))
    assert "t0ken" not in line
    assert "ghp_0123" not in line
    assert not trace.exists()
    assert listing(reeval.store) == []
