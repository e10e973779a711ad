"""`reeval-build cache gc`."""

from __future__ import annotations

import json
import os
import re
import threading
import time
from typing import TYPE_CHECKING, Any

import pytest

from reeval_build.stores.local import LocalStore
from reeval_build.stores.local.alone import upkeep
from tests.support.cli import finish
from tests.support.index import opened_index
from tests.support.waiting import wait_until

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.cli import ReevalBuild
    from tests.support.projects import Project

MEGABYTE = 1024 * 1024


def define(project: Project, *, count: int = 1, made: str = "head -c 1048576 /dev/urandom > large") -> None:
    """Environments that leave a megabyte each, which is not the same."""
    project.define(
        f"""
        for number in range({count}):
            globals()[f"e{{number}}"] = define_environment(f"e{{number}}", {{
                "sandbox": fake_sandbox(), "rules": f"Be good, {{number}}.", "setup": ["{made}", "echo two > two"],
            }})
        """
    )


def gc(reeval: ReevalBuild, *arguments: str) -> Any:
    return json.loads(reeval("cache gc", "--json", *arguments).stdout)


def assert_sound(reeval: ReevalBuild) -> None:
    assert reeval("cache verify").stdout.endswith(": all is well\n")


def bytes_of_objects(store: Path) -> int:
    return sum(
        path.stat().st_size for name in ("packs", "objects") for path in (store / name).rglob("*") if path.is_file()
    )


def age(reeval: ReevalBuild, days: int) -> None:
    """Have every record be last used some days ago."""
    with opened_index(reeval.store) as database:
        database.execute("UPDATE records SET used_on = used_on - ?", (days,))


def test_without_a_rule_nothing_goes_that_a_record_needs(project: Project, reeval: ReevalBuild) -> None:
    define(project)
    reeval.build()

    collected = gc(reeval)

    assert collected["evicted"] == []
    assert reeval.build().ran == []
    assert_sound(reeval)


def test_what_no_record_needs_goes_files_and_packs(project: Project, reeval: ReevalBuild) -> None:
    define(project)
    reeval.build()
    with opened_index(reeval.store) as database:
        database.execute("DELETE FROM records")
    stray = reeval.store / "packs" / "left-by-a-killed-process.pack"
    stray.write_bytes(b"x" * 100)

    collected = gc(reeval)

    assert collected["freed_bytes"] > MEGABYTE
    assert bytes_of_objects(reeval.store) == 0
    assert len(reeval.build().ran) == 6
    assert_sound(reeval)


def test_a_budget_holds_and_what_is_worth_most_stays(project: Project, reeval: ReevalBuild) -> None:
    define(project, count=4)
    reeval.build()
    age(reeval, 30)
    reeval.build("env.py::e2")

    collected = gc(reeval, "--budget", "1500k")

    assert bytes_of_objects(reeval.store) <= 1500 * 1024
    assert {one["rule"] for one in collected["evicted"]} == {"budget 1500k"}
    assert_sound(reeval)
    assert reeval.build("env.py::e2").ran == []
    assert reeval.build("env.py::e1").ran != []


def test_records_whose_objects_others_need_anyway_stay(project: Project, reeval: ReevalBuild) -> None:
    define(project, count=2)
    reeval.build()

    collected = gc(reeval, "--budget", "10m")

    assert collected["evicted"] == []


@pytest.mark.parametrize(("ago", "evicted"), [(29, 0), (30, 6)])
def test_what_was_not_used_for_long_goes(project: Project, reeval: ReevalBuild, ago: int, evicted: int) -> None:
    define(project)
    reeval.build()
    age(reeval, ago)

    collected = gc(reeval, "--older-than", "30d")

    assert len(collected["evicted"]) == evicted
    assert {one["rule"] for one in collected["evicted"]} <= {"older than 30 days"}


def test_using_something_keeps_it(project: Project, reeval: ReevalBuild) -> None:
    define(project, count=2)
    reeval.build()
    age(reeval, 30)
    reeval("run", "e1@fake", "--", "true")

    gc(reeval, "--older-than", "4w")

    assert reeval.build("env.py::e1").ran == []
    assert reeval.build("env.py::e0").ran != []
    assert_sound(reeval)


def test_so_much_is_kept_free(project: Project, reeval: ReevalBuild) -> None:
    define(project)
    reeval.build()

    assert gc(reeval, "--keep-free", "1k")["evicted"] == []
    assert gc(reeval, "--keep-free", "1000t")["evicted"] != []


def test_a_dry_run_says_the_same_and_removes_nothing(project: Project, reeval: ReevalBuild) -> None:
    define(project)
    reeval.build()

    dry = gc(reeval, "--budget", "0", "--dry-run")

    assert dry["dry_run"]
    assert reeval.build().ran == []
    done = gc(reeval, "--budget", "0")
    assert [one["key"] for one in dry["evicted"]] == [one["key"] for one in done["evicted"]]
    assert dry["left_bytes"] == done["left_bytes"] == bytes_of_objects(reeval.store)
    assert len(reeval.build().ran) > 3


