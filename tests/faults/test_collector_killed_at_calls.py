"""Collectors that are killed before each system call that changes a file: nothing is broken, and nothing stays."""

from __future__ import annotations

import os
import random
import shutil
import time
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest

from tests.support.cli import ReevalBuild, assert_nothing_is_left, finish
from tests.support.index import assert_index_is_sound, opened_index
from tests.support.kills import Moment, moments, require_strace, some_of

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.projects import Project

IN_CI = 12
SHARED = "shared.bin"


def bytes_of(number: int, size: int) -> bytes:
    return random.Random(number).randbytes(size)  # noqa: S311 - bytes that do not get smaller, the same each time


def make(project: Project, reeval: ReevalBuild) -> None:
    """A store with old results, in whose packs lie objects that new ones need, a large object, and old fetches."""
    files = {f"large/{number}.bin": bytes_of(number, 60_000) for number in range(8)}
    files |= {f"large/{SHARED}": b"shared\n" * 100 + bytes_of(9, 20_000), "large/huge.bin": bytes_of(10, 400_000)}
    files[f"small/{SHARED}"] = files[f"large/{SHARED}"]
    project.repository("app", files).git("tag", "v1.0.0")
    project.define(
        """
        for name in ("large", "small"):
            globals()[name] = define_environment(name, {
                "sandbox": fake_sandbox(), "workspace": git("app", ref="v1.0.0", path=name),
                "setup": [f"wc -c < shared.bin > size; head -n 1 shared.bin > {name}"],
            })
        """
    )
    reeval("build", "env.py::large")
    with opened_index(reeval.store) as database:
        database.execute("UPDATE records SET used_on = used_on - 40")
        database.execute("UPDATE cells SET used_on = used_on - 40")
    reeval("build", "env.py::small")
    fetched = reeval.store / "git" / ("a" * 64)
    fetched.mkdir()
    log = reeval.store / "logs" / "old.log"
    for path in (fetched / "pack", log):
        path.write_bytes(b"x" * 1000)
    for path in (fetched, log):
        os.utime(path, (0, time.time() - 40 * 86400))


def check(reeval: ReevalBuild) -> None:
    """Nothing is broken, what is built is right without repair, and the next collector leaves nothing."""
    assert reeval("cache verify").stdout.endswith(": all is well\n")
    for name in ("small", "large"):
        done = reeval("run", f"{name}@fake", "--", "cat", "size", name)
        assert done.stdout == f"20700\nshared\n{name}@fake: nothing changed since the snapshot\n"
        assert done.messages == []
    reeval("cache gc", "--budget", "0")
    assert [path for name in ("packs", "objects") for path in (reeval.store / name).rglob("*") if path.is_file()] == []
    assert_nothing_is_left(reeval.store)
    assert_index_is_sound(reeval.store)


@pytest.mark.torture
@pytest.mark.conforms("fault 21")
@pytest.mark.parametrize("rules", [["--older-than", "30d"], ["--budget", "600k"]], ids=["by age", "by a budget"])
def test_a_collector_that_is_killed_before_it_changes_a_file_breaks_nothing(
    project: Project, tmp_path: Path, rules: list[str]
) -> None:
    require_strace()
    first = ReevalBuild(project.directory, tmp_path / "first")
    make(project, first)
    begun = tmp_path / "begun"
    shutil.copytree(first.store, begun)
    packs = set((begun / "packs").iterdir())
    found = moments(first, "cache gc", *rules, trace=tmp_path / "trace")
    left = {path.name for path in (first.store / "packs").iterdir()}
    assert left - {path.name for path in packs}, "a pack was written anew"
    assert not list((first.store / "objects").rglob("*/*")), "a file was removed"

    def kill_at(moment: Moment) -> bool:
        reeval = ReevalBuild(project.directory, tmp_path / str(moment), prefix=moment.prefix)
        shutil.copytree(begun, reeval.store)
        done = finish(reeval.start("cache gc", *rules))
        reeval.prefix = []
        check(reeval)
        return done.code < 0

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        killed = sum(pool.map(kill_at, some_of(found, IN_CI)))
    assert killed > 1
