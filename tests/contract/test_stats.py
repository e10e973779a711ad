"""What every memory of files does, and what the one of a store in a directory does besides."""

from __future__ import annotations

import sqlite3
from contextlib import closing, contextmanager
from itertools import pairwise
from typing import TYPE_CHECKING

import pytest

from reeval_build.digest import BLOB, TREE
from reeval_build.ports.stats import KnownDirectory
from reeval_build.stores.local import LocalStore
from reeval_build.stores.local.database import Database
from reeval_build.stores.local.stats import KEPT_DAYS, LocalStats
from tests.support.memory_store import MemoryStats

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from reeval_build.ports.stats import StatCache

DAY_S = 24 * 60 * 60


def directory(content: bytes, *, is_whole: bool = True) -> KnownDirectory:
    """A directory with one file of this content."""
    return KnownDirectory(
        names=b"name \xff\n",
        stats=bytes(44),
        digests=BLOB.digest(content).raw,
        rest=b"rest" if is_whole else b"",
        tree=TREE.digest(content) if is_whole else None,
    )


ONE, OTHER, PART = directory(b"1"), directory(b"2"), directory(b"3", is_whole=False)
EMPTY = KnownDirectory(names=b"", stats=b"", digests=b"", tree=TREE.digest(b""))


@pytest.fixture(params=["local", "memory"])
def cache(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[StatCache]:
    if request.param == "memory":
        yield MemoryStats()
    else:
        with LocalStore(tmp_path / "store") as store:
            yield store.stats


def test_nothing_is_known_of_what_was_never_saved(cache: StatCache) -> None:
    assert cache.load(b"root") == {}
    cache.save(b"root", {b"": ONE})
    assert cache.load(b"root2") == cache.load(b"") == {}


def test_what_was_saved_is_known(cache: StatCache) -> None:
    found = {b"": ONE, b"d": OTHER, b"d/\xff\n": PART, b"e": EMPTY}

    cache.save(b"root \xff", found)

    assert cache.load(b"root \xff") == found


def test_what_is_saved_replaces_what_was_known_of_the_same_directory(cache: StatCache) -> None:
    cache.save(b"root", {b"a": ONE, b"b": ONE, b"c": ONE})

    cache.save(b"root", {b"a": OTHER}, gone=[b"b", b"never there"])

    assert cache.load(b"root") == {b"a": OTHER, b"c": ONE}


def test_roots_do_not_mix(cache: StatCache) -> None:
    cache.save(b"one", {b"a": ONE})
    cache.save(b"other", {b"a": OTHER})

    cache.save(b"one", {}, gone=[b"a"])

    assert (cache.load(b"one"), cache.load(b"other")) == ({}, {b"a": OTHER})


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "store.sqlite"


@contextmanager
def opened(path: Path, *, day: int = 0) -> Iterator[LocalStats]:
    """The memory in a database, some days later."""
    with closing(Database(path)) as database:
        yield LocalStats(database, clock=lambda: (20_000 + day) * DAY_S)


def test_what_was_saved_is_known_to_another_process(path: Path) -> None:
    with opened(path) as stats:
        stats.save(b"root", {b"": ONE})

    with opened(path) as stats:
        assert stats.load(b"root") == {b"": ONE}


@pytest.mark.conforms("fault 22")
@pytest.mark.parametrize("column", ["path", "names", "stats", "digests", "rest", "tree"])
def test_a_row_that_is_damaged_is_not_known(path: Path, column: str) -> None:
    with opened(path) as stats:
        stats.save(b"root", {b"a": ONE, b"b": OTHER})
    with closing(sqlite3.connect(path)) as database, database:
        statement = f"UPDATE stat_directories SET {column} = ? WHERE path = ?"  # noqa: S608 - a name from above
        database.execute(statement, (b"damaged " * 4, b"a"))

    with opened(path) as stats:
        assert stats.load(b"root") == {b"b": OTHER}


def test_what_no_scan_asks_for_is_forgotten_after_a_while(path: Path) -> None:
    with opened(path) as stats:
        stats.save(b"old", {b"": ONE})
        stats.save(b"in use", {b"": ONE})
    with opened(path, day=10) as stats:
        stats.load(b"in use")

    with opened(path, day=KEPT_DAYS + 1) as stats:
        stats.save(b"new", {b"": OTHER})

        assert [stats.load(root) for root in (b"old", b"in use", b"new")] == [{}, {b"": ONE}, {b"": OTHER}]
    with closing(sqlite3.connect(path)) as database:
        assert database.execute("SELECT count(*) FROM stat_directories").fetchone() == (2,)


def test_looking_at_what_is_known_writes_once_a_day(path: Path) -> None:
    with opened(path) as stats:
        stats.save(b"root", {b"": ONE})

    with opened(path, day=1) as stats, closing(sqlite3.connect(path)) as database:
        versions = []
        for _ in range(3):
            versions.append(database.execute("PRAGMA data_version").fetchone()[0])
            stats.load(b"root")

    assert [later - earlier for earlier, later in pairwise(versions)] == [1, 0]


def test_a_database_that_cannot_be_written_to_only_forgets(path: Path) -> None:
    with opened(path) as stats:
        stats.save(b"root", {b"": ONE})

    with closing(Database(path)) as database:
        database.connection.execute("PRAGMA query_only = 1")
        stats = LocalStats(database, clock=lambda: 30_000 * DAY_S)
        stats.save(b"root", {b"": OTHER})

        assert stats.load(b"root") == {b"": ONE}
