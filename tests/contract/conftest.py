"""The stores that the contract suites run on."""

from __future__ import annotations

import sqlite3
import threading
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING, Protocol

import pytest

from reeval_build.stores.layered import LayeredObjects
from reeval_build.stores.local import LocalStore
from reeval_build.stores.local.collect import collect
from reeval_build.stores.local.limits import Limits
from reeval_build.stores.private import PrivateObjects
from tests.support.index import opened_index
from tests.support.memory_store import MemoryCells, MemoryObjects, MemoryRecords

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from reeval_build.digest import Digest
    from reeval_build.ports.cells import Cells
    from reeval_build.ports.objects import Objects
    from reeval_build.ports.records import Records


class Shelf(Protocol):
    """A store, and the means to damage it."""

    @property
    def objects(self) -> Objects: ...

    @property
    def records(self) -> Records: ...

    @property
    def cells(self) -> Cells: ...

    def flip(self, digest: Digest) -> None:
        """Change one byte of an object that is kept."""

    def lose(self, digest: Digest) -> None:
        """Take away the bytes of an object that is kept, as a user with a file manager would."""

    def evict(self, key: Digest) -> None:
        """Remove a record that was published once, and that nobody used for 30 days, to get room."""


class LocalShelf:
    """A store in a directory."""

    def __init__(self, root: Path) -> None:
        self.store = LocalStore(root)
        self.objects: Objects = self.store.objects
        self.records = self.store.records
        self.cells = self.store.cells
        self._root = root

    def flip(self, digest: Digest) -> None:
        path, at = self._find(digest)
        with path.open("r+b") as file:
            file.seek(at)
            byte = file.read(1)[0]
            file.seek(at)
            file.write(bytes([byte ^ 1]))

    def lose(self, digest: Digest) -> None:
        self._find(digest)[0].unlink()

    def evict(self, key: Digest) -> None:
        self.records.give_up([key])
        with opened_index(self.store.root) as database:
            database.execute("UPDATE records SET used_on = used_on - 30 WHERE key = ?", (key.raw,))
        limits = Limits(older_than_days=30)
        collect(self.store, limits, dry_run=False, cancel=threading.Event(), waiting=lambda _owner: None)

    def _find(self, digest: Digest) -> tuple[Path, int]:
        with closing(sqlite3.connect(self._root / "store.sqlite")) as database:
            pack, offset = database.execute(
                "SELECT pack, offset FROM objects WHERE digest = ?", (digest.raw,)
            ).fetchone()
            if pack is None:
                return self._root / "objects" / digest.hex[:2] / digest.hex, 0
            (name,) = database.execute("SELECT name FROM packs WHERE id = ?", (pack,)).fetchone()
            return self._root / "packs" / name, offset


class LayeredShelf(LocalShelf):
    """An empty store, and on it objects that only this process has; new ones go to the store, or on it."""

    def __init__(self, directory: Path, *, writes_on_top: bool) -> None:
        super().__init__(directory / "store")
        private = PrivateObjects(scratch=directory)
        into = private if writes_on_top else self.objects
        self.objects: Objects = LayeredObjects(private, self.objects, into=into)
        if writes_on_top:
            self._root = directory / "private"
        self.close = private.close


class MemoryShelf:
    """A store in memory."""

    def __init__(self) -> None:
        self.objects = MemoryObjects()
        self.records = MemoryRecords()
        self.cells = MemoryCells()

    def flip(self, digest: Digest) -> None:
        data = self.objects.kept[digest]
        self.objects.kept[digest] = bytes([data[0] ^ 1]) + data[1:]

    def lose(self, digest: Digest) -> None:
        del self.objects.kept[digest]

    def evict(self, key: Digest) -> None:
        self.records.evict(key, rule="older than 30 days")


@contextmanager
def empty_shelf(kind: str, directory: Path) -> Iterator[Shelf]:
    """An empty store: local, memory, or one of layers."""
    match kind:
        case "memory":
            yield MemoryShelf()
        case "local":
            local = LocalShelf(directory / "store")
            with local.store:
                yield local
        case _:
            layered = LayeredShelf(directory, writes_on_top=kind == "on top")
            with layered.store, closing(layered):
                yield layered


@pytest.fixture(params=["local", "memory"])
def shelf(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Shelf]:
    """Each store there is, empty."""
    with empty_shelf(request.param, tmp_path) as made:
        yield made


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """The directory of a store, which is not there yet."""
    return tmp_path / "store"


@pytest.fixture
def store(root: Path) -> Iterator[LocalStore]:
    """A store in a directory, empty."""
    with LocalStore(root) as opened:
        yield opened
