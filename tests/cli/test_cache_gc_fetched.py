"""`reeval-build cache gc` and what was fetched, and rows of the index."""

from __future__ import annotations

import json
import os
import time
from typing import TYPE_CHECKING, Any

import pytest

from reeval_build.stores.local import LocalStore
from reeval_build.stores.local.fetched import fetched_in, remove_fetched
from tests.support.index import opened_index

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.cli import ReevalBuild
    from tests.support.projects import Project


def repository(store: Path, name: str = "a", *, size: int = 1000, days: int = 0) -> Path:
    home = store / "git" / (name * 64)
    (home / "repository").mkdir(parents=True)
    (home / "repository" / "pack").write_bytes(b"x" * size)
    age(home, days)
    return home


def archive(store: Path, name: str = "a", *, size: int = 1000, days: int = 0) -> Path:
    path = store / "npm" / "archives" / (name * 128)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"x" * size)
    age(path, days)
    return path


def age(path: Path, days: float) -> None:
    os.utime(path, (0, time.time() - days * 86400))


def gc(reeval: ReevalBuild, *arguments: str) -> Any:
    return json.loads(reeval("cache gc", "--json", *arguments).stdout)


@pytest.mark.parametrize("make", [repository, archive])
def test_what_was_fetched_stays_without_a_rule_and_goes_by_age_and_by_a_budget(reeval: ReevalBuild, make) -> None:
    LocalStore(reeval.store).close()
    old, new = make(reeval.store, "a", days=31), make(reeval.store, "b", days=29)

    assert gc(reeval)["fetched"] == 0
    assert gc(reeval, "--older-than", "30d", "--dry-run")["fetched"] == 1
    assert old.exists()
    assert gc(reeval, "--older-than", "30d")["fetched"] == 1
    assert (old.exists(), new.exists()) == (False, True)

    collected = gc(reeval, "--budget", "0")

    assert (collected["fetched"], collected["left_bytes"]) == (1, 0)
    assert collected["freed_bytes"] >= 1000
    assert not new.exists()


def test_what_was_not_used_for_longest_goes_first(reeval: ReevalBuild) -> None:
    LocalStore(reeval.store).close()
    index = sum(path.stat().st_size for path in reeval.store.glob("store.sqlite*"))
    made = [repository(reeval.store, name, size=10**6, days=days) for name, days in (("a", 3), ("b", 9), ("c", 6))]

    gc(reeval, "--budget", str(index + 2 * 10**6 + 500_000))

    assert [path.exists() for path in made] == [True, False, True]


def test_which_version_has_which_archive_goes_by_age_only(reeval: ReevalBuild) -> None:
    LocalStore(reeval.store).close()
    known = reeval.store / "npm" / "known" / "k"
    known.parent.mkdir()
    known.write_bytes(b"{}")

    gc(reeval, "--budget", "0")
    assert known.exists()
    age(known, 8)
    gc(reeval, "--older-than", "7d")

    assert not known.exists()


def test_what_a_process_uses_stays(reeval: ReevalBuild, tmp_path: Path) -> None:
    from reeval_build.sources.git_cache import UsedDirectories  # noqa: PLC0415 - it loads libgit2

    LocalStore(reeval.store).close()
    home = repository(reeval.store, days=100)
    used = UsedDirectories()
    used.use(home)

    assert [one.is_used for one in fetched_in(reeval.store)] == [True]
    assert gc(reeval, "--budget", "0", "--older-than", "1d")["fetched"] == 0
    assert not remove_fetched(home, scratch=tmp_path)
    del used

    assert gc(reeval, "--budget", "0")["fetched"] == 1


def test_what_killed_processes_were_fetching_goes_after_a_day(reeval: ReevalBuild) -> None:
    LocalStore(reeval.store).close()
    left = [reeval.store / "git" / "tmpabc", reeval.store / "npm" / "incoming" / "x"]
    for directory in left:
        directory.mkdir(parents=True)
    left.append(reeval.store / "git" / "file")
    left[-1].touch()
    gc(reeval)
    assert all(path.exists() for path in left)

    for path in left:
        age(path, 1.1)
    gc(reeval)

    assert not any(path.exists() for path in left)


def build(project: Project, reeval: ReevalBuild, text: str) -> None:
    project.define(f'e = define_environment("e", {{"sandbox": fake_sandbox(), "setup": ["{text}"]}})')
    reeval.build()


def cells(reeval: ReevalBuild) -> Any:
    with opened_index(reeval.store) as database:
        (count,) = database.execute("SELECT count(*) FROM cells").fetchone()
    return count


def test_the_record_of_a_cell_stays_while_it_leads_somewhere_or_is_the_last_of_its_name(
    project: Project, reeval: ReevalBuild
) -> None:
    for text in ("echo one > a", "echo two > a"):
        build(project, reeval, text)
    assert gc(reeval)["cells"] == 0

    with opened_index(reeval.store) as database:
        database.execute("DELETE FROM records")

    assert gc(reeval)["cells"] == 1
    assert cells(reeval) == 1


@pytest.mark.parametrize(("ago", "left"), [(29, 1), (30, 0)])
def test_the_record_of_a_cell_goes_when_nobody_used_it_for_long(
    project: Project, reeval: ReevalBuild, ago: int, left: int
) -> None:
    build(project, reeval, "true")
    with opened_index(reeval.store) as database:
        database.execute("UPDATE cells SET used_on = used_on - ?", (ago,))

    gc(reeval, "--older-than", "30d")

    assert cells(reeval) == left


def test_building_a_cell_again_is_using_it(project: Project, reeval: ReevalBuild) -> None:
    build(project, reeval, "true")
    with opened_index(reeval.store) as database:
        database.execute("UPDATE cells SET used_on = used_on - 40, built_at = '1970-01-03T12:00:00+00:00'")
    reeval.build()

    gc(reeval, "--older-than", "30d")

    assert cells(reeval) == 1


def test_what_host_files_were_goes_when_nobody_asked_for_long(project: Project, reeval: ReevalBuild) -> None:
    project.write("skill/SKILL.md", "---\ndescription: Is a skill.\n---\n")
    age(project.directory / "skill" / "SKILL.md", 1)
    project.define('e = define_environment("e", {"sandbox": fake_sandbox(), "skills": [skill.local("./skill")]})')
    reeval.build()
    with opened_index(reeval.store) as database:
        assert database.execute("SELECT count(*) FROM stat_directories").fetchone() != (0,)
        database.execute("UPDATE stat_roots SET seen_on = seen_on - 8")

    gc(reeval, "--older-than", "7d")

    with opened_index(reeval.store) as database:
        assert database.execute("SELECT count(*) FROM stat_directories").fetchone() == (0,)


def test_an_index_that_is_mostly_free_is_written_anew(reeval: ReevalBuild) -> None:
    LocalStore(reeval.store).close()
    with opened_index(reeval.store) as database:
        database.execute("CREATE TABLE large (data BLOB)")
        database.execute("INSERT INTO large VALUES (zeroblob(5000000))")
        database.execute("DROP TABLE large")
    assert (reeval.store / "store.sqlite").stat().st_size > 5_000_000

    gc(reeval)

    assert (reeval.store / "store.sqlite").stat().st_size < 1_000_000
