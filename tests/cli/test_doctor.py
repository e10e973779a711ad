"""`reeval-build doctor`."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

import pytest

from tests.support.cli import assert_nothing_is_left, kill, sandbox_processes
from tests.support.waiting import wait_until

if TYPE_CHECKING:
    import subprocess
    from pathlib import Path

    from tests.support.cli import Done, ReevalBuild
    from tests.support.projects import Project

NOWHERE = {"DOCKER_HOST": "unix:///nowhere.sock"}


def begin(project: Project, reeval: ReevalBuild, tmp_path: Path) -> subprocess.Popen[bytes]:
    """A build whose step runs on and on."""
    project.define(
        f'one = define_environment("one", {{"sandbox": fake_sandbox(), "setup": ["touch {tmp_path}/on; sleep 100"]}})'
    )
    process = reeval.start("build")
    wait_until((tmp_path / "on").exists)
    return process


def verdicts(done: Done, about: str) -> list[str]:
    return [one["verdict"] for one in json.loads(done.stdout)["findings"] if one["about"] == about]


def test_a_store_that_is_not_there_is_not_made(reeval: ReevalBuild) -> None:
    done = reeval("doctor", "--sandbox", "fake")

    assert f"{reeval.store} is not there yet: the first build makes it" in done.stdout
    assert not reeval.store.exists()


def test_what_a_killed_run_left_is_shown_and_stays(project: Project, reeval: ReevalBuild, tmp_path: Path) -> None:
    kill(begin(project, reeval, tmp_path), group=False)

    done = reeval("doctor", "--sandbox", "fake")

    (directory,) = (reeval.store / "tmp").iterdir()
    (lock,) = (reeval.store / "locks").iterdir()
    for left in (directory, lock):
        assert f"left     store    {left} was left by a killed run (--fix removes it)" in done.stdout.splitlines()
    assert sandbox_processes(reeval.store)


def test_what_a_killed_run_left_is_removed_with_its_processes(
    project: Project, reeval: ReevalBuild, tmp_path: Path
) -> None:
    kill(begin(project, reeval, tmp_path), group=False)

    done = reeval("doctor", "--sandbox", "fake", "--fix", "--json")

    assert verdicts(done, "store")[0] == "well"
    assert set(verdicts(done, "store")[1:]) == {"removed"}
    assert_nothing_is_left(reeval.store)
    wait_until(lambda: not sandbox_processes(reeval.store))


def test_what_a_process_uses_that_runs_is_not_touched(project: Project, reeval: ReevalBuild, tmp_path: Path) -> None:
    process = begin(project, reeval, tmp_path)

    done = reeval("doctor", "--sandbox", "fake", "--fix", "--json")

    assert verdicts(done, "store") == ["well"]
    assert sandbox_processes(reeval.store)
    kill(process)


def test_an_engine_that_does_not_answer_is_wrong_unless_none_is_needed(reeval: ReevalBuild) -> None:
    with_engine = reeval("doctor", "--json", env=NOWHERE, code=3)
    without = reeval("doctor", "--json", "--sandbox", "fake", env=NOWHERE)

    assert verdicts(with_engine, "engine") == ["wrong"]
    (engine,) = [one for one in json.loads(with_engine.stdout)["findings"] if one["about"] == "engine"]
    assert engine["text"] == "the Docker engine at unix:///nowhere.sock does not answer: no such file or directory"
    assert engine["hint"] == "start it, or set DOCKER_HOST to the address of one that runs"
    assert verdicts(without, "engine") == []


def test_a_store_that_cannot_be_used_is_wrong_and_the_rest_is_looked_at_all_the_same(reeval: ReevalBuild) -> None:
    reeval.store.mkdir()
    (reeval.store / "packs").write_text("a file")

    done = reeval("doctor", "--json", env=NOWHERE, code=3)

    assert verdicts(done, "store") == ["wrong"]
    assert verdicts(done, "engine") == ["wrong"]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_store_of_another_user_is_wrong(reeval: ReevalBuild) -> None:
    reeval.store.mkdir(mode=0o500)

    assert verdicts(reeval("doctor", "--json", "--sandbox", "fake", code=3), "store") == ["wrong"]
