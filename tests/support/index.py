"""The index of a store, opened by hand."""

from __future__ import annotations

import sqlite3
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING

import attrs

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


@attrs.frozen
class Kept:
    """A row of the index: where an object is."""

    digest: bytes
    pack: str | None
    offset: int
    size: int


def objects(store: Path) -> list[Kept]:
    """Every object of a store."""
    with opened_index(store) as database:
        rows = database.execute(
            "SELECT digest, packs.name, offset, size FROM objects LEFT JOIN packs ON packs.id = pack ORDER BY digest"
        )
        return [Kept(*row) for row in rows]


def file_of(kept: Kept, store: Path) -> Path:
    """The file that an object is in."""
    if kept.pack is not None:
        return store / "packs" / kept.pack
    return store / "objects" / kept.digest.hex()[:2] / kept.digest.hex()


def flip_a_bit(kept: Kept, store: Path) -> None:
    """Garble an object, unless it has no byte."""
    file = file_of(kept, store)
    data = bytearray(file.read_bytes())
    if kept.size:
        data[kept.offset + kept.size // 2] ^= 0b100
    file.write_bytes(data)


def forget(kept: Kept, store: Path) -> None:
    """Have a store lose an object."""
    with opened_index(store) as database:
        database.execute("DELETE FROM objects WHERE digest = ?", (kept.digest,))
    if kept.pack is None:
        file_of(kept, store).unlink()
