"""A store in a directory on a disk that is full, or can no longer be written."""

from __future__ import annotations

import errno
import os
import shutil
import subprocess
import sys
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest

from reeval_build.digest import BLOB
from reeval_build.stores.local import LocalStore
from reeval_build.stores.local.access import NotWritableError
from reeval_build.stores.local.database import StoreAccessError
from tests.support.local_store import LARGE, MEGABYTE, SMALL, files_below, keep, noise, record, words
from tests.support.users import checked_by_permissions

if TYPE_CHECKING:
    from collections.abc import Iterator
    from io import FileIO
    from pathlib import Path


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 12 MB."""
    place = tmp_path / "disk"
    place.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=12m", "none", place], capture_output=True, text=True, check=False
    )
    if mounted.returncode:
        pytest.skip(f"a small file system cannot be mounted here: {mounted.stderr.strip()}")
    try:
        yield place
    finally:
        subprocess.run(["umount", "--lazy", place], check=True)


def fill(disk: Path) -> Path:
    """Use what room is left."""
    ballast = disk / "ballast"
    with ballast.open("wb", buffering=0) as file:
        for size in (65536, 1):
            while has_room(file, size):
                pass
    return ballast


def has_room(file: FileIO, size: int) -> bool:
    try:
        return file.write(bytes(size)) > 0
    except OSError as error:
        if error.errno != errno.ENOSPC:
            raise
        return False


@pytest.mark.conforms("fault 29")
@pytest.mark.parametrize(
    "content",
    [noise(1000), b"x" * 1000, noise(5 * MEGABYTE), words(30 * MEGABYTE)],
    ids=["small", "small and compressed", "large", "large and compressed"],
)
def test_a_full_disk_fails_the_batch_and_harms_nothing_and_with_room_the_next_one_succeeds(small_disk, content):
    with LocalStore(small_disk / "store") as store:
        kept = keep(store, SMALL, LARGE)
        ballast = fill(small_disk)

        with pytest.raises(StoreAccessError, match=r"No space left|disk is full"):
            keep(store, content)

        assert [store.objects.read(BLOB, digest) for digest in kept] == [SMALL, LARGE]
        assert store.objects.present([BLOB.digest(content)]) == set()
        assert files_below(store.scratch) == []
        ballast.unlink()
        (digest,) = keep(store, content)
        assert store.objects.read(BLOB, digest) == content


@pytest.mark.conforms("fault 29")
def test_an_object_that_does_not_fit_gives_back_the_room_it_took(small_disk):
    with LocalStore(small_disk / "store") as store:
        before = shutil.disk_usage(small_disk).free

        with pytest.raises(StoreAccessError):
            keep(store, noise(20 * MEGABYTE))

        assert shutil.disk_usage(small_disk).free > before - MEGABYTE


@pytest.mark.conforms("fault 29")
def test_a_full_disk_fails_a_record_and_with_room_it_is_published(small_disk):
    with LocalStore(small_disk / "store") as store:
        store.records.publish(record(b"before"), recipe=record(b"before").key)
        ballast = fill(small_disk)

        with pytest.raises(StoreAccessError):
            publish_many(store)

        assert store.records.find(BLOB.digest(b"before")) is not None
        ballast.unlink()
        store.records.publish(record(b"after"), recipe=record(b"after").key)
        assert store.records.find(BLOB.digest(b"after")) == record(b"after")


@pytest.mark.conforms("fault 29")
def test_a_store_is_not_made_on_a_full_disk_and_is_when_there_is_room(small_disk):
    ballast = fill(small_disk)
    with pytest.raises(StoreAccessError, match=f"the store at {small_disk / 'store'} cannot be used"):
        LocalStore(small_disk / "store")

    ballast.unlink()

    with LocalStore(small_disk / "store") as store:
        assert keep(store, SMALL)


def publish_many(store: LocalStore) -> None:
    """Publish more records than fit into what room a database has left in its own files."""
    for number in range(2000):
        store.records.publish(record(b"%d" % number), recipe=record(b"%d" % number).key)


@contextmanager
def read_only(disk: Path) -> Iterator[None]:
    subprocess.run(["mount", "-o", "remount,ro", disk], check=True, capture_output=True)
    try:
        yield
    finally:
        subprocess.run(["mount", "-o", "remount,rw", disk], check=True)


@pytest.fixture
def closed_store(small_disk: Path) -> Path:
    """A store that somebody wrote, and closed."""
    with LocalStore(small_disk / "store") as store:
        keep(store, SMALL)
    return small_disk / "store"


def test_a_store_on_a_disk_that_is_mounted_read_only_says_so_and_what_to_do(small_disk, closed_store):
    with read_only(small_disk), pytest.raises(NotWritableError) as caught:
        LocalStore(closed_store)

    assert caught.value.message == f"the store at {closed_store} cannot be used: its file system is mounted read-only"
    assert "--store" in (caught.value.hint or "")


_OPEN = "import pathlib, sys; from reeval_build.stores.local import LocalStore; LocalStore(pathlib.Path(sys.argv[1]))"


@pytest.mark.parametrize(
    ("path", "mode", "said"),
    [
        (".", 0o555, "it"),
        ("tmp", 0o555, "tmp in it"),
        ("store.sqlite", 0o444, "store.sqlite in it"),
        ("tally", 0o444, "tally in it"),
    ],
)
def test_a_store_that_may_only_be_read_says_what_may_not_be_written(tmp_path, path, mode, said):
    with LocalStore(tmp_path / "store") as store:
        keep(store, SMALL)
    (tmp_path / "store" / path).chmod(mode)

    done = open_as(checked_by_permissions(), tmp_path / "store")

    assert f"NotWritableError: the store at {tmp_path / 'store'} cannot be used: you may not write to {said} (" in done


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a store to somebody else")
def test_a_store_of_somebody_else_says_whose_it_is(tmp_path):
    LocalStore(tmp_path / "store").close()
    os.chown(tmp_path / "store", 12345, 12345)

    done = open_as(checked_by_permissions(), tmp_path / "store")

    assert "you may not write to it, which belongs to user 12345 (" in done


def open_as(prefix: tuple[str, ...], root: Path) -> str:
    """What is said by a process that opens the store as somebody else."""
    done = subprocess.run(
        [*prefix, sys.executable, "-c", _OPEN, str(root)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    return done.stderr


def test_a_place_where_no_store_can_be_made_is_an_error_that_names_it(small_disk):
    with read_only(small_disk), pytest.raises(StoreAccessError, match="Read-only file system"):
        LocalStore(small_disk / "store")


@contextmanager
def write_protected(root: Path) -> Iterator[None]:
    """Let nothing below `root` be opened for writing; what is open stays so, as on a disk that fails."""
    subprocess.run(["mount", "--bind", root, root], check=True, capture_output=True)
    subprocess.run(["mount", "-o", "remount,bind,ro", root], check=True, capture_output=True)
    try:
        yield
    finally:
        subprocess.run(["umount", "--lazy", root], check=True)


@pytest.mark.conforms("fault 29")
@pytest.mark.parametrize(
    "content", [noise(1000), noise(5 * MEGABYTE), words(5 * MEGABYTE)], ids=["small", "large", "compressed"]
)
def test_a_store_that_can_no_longer_be_written_fails_a_batch_with_an_error_that_names_it(small_disk, content):
    with (
        LocalStore(small_disk / "store") as store,
        write_protected(store.root),
        pytest.raises(StoreAccessError, match=f"the store at {store.root} cannot be used: .*Read-only file system"),
    ):
        keep(store, content)


@pytest.mark.conforms("fault 29")
def test_a_store_that_can_no_longer_be_written_fails_a_lock_with_an_error_that_names_it(small_disk):
    with (
        LocalStore(small_disk / "store") as store,
        write_protected(store.root),
        pytest.raises(StoreAccessError, match=f"the store at {store.root} cannot be used: .*Read-only file system"),
        store.records.exclusive(BLOB.digest(b"k"), cancel=threading.Event(), waiting=lambda _owner: None),
    ):
        pytest.fail("nothing can be held there")
