"""`reeval-build cache`: looking at a store."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from tests.support.cli import kill
from tests.support.waiting import wait_until

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.cli import ReevalBuild
    from tests.support.projects import Project

MEGABYTE = 1024 * 1024


def define(project: Project, *, setup: str = "echo made > made") -> None:
    project.define(
        f"""
        one = define_environment("one", {{"sandbox": fake_sandbox(), "rules": "Be good.", "setup": ["{setup}"]}})
        """
    )


def value(reeval: ReevalBuild, command: str, *arguments: str, code: int = 0) -> Any:
    """The object that a command prints."""
    return json.loads(reeval(command, "--json", *arguments, code=code).stdout)


def test_du_adds_up_what_is_in_the_directory(project: Project, reeval: ReevalBuild) -> None:
    define(project, setup=f"head -c {MEGABYTE} /dev/urandom > large")
    reeval.build()

    usage = value(reeval, "cache du")

    assert usage["path"] == str(reeval.store)
    assert usage["places"]["objects"] == {"bytes": MEGABYTE, "files": 1}
    assert usage["places"]["packs"]["bytes"] == sum(path.stat().st_size for path in reeval.store.glob("packs/*"))
    assert usage["bytes"] == sum(place["bytes"] for place in usage["places"].values())
    assert usage["free_bytes"] > 0


def test_du_says_it_for_people_largest_first(project: Project, reeval: ReevalBuild) -> None:
    define(project, setup=f"head -c {50 * MEGABYTE} /dev/urandom > large")
    reeval.build()

    lines = reeval("cache du").stdout.splitlines()

    assert lines[0].split() == ["50M", "1", "files", "objects"]
    assert f" in {reeval.store}, " in lines[-1]


def test_stats_have_the_records_of_each_phase_and_what_they_need(project: Project, reeval: ReevalBuild) -> None:
    define(project, setup=f"sleep 0.2; head -c {MEGABYTE} /dev/urandom > large")
    reeval.build()

    stats = value(reeval, "cache stats")

    assert {phase: found["records"] for phase, found in stats["phases"].items()} == {
        "base": 1,
        "root": 1,
        "rules": 1,
        "setup": 1,
        "snapshot": 1,
    }
    assert stats["phases"]["setup"]["seconds"] > 0.2
    assert stats["phases"]["setup"]["bytes"] > MEGABYTE
    assert stats["phases"]["rules"]["bytes"] < 1000
    assert stats["objects"]["bytes"] > MEGABYTE
    assert stats["cells"] == 1


def test_stats_know_what_no_record_needs(project: Project, reeval: ReevalBuild) -> None:
    define(project, setup=f"head -c {MEGABYTE} /dev/urandom > large; exit 1")
    reeval.build(code=3)
    before = value(reeval, "cache stats")["objects"]

    define(project, setup="true")
    reeval.build()

    assert before["unneeded_bytes"] <= before["bytes"]
    assert value(reeval, "cache stats")["objects"]["unneeded_bytes"] == before["unneeded_bytes"]


def test_stats_say_who_uses_the_store(project: Project, reeval: ReevalBuild, tmp_path: Path) -> None:
    define(project)
    reeval.build()
    running = reeval.start("run", "one@fake", "--", "sh", "-c", f"touch {tmp_path}/up; sleep 60")
    wait_until((tmp_path / "up").exists)

    (user,) = value(reeval, "cache stats")["in_use"]
    kill(running)

    assert user["owner"].startswith(f"process {running.pid} on ")
    assert user["records"] >= 5
    assert value(reeval, "cache stats")["in_use"] == []


@pytest.mark.parametrize("command", ["cache du", "cache stats"])
def test_an_empty_store_has_nothing(reeval: ReevalBuild, command: str) -> None:
    reeval.store.mkdir()

    shown = value(reeval, command)

    assert shown.get("phases", {}) == {}
    assert "Traceback" not in reeval(command).stderr


@pytest.mark.parametrize("command", ["cache du", "cache stats", "cache verify", "cache gc --budget 1G"])
def test_a_store_that_is_named_and_not_there_is_a_slip_and_is_not_made(
    reeval: ReevalBuild, tmp_path: Path, command: str
) -> None:
    done = reeval(command, "--store", tmp_path / "stroe", code=2)

    assert done.messages == [
        f"reeval: there is no store at {tmp_path / 'stroe'} (the first build with this --store makes one)"
    ]
    assert not (tmp_path / "stroe").exists()
