"""What a killed run left is removed by the next one, and nothing that is in use."""

from __future__ import annotations

import os
import signal
from typing import TYPE_CHECKING

import pytest

from tests.support.cli import assert_nothing_is_left, finish, kill, sandbox_processes
from tests.support.projects import listing
from tests.support.waiting import wait_until

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.cli import ReevalBuild
    from tests.support.projects import Project


def define_waiting(project: Project, name: str, tmp_path: Path) -> Path:
    """An environment whose step says that it has begun, then waits for a file; gives the directory of both."""
    signals = tmp_path / name
    signals.mkdir()
    project.define(
        f"""
        define = define_environment("{name}", {{
            "sandbox": fake_sandbox(),
            "setup": ["echo made > made; touch {signals}/begun; until [ -e {signals}/end ]; do sleep 0.01; done"],
        }})
        """,
        path=f"{name}.py",
    )
    return signals


@pytest.mark.conforms("fault 33")
def test_the_sandbox_and_the_processes_of_a_killed_run_are_removed_by_the_next(
    project: Project, reeval: ReevalBuild, tmp_path: Path
) -> None:
    signals = define_waiting(project, "killed", tmp_path)
    project.define('other = define_environment("other", {"sandbox": fake_sandbox()})', path="other.py")
    killed = reeval.start("build", "killed.py")
    wait_until((signals / "begun").exists)
    kill(killed, group=False)
    assert sandbox_processes(reeval.store)
    assert any(path.endswith("/workspace/made") for path in listing(reeval.store / "tmp"))

    reeval("build", "other.py")

    assert_nothing_is_left(reeval.store)


def test_the_sandbox_that_a_killed_run_had_elsewhere_is_removed_by_the_next_of_any_environment(
    project: Project, reeval: ReevalBuild, tmp_path: Path
) -> None:
    signals, elsewhere = tmp_path, tmp_path / "elsewhere" / "deep"
    project.define(
        f"""
        killed = define_environment("killed", {{
            "sandbox": fake_sandbox(dir="{elsewhere}"),
            "setup": ["echo made > made; touch {signals}/begun; sleep 1000"],
        }})
        """,
        path="killed.py",
    )
    project.define('other = define_environment("other", {"sandbox": fake_sandbox()})', path="other.py")
    killed = reeval.start("build", "killed.py")
    wait_until((signals / "begun").exists)
    kill(killed, group=False)
    (elsewhere / "the user's").mkdir()
    assert sandbox_processes(elsewhere)
    assert any(path.endswith("/workspace/made") for path in listing(elsewhere))

    reeval("build", "other.py")

    assert_nothing_is_left(reeval.store)
    assert listing(elsewhere) == ["the user's"]
    wait_until(lambda: not sandbox_processes(elsewhere))


def test_what_a_command_made_unreadable_is_removed_too(project: Project, reeval: ReevalBuild, tmp_path: Path) -> None:
    signals = tmp_path
    project.define(
        f"""
        define_ = define_environment("closed", {{
            "sandbox": fake_sandbox(),
            "setup": ["mkdir -p a/b; touch a/b/c; chmod 0 a/b a; touch {signals}/begun; sleep 1000"],
        }})
        """,
        path="closed.py",
    )
    project.define('other = define_environment("other", {"sandbox": fake_sandbox()})', path="other.py")
    killed = reeval.start("build", "closed.py")
    wait_until((signals / "begun").exists)
    kill(killed, group=False)

    reeval("build", "other.py")

    assert_nothing_is_left(reeval.store)


def test_what_a_living_run_uses_is_left_alone(project: Project, reeval: ReevalBuild, tmp_path: Path) -> None:
    signals = define_waiting(project, "living", tmp_path)
    project.define('other = define_environment("other", {"sandbox": fake_sandbox()})', path="other.py")
    living = reeval.start("build", "living.py", "--json")
    wait_until((signals / "begun").exists)

    reeval("build", "other.py")
    assert sandbox_processes(reeval.store)
    (signals / "end").touch()

    assert finish(living).code == 0
    assert reeval("run", "living.py::living@fake", "--", "cat", "made").stdout.startswith("made\n")
    assert_nothing_is_left(reeval.store)


def test_a_stopped_process_is_a_living_one(project: Project, reeval: ReevalBuild, tmp_path: Path) -> None:
    signals = define_waiting(project, "stopped", tmp_path)
    project.define('other = define_environment("other", {"sandbox": fake_sandbox()})', path="other.py")
    stopped = reeval.start("build", "stopped.py")
    wait_until((signals / "begun").exists)
    os.kill(stopped.pid, signal.SIGSTOP)

    reeval("build", "other.py")
    assert sandbox_processes(reeval.store)
    os.kill(stopped.pid, signal.SIGCONT)
    (signals / "end").touch()

    assert finish(stopped).code == 0


@pytest.mark.conforms("fault 33")
def test_the_lock_of_a_killed_run_holds_nobody_up(project: Project, reeval: ReevalBuild, tmp_path: Path) -> None:
    signals = define_waiting(project, "killed", tmp_path)
    killed = reeval.start("build", "killed.py")
    wait_until((signals / "begun").exists)
    kill(killed)
    assert listing(reeval.store / "locks")
    (signals / "end").touch()

    built = reeval.build("killed.py")

    assert built.phases("ran") == ["setup", "snapshot"]
    assert "waiting" not in built.stderr
    assert_nothing_is_left(reeval.store)


def test_a_store_has_no_temporary_file_after_a_build(project: Project, reeval: ReevalBuild) -> None:
    project.define('one = define_environment("one", {"sandbox": fake_sandbox(), "setup": ["echo a > a"]})')

    reeval("build")

    assert_nothing_is_left(reeval.store)


def test_a_directory_that_is_deeper_than_a_path_can_be_is_refused_and_removed(
    project: Project, reeval: ReevalBuild
) -> None:
    deep = "import os; [(os.mkdir('d'), os.chdir('d')) for _ in range(3000)]"
    project.define(
        f"""
        deep = define_environment("deep", {{"sandbox": fake_sandbox(), "setup": ["python3 -c \\"{deep}\\""]}})
        """
    )

    (message,) = reeval.build(code=3).messages

    assert "workspace/d/d/d" in message
    assert len(message) < 500
    assert_nothing_is_left(reeval.store)


def test_a_directory_that_python_cannot_remove_by_recursion_is_removed(project: Project, reeval: ReevalBuild) -> None:
    deep = "import os; [(os.mkdir('d'), os.chdir('d')) for _ in range(1200)]; open('file', 'w')"
    project.define('one = define_environment("one", {"sandbox": fake_sandbox()})')

    done = reeval("run", "one@fake", "--", "python3", "-c", deep + "; os.chdir('/'); print('made')")

    assert done.stdout.startswith("made\none@fake: 1 changed since the snapshot\n")
    assert_nothing_is_left(reeval.store)
