"""Files that change while a build reads or uses them: a result is kept under what it was really made of."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.support.cli import Built, finish
from tests.support.waiting import wait_until

if TYPE_CHECKING:
    import subprocess
    from pathlib import Path

    from tests.support.cli import ReevalBuild
    from tests.support.projects import Project


def built(process: subprocess.Popen[bytes]) -> Built:
    done = finish(process)
    assert done.code == 0, done.stderr
    return Built(done.code, done.stdout, done.stderr)


@pytest.mark.conforms("41", "fault 10")
def test_a_file_that_is_edited_while_a_step_runs_is_in_the_next_build(
    project: Project, reeval: ReevalBuild, tmp_path: Path
) -> None:
    project.write("rules.md", "before\n")
    wait = f"touch {tmp_path}/begun; until [ -e {tmp_path}/end ]; do sleep 0.01; done"
    project.define(
        f"""
        one = define_environment("one", {{
            "sandbox": fake_sandbox(), "rules": file("rules.md"), "setup": ["{wait}", "cat AGENTS.md > copy"],
        }})
        """
    )
    process = reeval.start("build", "--json")
    wait_until((tmp_path / "begun").exists)

    project.write("rules.md", "after\n")
    (tmp_path / "end").touch()

    first = built(process)
    assert reeval("run", "one@fake", "--", "cat", "AGENTS.md", "copy").stdout.startswith("after\nafter\n")
    project.write("rules.md", "before\n")
    again = reeval.build()
    assert again.ran == []
    assert again.snapshots == first.snapshots
    assert reeval("run", "one@fake", "--", "cat", "AGENTS.md", "copy").stdout.startswith("before\nbefore\n")


@pytest.mark.conforms("58", "fault 10")
def test_a_repository_that_moves_on_while_a_step_runs_is_in_the_next_build(
    project: Project, reeval: ReevalBuild, tmp_path: Path
) -> None:
    app = project.repository("app", {"main.txt": "before\n"})
    wait = f"touch {tmp_path}/begun; until [ -e {tmp_path}/end ]; do sleep 0.01; done"
    project.define(
        f"""
        one = define_environment("one", {{
            "sandbox": fake_sandbox(), "workspace": git("app", ref="main"), "setup": ["{wait}", "cat main.txt > copy"],
        }})
        """
    )
    process = reeval.start("build", "--json")
    wait_until((tmp_path / "begun").exists)

    app.commit({"main.txt": "after\n"})
    (tmp_path / "end").touch()
    built(process)

    second = reeval.build()
    assert "workspace app@main" in second.ran
    assert reeval("run", "one@fake", "--", "cat", "main.txt", "copy").stdout.startswith("after\nafter\n")


def test_a_definition_that_is_edited_while_it_is_built_does_not_change_the_build(
    project: Project, reeval: ReevalBuild, tmp_path: Path
) -> None:
    wait = f"touch {tmp_path}/begun; until [ -e {tmp_path}/end ]; do sleep 0.01; done"
    project.define(f'one = define_environment("one", {{"sandbox": fake_sandbox(), "setup": ["{wait}", "echo a > a"]}})')
    process = reeval.start("build", "--json")
    wait_until((tmp_path / "begun").exists)

    project.write("env.py", "this is no Python\n")
    (tmp_path / "end").touch()

    assert built(process).ran[-1] == "snapshot one"
    assert reeval("build", code=2).messages
