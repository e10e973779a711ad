"""Options that decide how a sandbox starts, and what it is called."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from tests.support.cli import assert_nothing_is_left
from tests.support.projects import listing

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.cli import ReevalBuild
    from tests.support.projects import Project


def test_fake_sandboxes_are_made_in_the_directory_that_is_named_and_gone_afterwards(
    project: Project, reeval: ReevalBuild, tmp_path: Path
) -> None:
    project.define(
        """
        one = define_environment("one", {"sandbox": fake_sandbox(dir="made/here"), "setup": ["pwd > where"]})
        """
    )

    shown = reeval("run", "one@fake", "--", "sh", "-c", "cat where; pwd").stdout.splitlines()

    for path in shown[:2]:
        assert path.startswith(f"{project.directory}/made/here/reeval-build-")
    assert listing(project.directory / "made") == ["here"]
    assert_nothing_is_left(reeval.store)


def test_a_directory_for_sandboxes_may_be_on_another_file_system(project: Project, reeval: ReevalBuild) -> None:
    elsewhere = "/dev/shm"  # noqa: S108 - the one other file system that every Linux has
    if not os.path.isdir(elsewhere):  # noqa: PTH112
        pytest.skip("there is no other file system here")
    project.define(
        f"""
        one = define_environment("one", {{
            "sandbox": fake_sandbox(dir="{elsewhere}"), "files": {{"a": "a"}}, "setup": ["cat a a > b", "pwd > where"],
        }})
        """
    )

    done = reeval("run", "one@fake", "--", "sh", "-c", "cat where b")

    assert done.stdout.startswith(f"{elsewhere}/reeval-build-")
    assert done.stdout.splitlines()[1].startswith("aa")


def test_a_directory_for_sandboxes_that_cannot_be_made_is_named(project: Project, reeval: ReevalBuild) -> None:
    project.write("taken", "a file")
    project.define('one = define_environment("one", {"sandbox": fake_sandbox(dir="taken"), "setup": ["true"]})')

    (message,) = reeval.build(code=3).messages

    assert f"{project.directory}/taken" in message


@pytest.mark.conforms("78", "fault 18")
def test_changing_how_a_sandbox_starts_runs_nothing_again(project: Project, reeval: ReevalBuild) -> None:
    project.define('one = define_environment("one", {"sandbox": fake_sandbox(), "setup": ["echo a > a"]})')
    first = reeval.build()
    project.edit("env.py", "fake_sandbox()", 'fake_sandbox(dir="here", max_concurrent=1)')

    second = reeval.build()

    assert second.ran == []
    assert second.keys == first.keys


def test_changing_what_a_sandbox_is_called_names_the_cell_anew_and_runs_nothing_again(
    project: Project, reeval: ReevalBuild
) -> None:
    project.define('one = define_environment("one", {"sandbox": fake_sandbox(), "setup": ["echo a > a"]})')
    first = reeval.build()
    project.edit("env.py", "fake_sandbox()", 'fake_sandbox(id="small")')

    second = reeval.build()

    assert second.ran == []
    assert {what for what, key in second.keys.items() if first.keys[what] != key} == {"cell one@fake"}


def test_what_a_sandbox_is_called_is_shown_of_its_cell(project: Project, reeval: ReevalBuild) -> None:
    project.define(
        """
        one = define_environment("one", {"sandbox": fake_sandbox(id="small")})
        other = define_environment("other", {"sandbox": fake_sandbox()})
        """
    )

    built = reeval.build()

    assert [(cell["name"], cell["sandbox"]) for cell in built.value["cells"]] == [
        ("one@fake", "small"),
        ("other@fake", "fake"),
    ]


def test_no_more_sandboxes_run_at_once_than_the_least_that_a_cell_allows(
    project: Project, reeval: ReevalBuild, tmp_path: Path
) -> None:
    taken = tmp_path / "taken"
    project.define(
        f"""
        several = [
            define_environment(f"e{{at}}", {{
                "sandbox": fake_sandbox(max_concurrent=1 if at == 2 else 5),
                "setup": [f"mkdir {taken} && sleep 0.3 && rmdir {taken} && echo {{at}} > done"],
            }})
            for at in range(4)
        ]
        e0, e1, e2, e3 = several
        """
    )

    assert reeval.build("--jobs", "4").summary["ran"] == 4 * 2 + 2


def test_a_time_for_starting_is_ignored_and_warned_of(project: Project, reeval: ReevalBuild) -> None:
    project.define(
        """
        one = define_environment("one", {"sandbox": docker(from_="example.com/none:1", start_timeout="30s")})
        """
    )

    done = reeval("graph", env={"DOCKER_HOST": "unix:///nowhere.sock"})

    assert done.messages[0] == (
        'reeval: warning: env.py: start_timeout of the sandbox of the environment "one" is ignored: an engine '
        "that does not answer in time is a failure anyway"
    )
