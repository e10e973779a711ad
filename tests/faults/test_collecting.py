"""Collecting garbage beside builds, and killed at any moment: never a broken hit."""

from __future__ import annotations

import random
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

import pytest

from reeval_build.errors import CancelledError
from reeval_build.stores.local import LocalStore
from reeval_build.stores.local.collect import collect
from reeval_build.stores.local.limits import Limits
from tests.support.cli import ReevalBuild, assert_nothing_is_left, finish, kill
from tests.support.index import assert_index_is_sound
from tests.support.torture import seeds

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Iterator
    from pathlib import Path

    from tests.support.projects import Project

PROCESSES = 8


def make(project: Project) -> None:
    """Environments with a workspace, files and a step in common, and steps of their own."""
    files = {f"{directory}/{number}.txt": f"{number}\n" * 20 for directory in "xyz" for number in range(30)}
    project.repository("app", {"main.txt": "main\n", **files}).git("tag", "v1.0.0")
    project.define(
        """
        base = define_environment("base", {
            "sandbox": fake_sandbox(), "workspace": git("app", ref="v1.0.0"), "rules": "Be good.",
            "setup": ["seq 1000 > common; head -c 300000 /dev/zero > large"],
        })
        for number in range(3):
            globals()[f"e{number}"] = base.extend(f"e{number}", {
                "setup": [f"echo {number} > own; cp -r x copy-{number}; head -c 40{number}000 /dev/zero > own-large"],
            })
        """
    )


def check(reeval: ReevalBuild) -> None:
    """Everything that is found is right, and nothing has to be repaired."""
    assert reeval("cache verify").stdout.endswith(": all is well\n")
    for number in range(3):
        script = f"cat own main.txt copy-{number}/3.txt | sort -u; wc -c < own-large; wc -l < common"
        done = reeval("run", f"e{number}@fake", "--", "sh", "-c", script)
        found = "\n".join(sorted({str(number), "3", "main"}))
        assert done.stdout == f"{found}\n40{number}000\n1000\ne{number}@fake: nothing changed since the snapshot\n"
        assert done.messages == []


def start_builds(reeval: ReevalBuild, chance: random.Random) -> list[subprocess.Popen[bytes]]:
    """Builds of some environments each, which have much in common; some have a budget of their own."""
    names = ["base", "e0", "e1", "e2"]
    started = []
    for _ in range(PROCESSES):
        targets = [f"env.py::{name}" for name in chance.sample(names, chance.randint(1, len(names)))]
        budget = chance.choice([[], [], ["--budget", "0"], ["--budget", "900k"]])
        started.append(reeval.start("build", *targets, *budget))
        time.sleep(chance.uniform(0, 0.1))
    return started


@contextmanager
def collecting(root: Path, budget_bytes: int) -> Iterator[None]:
    """Collect again and again for the block, as fast as it goes."""
    stop = threading.Event()

    def collect_until_stopped() -> None:
        while not stop.is_set():
            # Told to stop while it waits for a build that makes room.
            with LocalStore(root) as store, suppress(CancelledError):
                collect(
                    store, Limits(budget_bytes=budget_bytes), dry_run=False, cancel=stop, waiting=lambda _owner: None
                )

    with ThreadPoolExecutor(1) as pool:
        collector = pool.submit(collect_until_stopped)
        try:
            yield
        finally:
            stop.set()
        collector.result()


@pytest.mark.torture
@pytest.mark.conforms("fault 20", "fault 31")
@pytest.mark.parametrize("budget_bytes", [0, 900 * 1024])
@pytest.mark.parametrize("seed", seeds(2))
def test_builds_beside_a_collector_are_right_and_repair_nothing(
    project: Project, reeval: ReevalBuild, seed: int, budget_bytes: int
) -> None:
    make(project)
    LocalStore(reeval.store).close()
    with collecting(reeval.store, budget_bytes):
        ended = list(map(finish, start_builds(reeval, random.Random(seed))))  # noqa: S311 - not a secret

    assert {done.code for done in ended} == {0}
    said = [message for done in ended for message in done.messages]
    assert [message for message in said if ", more than its budget of " not in message] == []
    check(reeval)
    assert_index_is_sound(reeval.store)
    assert_nothing_is_left(reeval.store)


@pytest.mark.conforms("fault 21")
@pytest.mark.torture
@pytest.mark.parametrize("seed", seeds(8))
def test_after_a_collector_was_killed_nothing_is_broken_and_the_next_one_leaves_nothing(
    project: Project, reeval: ReevalBuild, seed: int
) -> None:
    make(project)
    reeval.build()
    chance = random.Random(seed)  # noqa: S311 - a moment is no secret
    began = time.monotonic()
    reeval("cache gc", "--dry-run")
    took = time.monotonic() - began
    collector = reeval.start("cache gc", "--budget", chance.choice(["0", "350k", "700k"]))
    time.sleep(chance.uniform(took / 2, took * 1.5))

    kill(collector)

    assert reeval("cache verify").stdout.endswith(": all is well\n")
    check(reeval)
    reeval("cache gc", "--budget", "0")
    assert [path for name in ("packs", "objects") for path in (reeval.store / name).rglob("*") if path.is_file()] == []
    assert_index_is_sound(reeval.store)
    assert_nothing_is_left(reeval.store)
