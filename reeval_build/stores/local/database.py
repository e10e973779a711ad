"""The SQLite file of a store: schema and connections."""

from __future__ import annotations

import sqlite3
import threading
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from reeval_build.errors import InfraError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

FORMAT: Final = 3
_BUSY_TIMEOUT_S: Final = 30.0
_ASK_AGAIN_S: Final = 0.01
_SYNCHRONOUS: Final = "PRAGMA synchronous=NORMAL"

_TABLES: Final[dict[str, dict[str, type]]] = {
    "packs": {"id": int, "name": str},
    "objects": {"digest": bytes, "pack": int, "offset": int, "size": int, "full_size": int},
    "records": {
        "key": bytes,
        "phase": str,
        "output": str,
        "material": bytes,
        "seconds": float,
        "built_at": str,
        "log": bytes,
        "check": bytes,
        "used_on": int,
    },
    "recipes": {"recipe": bytes, "key": bytes},
    "cells": {"key": bytes, "name": str, "record": str, "built_at": str, "used_on": int},
    "evictions": {"recipe": bytes, "phase": str, "evicted_at": str, "rule": str},
    "durations": {"work": bytes, "phase": str, "seconds": float, "measured_on": int},
}
# What makes a store of the format before one of the next.
_MIGRATIONS: Final[dict[int, tuple[str, ...]]] = {
    1: (
        "ALTER TABLE records ADD COLUMN used_on INTEGER",
        "CREATE TABLE evictions (recipe BLOB PRIMARY KEY, phase TEXT, evicted_at TEXT, rule TEXT)",
    ),
    2: (
        "CREATE TABLE durations (work BLOB PRIMARY KEY, phase TEXT, seconds FLOAT, measured_on INTEGER)",
        "ALTER TABLE objects ADD COLUMN full_size INTEGER",
        "ALTER TABLE cells ADD COLUMN used_on INTEGER",
    ),
}


class StoreFormatError(InfraError):
    """The store was written by a version of this program that this one does not understand."""

    def __init__(self, path: Path, found: int) -> None:
        super().__init__(
            f"the store at {path} has format {found}; this version of reeval-build reads format {FORMAT}",
            hint="use another --store, or the version that wrote it",
        )
        self.path, self.found = path, found


class StoreAccessError(InfraError):
    """The store cannot be read or written."""

    def __init__(self, path: Path, error: Exception, *, hint: str | None = None) -> None:
        super().__init__(
            f"the store at {path} cannot be used: {error}",
            hint=hint or "make room or give access to it, or choose another with --store or $REEVAL_BUILD_HOME",
        )
        self.path = path


class StoreDamagedError(InfraError):
    """The index of the store cannot be read."""

    def __init__(self, path: Path, error: Exception) -> None:
        super().__init__(
            f"the index of the store at {path} is damaged: {error}",
            hint="remove store.sqlite* in it: everything is built again when it is next needed",
        )
        self.path = path


class Database:
    """Opens one connection a thread; closes them all."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._local = threading.local()
        self._guard = threading.Lock()
        self._open: list[sqlite3.Connection] = []
        with self.errors():
            _prepare(self.connection, path)

    @property
    def connection(self) -> sqlite3.Connection:
        """This thread's connection, in autocommit mode."""
        connection: sqlite3.Connection | None = getattr(self._local, "connection", None)
        if connection is None:
            connection = sqlite3.connect(
                self._path, timeout=_BUSY_TIMEOUT_S, isolation_level=None, check_same_thread=False
            )
            _use_write_ahead_log(connection)
            connection.execute(_SYNCHRONOUS)
            self._local.connection = connection
            with self._guard:
                self._open.append(connection)
        return connection

    @contextmanager
    def errors(self) -> Iterator[None]:
        """Turn what SQLite says into a `StoreAccessError`, or a `StoreDamagedError` when it is about the file."""
        try:
            yield
        except sqlite3.ProgrammingError:
            raise
        except sqlite3.Error as error:
            kind = StoreDamagedError if _is_damage(error) else StoreAccessError
            raise kind(self._path.parent, error) from error

    @contextmanager
    def writing(self, *, durably: bool = False) -> Iterator[sqlite3.Connection]:
        """A transaction that takes the write lock at once, so that it cannot fail half-way for want of it.

        Done `durably`, a loss of power does not undo it; any other may be undone, with all that came after it.
        """
        with self.errors():
            connection = self.connection
            if durably:
                connection.execute("PRAGMA synchronous=FULL")
            try:
                connection.execute("BEGIN IMMEDIATE")
                yield connection
                connection.execute("COMMIT")
            finally:
                # A disk that is full can have rolled it back already, and can refuse to commit it.
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
                if durably:
                    connection.execute(_SYNCHRONOUS)

    def close(self) -> None:
        """Close every connection."""
        with self._guard:
            for connection in self._open:
                connection.close()
            self._open.clear()


def _is_damage(error: sqlite3.Error) -> bool:
    """Whether the file is not what SQLite or we wrote, rather than out of reach."""
    codes = {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_ERROR, None}
    code = getattr(error, "sqlite_errorcode", None)
    return (code if code is None else code & 0xFF) in codes


def _prepare(connection: sqlite3.Connection, path: Path) -> None:
    found = connection.execute("PRAGMA user_version").fetchone()[0]
    if found == 0:
        _create(connection, path)
    elif found in _MIGRATIONS:
        _migrate(connection)
    elif found != FORMAT:
        raise StoreFormatError(path.parent, found)


def _use_write_ahead_log(connection: sqlite3.Connection) -> None:
    """Switch a new database over. SQLite does not wait when another process is doing the same, so this does."""
    end = time.monotonic() + _BUSY_TIMEOUT_S
    while connection.execute("PRAGMA journal_mode").fetchone()[0] != "wal":
        try:
            connection.execute("PRAGMA journal_mode=WAL")
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode != sqlite3.SQLITE_BUSY or time.monotonic() > end:
                raise
            time.sleep(_ASK_AGAIN_S)


def _migrate(connection: sqlite3.Connection) -> None:
    connection.execute("BEGIN IMMEDIATE")
    try:
        # Another process may have done it, or some of it, meanwhile.
        while (found := connection.execute("PRAGMA user_version").fetchone()[0]) in _MIGRATIONS:
            for statement in _MIGRATIONS[found]:
                connection.execute(statement)
            connection.execute(f"PRAGMA user_version = {found + 1}")
        connection.execute("COMMIT")
    finally:
        if connection.in_transaction:
            connection.execute("ROLLBACK")


def _create(connection: sqlite3.Connection, path: Path) -> None:
    import sqlite_utils  # noqa: PLC0415 - a tenth of a second that only a new store pays

    connection.execute("BEGIN IMMEDIATE")
    try:
        if connection.execute("PRAGMA user_version").fetchone()[0] == 0:
            if connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
                # Another program's.
                raise StoreFormatError(path.parent, 0)
            database = sqlite_utils.Database(connection)
            for table, columns in _TABLES.items():
                database.create_table(table, columns, pk=next(iter(columns)), if_not_exists=True)
            # A record is forgotten with every recipe that leads to it.
            connection.execute("CREATE INDEX recipes_key ON recipes (key)")
            connection.execute(f"PRAGMA user_version = {FORMAT}")
        if connection.in_transaction:
            connection.execute("COMMIT")
    finally:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
