"""Runs that are told to stop: what was finished is kept, and nothing goes on."""

from __future__ import annotations

import os
import random
import signal
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.sources.npm_registry import npm_registry
from tests.sources.npm_world import NEEDS_NPM
from tests.sources.servers import silent_server
from tests.support.cli import assert_nothing_is_left, finish, kill
from tests.support.torture import seeds
from tests.support.waiting import wait_until

if TYPE_CHECKING:
    from tests.support.cli import ReevalBuild
    from tests.support.projects import Project


@pytest.fixture
def signals(project: Project, tmp_path: Path) -> Path:
    """Four steps, of which the third says that it has begun and then waits for a file; all leave a trace."""
    signals = tmp_path / "signals"
    signals.mkdir()
    steps = [f"echo {number} >> {signals}/trace; echo {number} > {number}" for number in range(1, 5)]
    steps[2] += f"; touch {signals}/begun; until [ -e {signals}/end ]; do sleep 0.01; done"
    project.define(f'one = define_environment("one", {{"sandbox": fake_sandbox(), "setup": {steps!r}}})')
    return signals


@pytest.mark.conforms("exit 130", "fault 37")
@pytest.mark.parametrize(("sign", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)], ids=str)
def test_a_stopped_build_keeps_what_was_finished_and_goes_on_from_there(
    reeval: ReevalBuild, signals: Path, sign: signal.Signals, code: int
) -> None:
    process = reeval.start("build", "--json")
    wait_until((signals / "begun").exists)

    os.kill(process.pid, sign)

    stopped = finish(process)
    assert stopped.code == code
    assert stopped.stdout == ""
    assert_nothing_is_left(reeval.store)

    (signals / "end").touch()
    built = reeval.build()

    assert (signals / "trace").read_text() == "1\n2\n3\n3\n4\n"
    assert built.phases("ran") == ["setup", "setup", "snapshot"]
    assert reeval("run", "one@fake", "--", "ls").stdout.startswith("1\n2\n3\n4\n")


@pytest.mark.conforms("fault 37")
def test_ctrl_c_reaches_the_whole_group_and_says_so_in_one_sentence(reeval: ReevalBuild, signals: Path) -> None:
    process = reeval.start("build")
    wait_until((signals / "begun").exists)

    os.killpg(process.pid, signal.SIGINT)

    stopped = finish(process)
    assert stopped.code == 130
    assert stopped.messages == ["reeval: stopped; what was finished is kept"]
    assert_nothing_is_left(reeval.store)


@NEEDS_NPM
def test_a_plan_that_waits_for_a_registry_is_stopped_and_leaves_no_npm(reeval: ReevalBuild, project: Project) -> None:
    project.define(
        'one = define_environment("one", {"sandbox": fake_sandbox(), "skills": [skill.npm("hanging@1.0.0")]})'
    )
    with npm_registry() as registry:
        registry.package("hanging").fault = "hang"
        project.write(".npmrc", f"registry={registry.url}/public/\n")
        process = reeval.start("build")
        wait_until(lambda: bool(registry.seen))

        os.kill(process.pid, signal.SIGINT)

        stopped = finish(process)
        wait_until(registry.hung_up.is_set)

    assert stopped.code == 130
    assert stopped.messages == ["reeval: stopped; what was finished is kept"]
    assert_nothing_is_left(reeval.store)
    assert list((reeval.store / "npm" / "incoming").iterdir()) == []


def test_a_plan_that_waits_for_the_fetch_of_another_process_is_stopped_at_once(
    reeval: ReevalBuild, project: Project
) -> None:
    with silent_server() as port:
        workspace = f'git("http://127.0.0.1:{port}/app.git", ref="{"a" * 40}")'
        project.define(f'one = define_environment("one", {{"sandbox": fake_sandbox(), "workspace": {workspace}}})')
        fetching = reeval.start("build")
        try:
            wait_until(lambda: any((reeval.store / "git").glob("*/incoming-*")))
            waiting = reeval.start("build")
            wait_until(lambda: any(reeval.store.glob("git/*/lock")) and _has_open(waiting.pid, "/lock"))

            os.kill(waiting.pid, signal.SIGINT)

            assert finish(waiting).code == 130
            assert fetching.poll() is None
        finally:
            kill(fetching)


def _has_open(pid: int, ending: str) -> bool:
    with suppress(OSError):
        return any(str(link.readlink()).endswith(ending) for link in Path(f"/proc/{pid}/fd").iterdir())
    return False


def test_more_ctrl_c_does_no_harm(reeval: ReevalBuild, signals: Path) -> None:
    process = reeval.start("build")
    wait_until((signals / "begun").exists)

    for _ in range(5):
        os.kill(process.pid, signal.SIGINT)
        time.sleep(0.01)

    assert finish(process).code in {130, -signal.SIGINT}
    (signals / "end").touch()
    assert reeval.build().summary["failed"] == 0
    assert_nothing_is_left(reeval.store)


def test_a_run_that_waits_for_another_can_be_stopped(reeval: ReevalBuild, signals: Path) -> None:
    builder = reeval.start("build", "--json")
    wait_until((signals / "begun").exists)
    with (signals / "waiter").open("wb") as stderr:
        waiter = reeval.start("build", stderr=stderr)
    wait_until(lambda: b"waiting" in (signals / "waiter").read_bytes())

    os.kill(waiter.pid, signal.SIGINT)

    assert finish(waiter).code == 130
    (signals / "end").touch()
    assert finish(builder).code == 0
    assert (signals / "trace").read_text() == "1\n2\n3\n4\n"


@pytest.mark.torture
@pytest.mark.parametrize("seed", seeds(5))
def test_ctrl_c_at_any_moment_ends_the_build_in_order(project: Project, reeval: ReevalBuild, seed: int) -> None:
    project.repository("app", {f"{number}.txt": f"{number}\n" for number in range(50)}).git("tag", "v1.0.0")
    project.define(
        """
        for number in range(3):
            globals()[f"e{number}"] = define_environment(f"e{number}", {
                "sandbox": fake_sandbox(), "workspace": git("app", ref="v1.0.0"), "env": {"NUMBER": str(number)},
                "setup": ["echo $NUMBER > a", "cat a > b"],
            })
        """
    )
    process = reeval.start("build")
    assert process.stderr is not None
    process.stderr.readline()
    time.sleep(random.Random(seed).uniform(0, 0.2))  # noqa: S311 - a moment is no secret

    process.send_signal(signal.SIGINT)

    # A signal after the last line of our code ends the process itself, which a shell shows as 130, too.
    assert finish(process).code in {0, 130, -signal.SIGINT}
    assert reeval.build().summary["failed"] == 0
    assert_nothing_is_left(reeval.store)
