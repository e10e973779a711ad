"""Forgets the records of cells, and what is known of host files, that nobody asks for any more."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from reeval_build.stores.local.database import StoreAccessError
from reeval_build.stores.local.records import day_of, today
from reeval_build.stores.local.stats import KEPT_DAYS, forget_stats

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterator

    from reeval_build.stores.local.store import LocalStore

_LEAST_FREE_BYTES: Final = 1024 * 1024


def forget_unused(store: LocalStore, *, older_than_days: int | None) -> int:
    """Forget rows of the index that are old, or that lead nowhere; how many cells.

    The record of a cell leads nowhere when it is not the last of its name and nothing that the cell was built of is
    recorded any more.
    """
    day = today()
    with store.database.writing() as connection:
        gone = list(_unused_cells(connection, None if older_than_days is None else day - older_than_days))
        connection.executemany("DELETE FROM cells WHERE key = ?", [(key,) for key in gone])
        kept_days = KEPT_DAYS if older_than_days is None else min(older_than_days, KEPT_DAYS)
        forget_stats(connection, before=day - kept_days)
    _shrink(store)
    return len(gone)


def _unused_cells(connection: sqlite3.Connection, last_day: int | None) -> Iterator[bytes]:
    recorded = {row[0].hex() for row in connection.execute("SELECT recipe FROM recipes")}
    rows = connection.execute(
        "SELECT key, name, record, built_at, used_on FROM cells ORDER BY built_at, rowid"
    ).fetchall()
    newest = {name: key for key, name, *_rest in rows}
    for key, name, record, built_at, used_on in rows:
        day = day_of(built_at) if used_on is None else used_on
        is_old = last_day is not None and day <= last_day
        if is_old or (newest[name] != key and not recorded & _recipes_of(record)):
            yield key


def _recipes_of(record: str) -> set[str]:
    with suppress(ValueError, KeyError, TypeError, RecursionError):
        return {phase["key"] for phase in json.loads(record)["phases"]}
    return set()


def _shrink(store: LocalStore) -> None:
    """Give the room of deleted rows back, where that is most of the index: all of it is written anew for that."""
    connection = store.database.connection
    with store.database.errors():
        free, count, size = (
            connection.execute(f"PRAGMA {name}").fetchone()[0] for name in ("freelist_count", "page_count", "page_size")
        )
    if free * 2 > count and free * size > _LEAST_FREE_BYTES:
        # A disk that is full, or another process that writes for long, leaves it as it is.
        with suppress(StoreAccessError), store.database.errors():
            connection.execute("VACUUM")
