"""Many processes and one store: each piece of work is done once, and everyone has the result."""

from __future__ import annotations

import time
from collections import Counter
from typing import TYPE_CHECKING

import pytest

from tests.support.cli import Built, ReevalBuild, assert_nothing_is_left, finish, kill
from tests.support.projects import Project
from tests.support.waiting import wait_until

if TYPE_CHECKING:
    import subprocess
    from pathlib import Path

PROCESSES = 8


def built(process: subprocess.Popen[bytes]) -> Built:
    done = finish(process)
    assert done.code == 0, done.stderr
    return Built(done.code, done.stdout, done.stderr)


def ran(results: list[Built]) -> Counter[str]:
    """How often each node ran, over all results, by key."""
    return Counter(node["key"] for result in results for node in result.nodes if node["status"] == "ran")


@pytest.fixture
def trace(project: Project, tmp_path: Path) -> Path:
    """Four environments with steps in common and steps of their own, which leave a trace outside."""
    trace = tmp_path / "trace"
    project.repository("app", {f"{number}.txt": f"{number}\n" for number in range(40)}).git("tag", "v1.0.0")
    project.define(
        f"""
        base = define_environment("base", {{
            "sandbox": fake_sandbox(), "workspace": git("app", ref="v1.0.0"), "rules": "Be good.",
            "setup": ["echo common >> {trace}; sleep 0.2; echo $$ > pid"],
        }})
        for number in range(3):
            globals()[f"e{{number}}"] = base.extend(f"e{{number}}", {{
                "setup": [f"echo own-{{number}} >> {trace}; date +%s%N > time"],
            }})
        """
    )
    return trace


def define_waiting(project: Project, tmp_path: Path, *, then: str) -> None:
    """One step that leaves a line in `begun`, waits for `end`, and then does something."""
    wait = f"echo ran >> {tmp_path}/begun; until [ -e {tmp_path}/end ]; do sleep 0.01; done"
    project.define(f'one = define_environment("one", {{"sandbox": fake_sandbox(), "setup": ["{wait}; {then}"]}})')


def start_waiting(reeval: ReevalBuild, said: Path) -> subprocess.Popen[bytes]:
    """A build that waits for another one, and has said so in the file `said`."""
    with said.open("wb") as stderr:
        waiter = reeval.start("build", "--json", stderr=stderr)
    wait_until(lambda: b"waiting" in said.read_bytes())
    return waiter


@pytest.mark.conforms("fault 20", "fault 33")
def test_eight_processes_that_build_the_same_do_each_node_once(reeval: ReevalBuild, trace: Path) -> None:
    processes = [reeval.start("build", "--json") for _ in range(PROCESSES)]

    results = [built(process) for process in processes]

    assert set(ran(results).values()) == {1}
    assert len(ran(results)) == len(results[0].nodes)
    assert Counter(trace.read_text().split()) == {"common": 1, "own-0": 1, "own-1": 1, "own-2": 1}
    assert all(result.snapshots == results[0].snapshots for result in results)
    assert_nothing_is_left(reeval.store)
    assert reeval.build().ran == []


@pytest.mark.conforms("fault 20")
def test_eight_processes_that_build_what_overlaps_do_each_node_once(reeval: ReevalBuild, trace: Path) -> None:
    targets = [f"env.py::{name}" for name in ("base", "e0", "e1", "e2")] * 2
    processes = [
        reeval.start("build", "--json", target, "--harness", "codex", "--harness", "claude-code") for target in targets
    ]

    results = [built(process) for process in processes]

    assert set(ran(results).values()) == {1}
    assert Counter(trace.read_text().split()) == {"common": 2, "own-0": 2, "own-1": 2, "own-2": 2}
    snapshots: dict[str, str | None] = {}
    for result in results:
        for cell, snapshot in result.snapshots.items():
            assert snapshots.setdefault(cell, snapshot) == snapshot
    assert_nothing_is_left(reeval.store)
    assert reeval.build("--harness", "codex", "--harness", "claude-code").ran == []


