"""Builds that are killed before each system call that changes a file: the next run is right and leaves nothing."""

from __future__ import annotations

import os
import shutil
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest

from tests.support.cli import ReevalBuild, assert_nothing_is_left, finish
from tests.support.index import assert_index_is_sound
from tests.support.kills import Moment, moments, require_strace, some_of

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.projects import Project

IN_CI = 10
CHECK = "cat a b main.txt; wc -c < large; git fsck --no-progress 2>&1"
EXPECTED = "a\na\nmain\n300000\none@fake: nothing changed since the snapshot\n"


def define(project: Project) -> None:
    project.repository("app", {"main.txt": "main\n", "d/other.txt": "other\n"}).git("tag", "v1.0.0")
    project.define(
        """
        one = define_environment("one", {
            "sandbox": fake_sandbox(), "workspace": git("app", ref="v1.0.0", init=True), "rules": "Be good.",
            "setup": ["echo a > a", "cat a > b; head -c 300000 /dev/zero > large"],
        })
        """
    )


def check(reeval: ReevalBuild) -> None:
    done = reeval("run", "one@fake", "--", "sh", "-c", CHECK)
    assert done.stdout == EXPECTED
    assert done.messages == []
    assert_nothing_is_left(reeval.store)
    assert_index_is_sound(reeval.store)
    assert reeval("cache verify").stdout.endswith(": all is well\n")


@pytest.mark.torture
@pytest.mark.conforms("fault 21")
@pytest.mark.parametrize("beginning", ["no store", "an empty store", "a store that has the half"])
def test_a_build_that_is_killed_before_it_changes_a_file_is_as_good_as_none(
    project: Project, tmp_path: Path, beginning: str
) -> None:
    require_strace()
    define(project)
    first = ReevalBuild(project.directory, tmp_path / "first")
    if beginning == "an empty store":
        first("graph")
    elif beginning == "a store that has the half":
        first("build")
        project.edit("env.py", '"cat a > b;', '"cat a > b && ')
    begun = tmp_path / "begun"
    if first.store.exists():
        shutil.copytree(first.store, begun)
    found = moments(first, "build", trace=tmp_path / "trace")

    def kill_at(moment: Moment) -> bool:
        reeval = ReevalBuild(project.directory, tmp_path / str(moment), prefix=moment.prefix)
        if begun.exists():
            shutil.copytree(begun, reeval.store)
        done = finish(reeval.start("build"))
        reeval.prefix = []
        check(reeval)
        return done.code < 0

    chosen = some_of(found, IN_CI)
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        killed = sum(pool.map(kill_at, chosen))
    # Which thread makes how many calls differs from run to run, so that some get by.
    assert killed > len(chosen) / 2