def test_a_pack_of_which_little_is_needed_is_written_anew(project: Project, reeval: ReevalBuild) -> None:
    define(project, made="for n in 1 2 3 4 5 6 7 8 9; do head -c 90000 /dev/urandom > f$n; done; cp f1 keep")
    reeval.build()
    with opened_index(reeval.store) as database:
        names = database.execute("SELECT name FROM packs").fetchall()
        # As if most of what is in the pack had been that of a record that is gone.
        (most,) = database.execute("SELECT max(rowid) FROM objects WHERE size = 90000").fetchone()
        database.execute("DELETE FROM objects WHERE size = 90000 AND rowid < ?", (most,))
    before = bytes_of_objects(reeval.store)

    collected = gc(reeval)

    assert collected["freed_bytes"] == before - bytes_of_objects(reeval.store) > 600_000
    with opened_index(reeval.store) as database:
        assert not set(names) <= set(database.execute("SELECT name FROM packs").fetchall())
    assert json.loads(reeval("cache verify", "--json", code=3).stdout)["lost"] == []


@pytest.mark.conforms("fault 31")
def test_what_a_run_uses_stays_and_is_said_to_be_held(project: Project, reeval: ReevalBuild, tmp_path: Path) -> None:
    define(project, count=2)
    reeval.build()
    script = f"touch {tmp_path}/up; until [ -e {tmp_path}/go ]; do sleep 0.02; done; rm two"
    running = reeval.start("run", "e0@fake", "--", "sh", "-c", script)
    wait_until((tmp_path / "up").exists)

    collected = gc(reeval, "--budget", "0")
    (tmp_path / "go").touch()

    assert {"setup", "snapshot"} <= {one["phase"] for one in collected["held"]}
    assert all(one["owner"].startswith(f"process {running.pid} on ") for one in collected["held"])
    assert {"setup", "snapshot"} <= {one["phase"] for one in collected["evicted"]}, "those of the other environment"
    assert finish(running).stdout == "e0@fake: 1 changed since the snapshot\n  deleted  two\n"
    built = reeval.build("env.py::e0")
    assert built.ran == []
    assert_sound(reeval)
    assert gc(reeval, "--budget", "0")["held"] == [], "whoever used it has ended"


@pytest.mark.conforms("fault 31")
def test_the_text_says_who_holds_what(project: Project, reeval: ReevalBuild, tmp_path: Path) -> None:
    define(project)
    script = f"touch {tmp_path}/up; until [ -e {tmp_path}/go ]; do sleep 0.02; done"
    running = reeval.start("run", "e0@fake", "--", "sh", "-c", script)
    wait_until((tmp_path / "up").exists)

    lines = reeval("cache gc", "--budget", "0").stdout.splitlines()
    (tmp_path / "go").touch()

    finish(running)
    assert any(
        line.startswith("snapshot ") and f"  kept: in use by process {running.pid} on " in line for line in lines
    )
    assert lines[-1].startswith("removed 0 of ")


@pytest.mark.parametrize("command", ["cache gc", "cache verify"])
def test_who_looks_after_the_store_already_is_waited_for_and_said(reeval: ReevalBuild, command: str) -> None:
    with LocalStore(reeval.store) as store:
        with upkeep(store, cancel=threading.Event(), waiting=pytest.fail):
            waiter = reeval.start(command)
            assert waiter.stderr is not None
            line = waiter.stderr.readline().decode()
            assert json.loads(reeval("cache stats", "--json").stdout)["looked_after_by"].startswith("process ")
            assert f"\nlooked after by process {os.getpid()} on " in reeval("cache stats").stdout

        done = finish(waiter)

    assert done.code == 0
    assert re.fullmatch(rf"waiting for process {os.getpid()} on \S+, which looks after the store\n", line)
    assert json.loads(reeval("cache stats", "--json").stdout)["looked_after_by"] is None


def test_it_is_written_down_what_went_until_it_is_built_again(project: Project, reeval: ReevalBuild) -> None:
    define(project)
    reeval.build()

    gc(reeval, "--budget", "0")

    with opened_index(reeval.store) as database:
        rows = database.execute("SELECT phase, rule FROM evictions").fetchall()
    assert ("setup", "budget 0b") in rows
    reeval.build()
    with opened_index(reeval.store) as database:
        assert database.execute("SELECT count(*) FROM evictions").fetchone() == (0,)


def test_logs_that_no_record_has_go_after_a_week(project: Project, reeval: ReevalBuild) -> None:
    define(project)
    reeval.build()
    named = set((reeval.store / "logs").iterdir())
    old, recent = reeval.store / "logs" / "old.log", reeval.store / "logs" / "recent.log"
    for path, days in ((old, 8), (recent, 6), *((path, 100) for path in named)):
        path.touch()
        os.utime(path, (0, time.time() - days * 86400))

    gc(reeval)

    assert set((reeval.store / "logs").iterdir()) == named | {recent}


@pytest.mark.parametrize(
    ("option", "value", "problem"),
    [
        ("--budget", "lots", "'lots' is not a size such as 512m or 20G."),
        ("--keep-free", "-1", "'-1' is not a size such as 512m or 20G."),
        ("--older-than", "12h", "'12h' is not a number of days or weeks such as 30d or 4w."),
    ],
)
def test_a_rule_that_is_none_is_refused(reeval: ReevalBuild, option: str, value: str, problem: str) -> None:
    assert problem in reeval("cache gc", f"{option}={value}", code=2).stderr