@pytest.mark.parametrize("attempt", range(3))
def test_a_store_can_be_made_by_many_at_once(project: Project, reeval: ReevalBuild, attempt: int) -> None:
    project.define('one = define_environment("one", {"sandbox": fake_sandbox()})')
    processes = [reeval.start("build", "--json") for _ in range(PROCESSES)]

    results = [built(process) for process in processes]

    assert set(ran(results).values()) == {1}


@pytest.mark.conforms("fault 33")
def test_who_waits_says_for_whom_once(project: Project, reeval: ReevalBuild, tmp_path: Path) -> None:
    define_waiting(project, tmp_path, then="true")
    builder = reeval.start("build", "--json")
    wait_until((tmp_path / "begun").exists)
    waiter = start_waiting(reeval, tmp_path / "said")
    time.sleep(0.2)

    (tmp_path / "end").touch()

    assert built(builder).phases("ran") == ["base", "root", "setup", "snapshot"]
    assert built(waiter).phases("ran") == []
    (line,) = [line for line in (tmp_path / "said").read_text().splitlines() if line.startswith("waiting setup")]
    assert f" for process {builder.pid} on " in line
    assert line.endswith(", which is building it")


@pytest.mark.conforms("fault 33")
def test_a_waiter_takes_over_from_a_builder_that_is_killed(
    project: Project, reeval: ReevalBuild, tmp_path: Path
) -> None:
    define_waiting(project, tmp_path, then="echo made > made")
    builder = reeval.start("build")
    wait_until((tmp_path / "begun").exists)
    waiter = start_waiting(reeval, tmp_path / "said")

    kill(builder)
    wait_until(lambda: (tmp_path / "begun").read_text() == "ran\nran\n")
    (tmp_path / "end").touch()

    assert "setup" in built(waiter).phases("ran")
    reeval.build()
    assert_nothing_is_left(reeval.store)


@pytest.mark.conforms("fault 20")
def test_a_waiter_does_not_take_a_failure_for_a_result(project: Project, reeval: ReevalBuild, tmp_path: Path) -> None:
    define_waiting(project, tmp_path, then="exit 1")
    builder = reeval.start("build")
    wait_until((tmp_path / "begun").exists)
    waiter = start_waiting(reeval, tmp_path / "said")

    (tmp_path / "end").touch()

    assert finish(builder).code == 3
    assert finish(waiter).code == 3
    assert (tmp_path / "begun").read_text() == "ran\nran\n"


@pytest.mark.conforms("fault 33")
def test_sandboxes_of_many_runs_are_apart(project: Project, reeval: ReevalBuild, tmp_path: Path) -> None:
    project.define('one = define_environment("one", {"sandbox": fake_sandbox()})')
    reeval.build()
    script = f"touch {tmp_path}/$1; until [ -e {tmp_path}/go ]; do sleep 0.01; done; echo $1 >> mine; cat mine"
    runs = [reeval.start("run", "one@fake", "--", "sh", "-c", script, "sh", str(number)) for number in range(4)]
    wait_until(lambda: all((tmp_path / str(number)).exists() for number in range(4)))

    (tmp_path / "go").touch()

    for number, process in enumerate(runs):
        assert finish(process).stdout == f"{number}\none@fake: 1 changed since the snapshot\n  added    mine\n"


def test_different_edits_at_once_give_each_its_own(tmp_path: Path) -> None:
    clones = []
    for number in range(4):
        clone = Project(tmp_path / f"clone-{number}")
        clone.define(
            f"""
            one = define_environment("one", {{
                "sandbox": fake_sandbox(), "rules": "rules {number % 2}\\n", "setup": ["cat AGENTS.md > copy"],
            }})
            """
        )
        clones.append(ReevalBuild(clone.directory, tmp_path / "store"))
    processes = [clone.start("build", "--json") for clone in clones]

    results = [built(process) for process in processes]

    assert set(ran(results).values()) == {1}
    for number, reeval in enumerate(clones):
        assert reeval("run", "one@fake", "--", "cat", "copy").stdout.startswith(f"rules {number % 2}\n")
