"""Looks for the value of a secret wherever it must not be."""

from __future__ import annotations

import base64
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


def places(store: Path, value: str) -> list[str]:
    """Where in a store the value is: files by path, rows of its database by table."""
    forms = [value.encode(), *_in_base64(value.encode())]
    found = [
        str(path.relative_to(store))
        for path in sorted(store.rglob("*"))
        if any(form in path.name.encode() or (path.is_file() and form in path.read_bytes()) for form in forms)
    ]
    return found + [table for table, cell in _cells(store / "store.sqlite") if any(form in cell for form in forms)]


def _in_base64(value: bytes) -> Iterator[bytes]:
    """The characters that do not depend on what is before and after it."""
    for before in range(3):
        yield base64.b64encode(b"x" * before + value)[(0, 2, 3)[before] : 8 * (before + len(value)) // 6]


def _cells(database: Path) -> Iterator[tuple[str, bytes]]:
    with closing(sqlite3.connect(database)) as connection:
        tables = [row[0] for row in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        for table in tables:
            for row in connection.execute(f"SELECT * FROM {table}"):  # noqa: S608 - a name of ours
                yield from ((table, cell if isinstance(cell, bytes) else str(cell).encode()) for cell in row)
