"""The stores that the contract suites run on."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING, Protocol

import pytest

from reeval_build.stores.local import LocalStore
from tests.support.memory_store import MemoryObjects, MemoryRecords

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from reeval_build.digest import Digest
    from reeval_build.ports.objects import Objects
    from reeval_build.ports.records import Records


class Shelf(Protocol):
    """A store, and the means to damage it."""

    @property
    def objects(self) -> Objects: ...

    @property
    def records(self) -> Records: ...

    def flip(self, digest: Digest) -> None:
        """Change one byte of an object that is kept."""

    def lose(self, digest: Digest) -> None:
        """Take away the bytes of an object that is kept, as a user with a file manager would."""


class LocalShelf:
    """A store in a directory."""

    def __init__(self, root: Path) -> None:
        self.store = LocalStore(root)
        self.objects = self.store.objects
        self.records = self.store.records
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

    def _find(self, digest: Digest) -> tuple[Path, int]:
        with closing(sqlite3.connect(self._root / "store.sqlite")) as database:
            pack, offset = database.execute(
                "SELECT pack, offset FROM objects WHERE digest = ?", (digest.raw,)
            ).fetchone()
            if pack is None:
                return self._root / "objects" / digest.hex[:2] / digest.hex, 0
            (name,) = database.execute("SELECT name FROM packs WHERE id = ?", (pack,)).fetchone()
            return self._root / "packs" / name, offset


class MemoryShelf:
    """A store in memory."""

    def __init__(self) -> None:
        self.objects = MemoryObjects()
        self.records = MemoryRecords()

    def flip(self, digest: Digest) -> None:
        data = self.objects.kept[digest]
        self.objects.kept[digest] = bytes([data[0] ^ 1]) + data[1:]

    def lose(self, digest: Digest) -> None:
        del self.objects.kept[digest]


@pytest.fixture(params=["local", "memory"])
def shelf(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Shelf]:
    """Each store there is, empty."""
    if request.param == "memory":
        yield MemoryShelf()
        return
    local = LocalShelf(tmp_path / "store")
    with local.store:
        yield local
