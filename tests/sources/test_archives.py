"""Archives of packages on their way into the store."""

from __future__ import annotations

import io
import os
import subprocess
import tarfile
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reeval_build.digest import TREE
from reeval_build.sources.archives import (
    find_file,
    read_archive,
)
from reeval_build.stores.local import LocalStore
from reeval_build.tree.directory import EMPTY, Kind, encode
from tests.sources.archive_reader import ArchiveReader
from tests.sources.tars import BLOCK, END, member, pax, tar, zipped

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from reeval_build.ports.objects import Objects
    from tests.sources.trees import Shown

FILE, EXECUTABLE, DIRECTORY, SYMLINK = Kind.FILE, Kind.EXECUTABLE, Kind.DIRECTORY, Kind.SYMLINK
MIB = 1024 * 1024


@pytest.fixture(scope="module")
def objects(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Objects]:
    with LocalStore(tmp_path_factory.mktemp("archives") / "store") as store:
        yield store.objects


@pytest.fixture(scope="module")
def read(objects: Objects) -> ArchiveReader:
    return ArchiveReader(objects)


# What is read.


@pytest.mark.conforms("fault 38", "fault 39")
@pytest.mark.parametrize("wrap", [bytes, zipped], ids=["plain", "zipped"])
def test_files_are_read_without_the_first_directory(read: ArchiveReader, wrap: Callable[[bytes], bytes]) -> None:
    data = tar(
        member(b"package/", kind=b"5", mode=0o755),
        member(b"package/bin/run", b"#!/bin/sh\n", mode=0o755),
        member(b"package/a", b"1"),
        member(b"package/empty/", kind=b"5"),
        member(b"package/link", kind=b"2", target=b"bin/run"),
    )

    assert read(wrap(data)) == {
        b"a": (FILE, b"1"),
        b"bin": (DIRECTORY, None),
        b"bin/run": (EXECUTABLE, b"#!/bin/sh\n"),
        b"empty": (DIRECTORY, None),
        b"link": (SYMLINK, b"bin/run"),
    }


@pytest.mark.parametrize("first", [b"package", b"owner-repo-0a1b2c", b".", b"\xff\xfe"])
def test_the_first_directory_may_have_any_name(read: ArchiveReader, first: bytes) -> None:
    assert read(tar(member(first + b"/d/a", b"1"))) == {b"d": (DIRECTORY, None), b"d/a": (FILE, b"1")}


def test_what_is_beside_the_first_directory_is_left_out(read: ArchiveReader) -> None:
    assert read(tar(member(b"._package", b"x"), member(b"package/a", b"1"))) == {b"a": (FILE, b"1")}


def test_an_archive_without_files_is_an_empty_tree(objects: Objects) -> None:
    with objects.batch() as batch:
        assert read_archive(io.BytesIO(END), batch, name="it") == TREE.digest(encode(EMPTY))


@pytest.mark.parametrize(
    ("mode", "kind"),
    [(0o755, EXECUTABLE), (0o100, EXECUTABLE), (0o4755, EXECUTABLE), (0o655, FILE), (0o6644, FILE), (0, FILE)],
)
def test_only_the_owner_s_right_to_execute_counts(read: ArchiveReader, mode: int, kind: Kind) -> None:
    assert read(tar(member(b"p/a", b"1", mode=mode))) == {b"a": (kind, b"1")}


def test_of_two_files_of_one_path_the_last_counts(read: ArchiveReader) -> None:
    data = tar(member(b"p/a", b"1"), member(b"p/b", b"2"), member(b"other/a", b"3", mode=0o755))

    assert read(data) == {b"a": (EXECUTABLE, b"3"), b"b": (FILE, b"2")}


def test_a_hard_link_becomes_a_file_with_what_is_there_then(read: ArchiveReader) -> None:
    data = tar(
        member(b"p/a", b"1", mode=0o755),
        member(b"p/d/b", kind=b"1", target=b"p/a"),
        member(b"p/a", b"2"),
        member(b"p/l", kind=b"2", target=b"a"),
        member(b"p/m", kind=b"1", target=b"p/l"),
    )

    assert read(data) == {
        b"a": (FILE, b"2"),
        b"d": (DIRECTORY, None),
        b"d/b": (EXECUTABLE, b"1"),
        b"l": (SYMLINK, b"a"),
        b"m": (SYMLINK, b"a"),
    }


@pytest.mark.parametrize("size", [0, 1, BLOCK - 1, BLOCK, BLOCK + 1, MIB, MIB + 1, 3 * MIB + 7])
def test_bytes_of_any_number_are_read(read: ArchiveReader, size: int) -> None:
    data = os.urandom(size)

    assert read(zipped(tar(member(b"p/a", data), member(b"p/b", b"2")))) == {b"a": (FILE, data), b"b": (FILE, b"2")}


