"""What files of the host were, in the database of a store."""

from __future__ import annotations

import time
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from blake3 import blake3

from reeval_build.digest import Digest
from reeval_build.ports.stats import KnownDirectory
from reeval_build.stores.local.database import StoreAccessError

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable, Iterable, Mapping

    from reeval_build.stores.local.database import Database

KEPT_DAYS: Final = 30
"""For how long what no scan has asked for is kept."""

_DAY_S: Final = 24 * 60 * 60

# Made when something is first remembered: a store without them is one that knows nothing, for every version.
_ROOTS: Final = (
    "CREATE TABLE IF NOT EXISTS stat_roots (id INTEGER PRIMARY KEY, name BLOB NOT NULL UNIQUE, seen_on INTEGER)"
)
_DIRECTORIES: Final = (
    "CREATE TABLE IF NOT EXISTS stat_directories (root INTEGER, path BLOB, names BLOB, stats BLOB, digests BLOB,"
    ' rest BLOB, tree BLOB, "check" BLOB, PRIMARY KEY (root, path))'
)
_INSERT: Final = "INSERT OR REPLACE INTO stat_directories VALUES (?, ?, ?, ?, ?, ?, ?, ?)"


class LocalStats:
    """See `ports.stats.StatCache`. `clock` says the time in seconds since 1970.

    A disk that takes no more only makes the next scan read again.
    """

    def __init__(self, database: Database, *, clock: Callable[[], float] = time.time) -> None:
        self._database = database
        self._clock = clock

    def load(self, root: bytes) -> Mapping[bytes, KnownDirectory]:
        """See `ports.stats.StatCache.load`."""
        with self._database.errors():
            connection = self._database.connection
            if not _has_tables(connection):
                return {}
            found = connection.execute("SELECT id, seen_on FROM stat_roots WHERE name = ?", (root,)).fetchone()
            if found is None:
                return {}
            rows = connection.execute(
                'SELECT path, names, stats, digests, rest, tree, "check" FROM stat_directories WHERE root = ?',
                (found[0],),
            ).fetchall()
        if found[1] != self._today:
            with suppress(StoreAccessError), self._database.writing() as connection:
                connection.execute("UPDATE stat_roots SET seen_on = ? WHERE id = ?", (self._today, found[0]))
        return {path: _known(*columns) for path, *columns, check in rows if _check(root, path, columns) == check}

    def save(self, root: bytes, found: Mapping[bytes, KnownDirectory], *, gone: Iterable[bytes] = ()) -> None:
        """See `ports.stats.StatCache.save`."""
        with suppress(StoreAccessError), self._database.writing() as connection:
            for table in (_ROOTS, _DIRECTORIES):
                connection.execute(table)
            connection.execute(
                "INSERT INTO stat_roots (name, seen_on) VALUES (?, ?)"
                " ON CONFLICT (name) DO UPDATE SET seen_on = excluded.seen_on",
                (root, self._today),
            )
            number = connection.execute("SELECT id FROM stat_roots WHERE name = ?", (root,)).fetchone()[0]
            connection.executemany(
                "DELETE FROM stat_directories WHERE root = ? AND path = ?", [(number, path) for path in gone]
            )
            connection.executemany(
                _INSERT,
                [
                    (number, path, *columns, _check(root, path, columns))
                    for path, columns in ((path, _columns(known)) for path, known in found.items())
                ],
            )
            forget_stats(connection, before=self._today - KEPT_DAYS)

    @property
    def _today(self) -> int:
        return int(self._clock() // _DAY_S)


def forget_stats(connection: sqlite3.Connection, *, before: int) -> None:
    """Forget what was last asked for before a day, counted from 1970."""
    if _has_tables(connection):
        connection.execute(
            "DELETE FROM stat_directories WHERE root IN (SELECT id FROM stat_roots WHERE seen_on < ?)", (before,)
        )
        connection.execute("DELETE FROM stat_roots WHERE seen_on < ?", (before,))


def _has_tables(connection: sqlite3.Connection) -> bool:
    row = connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'stat_directories'").fetchone()
    return row is not None


def _columns(known: KnownDirectory) -> list[bytes | None]:
    tree = None if known.tree is None else known.tree.raw
    return [known.names, known.stats, known.digests, known.rest, tree]


def _known(names: bytes, stats: bytes, digests: bytes, rest: bytes, tree: bytes | None) -> KnownDirectory:
    whole = None if tree is None else Digest(tree)
    return KnownDirectory(names=names, stats=stats, digests=digests, rest=rest, tree=whole)


def _check(root: bytes, path: bytes, columns: Iterable[bytes | None]) -> bytes:
    """A digest of a row: what was damaged on the disk is not known."""
    hasher = blake3()
    for part in (root, path, *columns):
        hasher.update(b"-" if part is None else b"%d:" % len(part))
        hasher.update(part or b"")
    return hasher.digest()
