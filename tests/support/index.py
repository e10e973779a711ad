"""The index of a store, opened by hand."""

from __future__ import annotations

import sqlite3
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@contextmanager
def opened_index(store: Path) -> Iterator[sqlite3.Connection]:
    """A connection to the database of a store; what is changed through it is kept."""
    with closing(sqlite3.connect(store / "store.sqlite")) as database, database:
        yield database


def assert_index_is_sound(store: Path) -> None:
    """The database of a store is what SQLite writes."""
    with opened_index(store) as database:
        assert database.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