def test_names_of_extended_headers_hold_for_one_member(read: ArchiveReader) -> None:
    long = b"p/" + b"d" * 200 + b"/" + b"f" * 200
    data = tar(
        pax((b"path", long), (b"size", b"3"), (b"mtime", b"1.5")),
        member(b"p/short", b"abc", size=b"00000000000\0"),
        member(b"././@LongLink", long + b"2\0", kind=b"L"),
        member(b"p/short", b"1"),
        member(b"././@LongLink", b"a/" * 150 + b"\0", kind=b"K"),
        member(b"p/link", kind=b"2", target=b"a"),
        pax((b"linkpath", b"b/" * 150)),
        member(b"p/link2", kind=b"2", target=b"a"),
        pax((b"comment", b"of all"), kind=b"g"),
        member(b"p/last", b"1"),
    )

    assert read(data) == {
        b"d" * 200: (DIRECTORY, None),
        long[2:]: (FILE, b"abc"),
        long[2:] + b"2": (FILE, b"1"),
        b"link": (SYMLINK, b"a/" * 150),
        b"link2": (SYMLINK, b"b/" * 150),
        b"last": (FILE, b"1"),
    }


def test_a_path_in_two_fields_is_put_together(read: ArchiveReader) -> None:
    assert read(tar(member(b"a", b"1", prefix=b"p/d")))[b"d/a"] == (FILE, b"1")


def test_a_directory_of_old_times_is_one(read: ArchiveReader) -> None:
    assert read(tar(member(b"p/d/", kind=b"\0"), member(b"p/a", b"1", kind=b"\0"))) == {
        b"a": (FILE, b"1"),
        b"d": (DIRECTORY, None),
    }


def test_a_size_in_base_256_is_read(read: ArchiveReader) -> None:
    assert read(tar(member(b"p/a", b"abc", size=b"\x80" + bytes(10) + b"\x03"))) == {b"a": (FILE, b"abc")}


_names = st.binary(min_size=1, max_size=30).filter(
    lambda name: not {*b"/\0"} & {*name} and name not in {b".", b".."} and not name.startswith(b".wh.")
)
_long_names = _names.map(lambda name: (name * 255)[:255])
_contents = st.tuples(st.binary(max_size=1100), st.booleans())
_trees = st.recursive(
    _contents, lambda below: st.dictionaries(_names | _long_names, below, max_size=4), max_leaves=8
).filter(lambda tree: isinstance(tree, dict))


@given(_trees, st.sampled_from([tarfile.GNU_FORMAT, tarfile.PAX_FORMAT]))
def test_what_tarfile_writes_is_read(read: ArchiveReader, tree: object, format_: int) -> None:
    written = io.BytesIO()
    expected: Shown = {}
    with tarfile.open(fileobj=written, mode="w", format=format_) as archive:
        _write(archive, "package", tree, expected)

    assert read(written.getvalue()) == expected


def _write(archive: tarfile.TarFile, path: str, item: object, expected: Shown) -> None:
    info = tarfile.TarInfo(path)
    name = path.encode("utf-8", "surrogateescape").partition(b"/")[2]
    if isinstance(item, dict):
        info.type = tarfile.DIRTYPE
        archive.addfile(info)
        expected.update({name: (DIRECTORY, None)} if name else {})
        for below, inner in item.items():
            _write(archive, f"{path}/{below.decode('utf-8', 'surrogateescape')}", inner, expected)
    else:
        assert isinstance(item, tuple)
        data, is_executable = item
        info.size, info.mode = len(data), 0o755 if is_executable else 0o644
        archive.addfile(info, io.BytesIO(data))
        expected[name] = EXECUTABLE if is_executable else FILE, data


@pytest.mark.parametrize("format_", ["v7", "oldgnu", "gnu", "ustar", "pax"])
def test_what_tar_writes_is_read(read: ArchiveReader, tmp_path: Path, format_: str) -> None:
    long = "n" * (60 if format_ in {"v7", "ustar"} else 200)
    (tmp_path / "package/d").mkdir(parents=True)
    (tmp_path / "package/d" / long).write_bytes(b"1" * 5000)
    (tmp_path / "package/run").write_bytes(b"2")
    (tmp_path / "package/run").chmod(0o755)
    (tmp_path / "package/same").hardlink_to(tmp_path / "package/run")
    (tmp_path / "package/to").symlink_to(f"d/{long[:50]}")
    command = ["tar", "--create", "--gzip", f"--format={format_}", "--sort=name", "package"]
    data = subprocess.run(command, cwd=tmp_path, check=True, capture_output=True).stdout

    assert read(data) == {
        b"d": (DIRECTORY, None),
        f"d/{long}".encode(): (FILE, b"1" * 5000),
        b"run": (EXECUTABLE, b"2"),
        b"same": (EXECUTABLE, b"2"),
        b"to": (SYMLINK, f"d/{long[:50]}".encode()),
    }


# One file of an archive.


def test_the_last_file_of_a_path_is_found() -> None:
    data = tar(member(b"p/d/a", b"1"), member(b"p/a", b"2"), member(b"q/a", b"3"))

    assert find_file(io.BytesIO(data), (b"a",), name="it", limit=1) == b"3"
    assert find_file(io.BytesIO(data), (b"d", b"a"), name="it", limit=1) == b"1"


def test_what_is_no_file_or_too_large_is_not_found() -> None:
    data = tar(member(b"p/a", b"12"), member(b"p/b", kind=b"2", target=b"a"))

    assert find_file(io.BytesIO(data), (b"a",), name="it", limit=1) is None
    assert find_file(io.BytesIO(data), (b"b",), name="it", limit=100) is None
    assert find_file(io.BytesIO(data), (b"c",), name="it", limit=100) is None
