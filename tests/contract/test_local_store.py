"""What a store in a directory does besides what every store does."""

from __future__ import annotations

import io
import sqlite3
import tempfile
from contextlib import closing, nullcontext
from pathlib import Path

import pytest

from reeval_build.digest import BLOB
from reeval_build.errors import InfraError
from reeval_build.ports.objects import LostObjectError
from reeval_build.stores.local import LocalStore
from reeval_build.stores.local.database import FORMAT, StoreAccessError, StoreDamagedError, StoreFormatError
from tests.support.local_store import LARGE, MEGABYTE, SMALL, files_below, keep, record


def test_a_store_is_made_with_every_directory_above_it(tmp_path):
    with LocalStore(tmp_path / "a" / "b" / "store") as store:
        assert keep(store, SMALL)


def test_what_was_kept_is_there_when_the_store_is_opened_again(root):
    with LocalStore(root) as store:
        small, large = keep(store, SMALL, LARGE)
        store.records.publish(record(b"k"), recipe=record(b"k").key)

    with LocalStore(root) as store:
        assert (store.objects.read(BLOB, small), store.objects.read(BLOB, large)) == (SMALL, LARGE)
        assert store.records.find(BLOB.digest(b"k")) == record(b"k")


def test_a_relative_store_stays_where_it_is_when_the_working_directory_changes(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with LocalStore(Path("store")) as store:
        monkeypatch.chdir("/")
        (digest,) = keep(store, LARGE)
        assert store.objects.read(BLOB, digest) == LARGE

    assert (tmp_path / "store").is_dir()


def test_small_objects_of_a_batch_share_a_pack_and_large_ones_have_files_of_their_own(store, root):
    keep(store, *(b"%d" % number for number in range(500)), LARGE, LARGE + b"2")

    assert len(files_below(root / "packs")) == 1
    assert sorted(path.name for path in files_below(root / "objects")) == sorted(
        BLOB.digest(content).hex for content in (LARGE, LARGE + b"2")
    )


def test_what_is_there_already_takes_no_more_room(store, root):
    keep(store, SMALL, LARGE)
    before = sorted(files_below(root / "packs") + files_below(root / "objects"))

    keep(store, SMALL, LARGE)

    assert sorted(files_below(root / "packs") + files_below(root / "objects")) == before


def test_a_corrupt_file_is_set_aside_to_be_looked_at(store, root):
    (digest,) = keep(store, LARGE)
    (root / "objects" / digest.hex[:2] / digest.hex).write_bytes(b"something else")

    with pytest.raises(LostObjectError):
        store.objects.read(BLOB, digest)

    assert (root / "quarantine" / digest.hex).read_bytes() == b"something else"


class Failing(io.RawIOBase):
    """A stream that breaks in the middle."""

    def __init__(self, error: BaseException) -> None:
        self._error = error
        self._given = 0

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        if self._given > MEGABYTE:
            raise self._error
        self._given += max(size, 1)
        return bytes(max(size, 1))


@pytest.mark.conforms("fault 20", "fault 29")
@pytest.mark.parametrize(
    "error", [None, InfraError("no"), KeyboardInterrupt()], ids=["ends well", "fails", "is stopped"]
)
def test_a_batch_leaves_no_temporary_file(store, error):
    with pytest.raises(type(error)) if error else nullcontext():
        add_much(store, error)

    assert files_below(store.scratch) == []


def add_much(store: LocalStore, error: BaseException | None) -> None:
    """Add more small objects than a batch holds in memory, and large ones; then end it with an error, if any."""
    with store.objects.batch() as batch:
        batch.add(BLOB, LARGE)
        batch.add_stream(BLOB, io.BytesIO(LARGE + b"2"))
        batch.add_stream(BLOB, io.BytesIO(LARGE + b"2"))
        for number in range(100):
            batch.add(BLOB, bytes([number]) * 200_000)
        if error is not None:
            raise error


@pytest.mark.conforms("fault 29")
@pytest.mark.parametrize("error", [InfraError("no"), KeyboardInterrupt()], ids=["fails", "is stopped"])
def test_a_source_that_breaks_in_the_middle_leaves_no_temporary_file(store, error):
    with pytest.raises(type(error)), store.objects.batch() as batch:
        batch.add_stream(BLOB, Failing(error))

    assert files_below(store.scratch) == []


def test_an_error_of_what_is_read_into_a_batch_is_not_laid_to_the_store(store, tmp_path):
    with pytest.raises(FileNotFoundError), store.objects.batch(), (tmp_path / "missing").open("rb"):
        pytest.fail("it is not there")


@pytest.mark.conforms("fault 44")
def test_temporary_files_are_on_the_file_system_of_the_store(store, root, monkeypatch, tmp_path):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "not there"))
    monkeypatch.setenv("TMPDIR", str(tmp_path / "not there"))

    keep(store, SMALL, LARGE)

    assert store.scratch.is_relative_to(root)


def test_a_closed_store_leaves_nothing_in_its_directory_of_temporary_files(root):
    with LocalStore(root) as store:
        keep(store, LARGE)

    assert list((root / "tmp").iterdir()) == []


@pytest.mark.parametrize("found", [FORMAT + 1, 999])
def test_a_store_of_another_format_is_refused_with_both_numbers(root, found):
    LocalStore(root).close()
    with closing(sqlite3.connect(root / "store.sqlite")) as database, database:
        database.execute(f"PRAGMA user_version = {found}")

    with pytest.raises(StoreFormatError) as caught:
        LocalStore(root)

    assert caught.value.found == found
    assert str(caught.value).startswith(
        f"the store at {root} has format {found}; this version of reeval-build reads format {FORMAT}"
    )


def test_a_database_that_is_none_is_an_error_that_names_the_store(root):
    root.mkdir()
    (root / "store.sqlite").write_bytes(b"this is no database at all" * 100)

    with pytest.raises(StoreDamagedError, match=f"the index of the store at {root} is damaged: file is not a database"):
        LocalStore(root)


def test_a_store_in_the_place_of_a_file_is_an_error_that_names_it(root):
    root.write_bytes(b"")

    with pytest.raises(StoreAccessError, match=f"the store at {root} cannot be used: "):
        LocalStore(root)
