"""Directories that somebody writes to while they are read."""

from __future__ import annotations

import errno
import math
import os
import shutil
import time
from typing import TYPE_CHECKING, BinaryIO

import pytest

from reeval_build.sources.local_place import LocalEntryError
from reeval_build.sources.local_trees import LocalDirectories
from reeval_build.stores.local.database import StoreAccessError
from reeval_build.tree.directory import Kind
from tests.sources.conftest import knowing_nothing
from tests.sources.trees import show

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from reeval_build.digest import Digest, Domain
    from reeval_build.ports.objects import Batch, Objects
    from tests.sources.trees import Shown

FILE, DIRECTORY = Kind.FILE, Kind.DIRECTORY
MIB = 1024 * 1024


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """An empty directory."""
    directory = tmp_path / "tree"
    directory.mkdir()
    return directory


class _Meddling:
    """A batch in whose place somebody writes to the directory when objects are added to it, so many times."""

    def __init__(self, batch: Batch, meddle: Callable[[], object], times: float) -> None:
        self._batch = batch
        self._meddle = meddle
        self._times = times

    def add(self, domain: Domain, data: bytes) -> Digest:
        self._disturb()
        return self._batch.add(domain, data)

    def add_stream(self, domain: Domain, source: BinaryIO) -> tuple[Digest, int]:
        self._disturb()
        return self._batch.add_stream(domain, source)

    def _disturb(self) -> None:
        if self._times > 0:
            self._times -= 1
            self._meddle()


class MeddledReader:
    """Reads a directory that somebody writes to when its first file is kept."""

    def __init__(self, objects: Objects, tree: Path) -> None:
        self._objects = objects
        self._tree = tree

    def __call__(self, meddle: Callable[[], object], times: float = 1) -> Shown:
        # What was written a moment ago and what is written now may not have the same time.
        time.sleep(0.02)
        with self._objects.batch() as batch:
            digest = LocalDirectories(self._objects, knowing_nothing()).read(
                str(self._tree), _Meddling(batch, meddle, times)
            )
        return show(self._objects, digest)


@pytest.fixture
def meddled(objects: Objects, tree: Path) -> MeddledReader:
    (tree / "a").write_bytes(b"1")
    (tree / "d").mkdir()
    (tree / "d/b").write_bytes(b"2")
    return MeddledReader(objects, tree)


BEFORE: Shown = {b"a": (FILE, b"1"), b"d": (DIRECTORY, None), b"d/b": (FILE, b"2")}


@pytest.mark.conforms("fault 10")
@pytest.mark.parametrize("size", [2, 2 * MIB])
def test_a_file_that_is_written_to_is_read_again(meddled: MeddledReader, tree: Path, size: int) -> None:
    (tree / "a").write_bytes(b"1" * (size + 1))

    assert meddled(lambda: (tree / "a").write_bytes(b"3" * size)) == BEFORE | {b"a": (FILE, b"3" * size)}


def test_a_large_file_that_the_store_has_is_not_kept_again(objects: Objects, tree: Path) -> None:
    (tree / "a").write_bytes(b"1" * (2 * MIB))
    added: list[str] = []
    for _ in range(2):
        with objects.batch() as batch:
            watched = _Meddling(batch, lambda: added.append("an object"), math.inf)
            LocalDirectories(objects, knowing_nothing()).read(str(tree), watched)

    assert len(added) == 3, "the file and its directory, and then the directory alone"


def test_a_file_that_vanishes_is_not_there(meddled: MeddledReader, tree: Path) -> None:
    (tree / "b").write_bytes(b"3")

    assert meddled((tree / "b").unlink) == BEFORE


def test_a_file_that_appears_is_there(meddled: MeddledReader, tree: Path) -> None:
    assert meddled(lambda: (tree / "0").write_bytes(b"3")) == BEFORE | {b"0": (FILE, b"3")}


def test_a_directory_that_vanishes_is_not_there(meddled: MeddledReader, tree: Path) -> None:
    assert meddled(lambda: shutil.rmtree(tree / "d")) == {b"a": (FILE, b"1")}


def test_a_directory_that_is_replaced_by_a_link_is_not_followed(meddled: MeddledReader, tree: Path) -> None:
    def replace() -> None:
        shutil.rmtree(tree / "d")
        (tree / "d").symlink_to("/")

    with pytest.raises(LocalEntryError, match='has "d", which is a symbolic link out of its tree'):
        meddled(replace)


@pytest.mark.timeout(10)
def test_a_file_that_is_replaced_by_a_fifo_holds_nobody(meddled: MeddledReader, tree: Path) -> None:
    (tree / "b").write_bytes(b"3")

    def replace() -> None:
        (tree / "b").unlink()
        os.mkfifo(tree / "b")

    with pytest.raises(LocalEntryError, match='has "b", which is a fifo'):
        meddled(replace)


def test_what_never_stays_the_same_is_named(meddled: MeddledReader, tree: Path) -> None:
    def append() -> None:
        with (tree / "a").open("ab") as file:
            file.write(b"x")

    with pytest.raises(LocalEntryError) as caught:
        meddled(append, times=math.inf)

    assert caught.value.message == f'directory "{tree}" has "a", which changed each time it was read'
    assert caught.value.hint


def test_an_error_of_the_store_is_not_blamed_on_the_directory(tree: Path, objects: Objects) -> None:
    (tree / "a").write_bytes(b"1")

    def fail() -> None:
        raise StoreAccessError(tree, OSError(errno.ENOENT, "no such disk"))

    with pytest.raises(StoreAccessError), objects.batch() as batch:
        LocalDirectories(objects, knowing_nothing()).read(str(tree), _Meddling(batch, fail, times=1))
