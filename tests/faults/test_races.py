"""The same cell twice at once, killed, and beside others that fail."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.sources.npm_world import NEEDS_NPM
from tests.support.cli import assert_nothing_is_left, finish, kill, sandbox_processes
from tests.support.projects import listing
from tests.support.waiting import wait_until

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.cli import ReevalBuild
    from tests.support.projects import Project


@pytest.mark.conforms("fault 33")
def test_a_cell_runs_twice_at_once_and_after_it_was_killed_and_what_was_left_is_removed(
    project: Project, reeval: ReevalBuild, tmp_path: Path
) -> None:
    project.define('one = define_environment("one", {"sandbox": fake_sandbox(), "setup": ["echo made > made"]})')
    script = f"touch {tmp_path}/$0; until [ -e {tmp_path}/end ]; do sleep 0.01; done; echo $0 > mine; cat made mine"
    killed, living = (reeval.start("run", "one@fake", "--", "sh", "-c", script, name) for name in ("killed", "living"))
    wait_until(lambda: (tmp_path / "killed").exists() and (tmp_path / "living").exists())

    kill(killed, group=False)
    (tmp_path / "end").touch()
    after = reeval("run", "one@fake", "--", "sh", "-c", script, "after")

    for name, done in (("living", finish(living)), ("after", after)):
        assert done.stdout == f"made\n{name}\none@fake: 1 changed since the snapshot\n  added    mine\n"
    assert_nothing_is_left(reeval.store)


@pytest.mark.conforms("fault 33")
def test_a_build_that_is_killed_in_a_step_does_not_block_the_next_and_leaves_nothing(
    project: Project, reeval: ReevalBuild, tmp_path: Path
) -> None:
    wait = f"touch {tmp_path}/begun; until [ -e {tmp_path}/end ]; do sleep 0.01; done; echo made > made"
    project.define(f'one = define_environment("one", {{"sandbox": fake_sandbox(), "setup": ["{wait}"]}})')
    killed = reeval.start("build")
    wait_until((tmp_path / "begun").exists)
    kill(killed, group=False)
    assert listing(reeval.store / "tmp")
    assert listing(reeval.store / "locks")

    (tmp_path / "end").touch()
    built = reeval.build()

    assert built.phases("ran") == ["setup", "snapshot"]
    assert "waiting" not in built.stderr
    assert sandbox_processes(reeval.store) == []
    assert_nothing_is_left(reeval.store)


@pytest.mark.conforms("fault 35")
def test_one_of_five_environments_fails_and_four_are_finished(project: Project, reeval: ReevalBuild) -> None:
    project.define(
        """
        for number in range(5):
            step = "echo why it failed; exit 9" if number == 2 else f"echo {number} > made"
            globals()[f"e{number}"] = define_environment(f"e{number}", {"sandbox": fake_sandbox(), "setup": [step]})
        """
    )

    built = reeval.build("--harness", "codex", "--harness", "claude-code", code=3)

    statuses = {cell["name"]: cell["status"] for cell in built.value["cells"]}
    assert {name for name, status in statuses.items() if status == "failed"} == {"e2@codex", "e2@claude-code"}
    assert {status for name, status in statuses.items() if not name.startswith("e2")} == {"ran"}
    (message,) = built.messages
    assert message.startswith("reeval: env.py: e2@codex, e2@claude-code: ")
    (log,) = (path for path in (reeval.store / "logs").iterdir() if str(path) in message)
    assert log.read_text() == "why it failed\n"
    assert (built.code, built.summary["failed"]) == (3, 1)
    for number in (0, 1, 3, 4):
        assert reeval("run", f"e{number}@codex", "--", "cat", "made").stdout.startswith(f"{number}\n")


@NEEDS_NPM
@pytest.mark.conforms("fault 36")
def test_a_step_that_fails_one_that_takes_too_long_and_a_network_that_is_away_are_told_apart(
    project: Project, reeval: ReevalBuild
) -> None:
    # That one was killed for memory can be told of a container only: tests/engine has that.
    project.write(".npmrc", "registry=http://127.0.0.1:9/\nfetch-retries=0\n")
    project.define(
        """
        here = {"sandbox": fake_sandbox()}
        ends = define_environment("ends", {**here, "setup": ["exit 1"]})
        lasts = define_environment("lasts", {**here, "setup": [{"run": "sleep 1000", "timeout": "1s"}]})
        away = define_environment("away", {**here, "workspace": git("http://127.0.0.1:9/app.git", ref="v1.0.0")})
        packed = define_environment("packed", {**here, "skills": [skill.npm("packed@1.0.0")]})
        """
    )

    built = reeval.build(code=3)

    failures = {node["cells"][0]: node["failure"]["category"] for node in built.nodes if node["failure"]}
    assert failures == {
        "ends@fake": "exit",
        "lasts@fake": "timeout",
        "away@fake": "network",
        "packed@fake": "network",
    }
