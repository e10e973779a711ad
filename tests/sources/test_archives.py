"""Archives of packages on their way into the store."""

from __future__ import annotations

import io
import itertools
import os
import subprocess
import tarfile
import tracemalloc
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reeval_build.digest import TREE
from reeval_build.sources.archive_members import Limits
from reeval_build.sources.archives import (
    ArchiveError,
    HugeArchiveError,
    MalformedArchiveError,
    RefusedMemberError,
    find_file,
    read_archive,
)
from reeval_build.stores.local import LocalStore
from reeval_build.tree.directory import EMPTY, Kind, encode
from tests.sources.tars import BLOCK, END, member, pax, tar, zipped
from tests.sources.trees import show

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


class Reader:
    """Reads archives into a store and shows what has come of them."""

    def __init__(self, objects: Objects) -> None:
        self._objects = objects

    def __call__(self, data: bytes, **limits: int) -> Shown:
        with self._objects.batch() as batch:
            tree = read_archive(io.BytesIO(data), batch, name="it", limits=Limits(**limits))
        return show(self._objects, tree)


@pytest.fixture(scope="module")
def read(objects: Objects) -> Reader:
    return Reader(objects)


# What is read.


@pytest.mark.parametrize("wrap", [bytes, zipped], ids=["plain", "zipped"])
def test_files_are_read_without_the_first_directory(read: Reader, wrap: Callable[[bytes], bytes]) -> None:
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
def test_the_first_directory_may_have_any_name(read: Reader, first: bytes) -> None:
    assert read(tar(member(first + b"/d/a", b"1"))) == {b"d": (DIRECTORY, None), b"d/a": (FILE, b"1")}


def test_what_is_beside_the_first_directory_is_left_out(read: Reader) -> None:
    assert read(tar(member(b"._package", b"x"), member(b"package/a", b"1"))) == {b"a": (FILE, b"1")}


def test_an_archive_without_files_is_an_empty_tree(objects: Objects) -> None:
    with objects.batch() as batch:
        assert read_archive(io.BytesIO(END), batch, name="it") == TREE.digest(encode(EMPTY))


@pytest.mark.parametrize(
    ("mode", "kind"),
    [(0o755, EXECUTABLE), (0o100, EXECUTABLE), (0o4755, EXECUTABLE), (0o655, FILE), (0o6644, FILE), (0, FILE)],
)
def test_only_the_owner_s_right_to_execute_counts(read: Reader, mode: int, kind: Kind) -> None:
    assert read(tar(member(b"p/a", b"1", mode=mode))) == {b"a": (kind, b"1")}


def test_of_two_files_of_one_path_the_last_counts(read: Reader) -> None:
    data = tar(member(b"p/a", b"1"), member(b"p/b", b"2"), member(b"other/a", b"3", mode=0o755))

    assert read(data) == {b"a": (EXECUTABLE, b"3"), b"b": (FILE, b"2")}


def test_a_hard_link_becomes_a_file_with_what_is_there_then(read: Reader) -> None:
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
def test_bytes_of_any_number_are_read(read: Reader, size: int) -> None:
    data = os.urandom(size)

    assert read(zipped(tar(member(b"p/a", data), member(b"p/b", b"2")))) == {b"a": (FILE, data), b"b": (FILE, b"2")}


def test_names_of_extended_headers_hold_for_one_member(read: Reader) -> None:
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


def test_a_path_in_two_fields_is_put_together(read: Reader) -> None:
    assert read(tar(member(b"a", b"1", prefix=b"p/d")))[b"d/a"] == (FILE, b"1")


def test_a_directory_of_old_times_is_one(read: Reader) -> None:
    assert read(tar(member(b"p/d/", kind=b"\0"), member(b"p/a", b"1", kind=b"\0"))) == {
        b"a": (FILE, b"1"),
        b"d": (DIRECTORY, None),
    }


def test_a_size_in_base_256_is_read(read: Reader) -> None:
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
def test_what_tarfile_writes_is_read(read: Reader, tree: object, format_: int) -> None:
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
def test_what_tar_writes_is_read(read: Reader, tmp_path: Path, format_: str) -> None:
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


# What is refused.


@pytest.mark.parametrize(
    ("hostile", "path", "reason"),
    [
        (member(b"../x", b"1"), b"../x", "has the segment '..'"),
        (member(b"p/../x", b"1"), b"p/../x", "has the segment '..'"),
        (member(b"p/a/../../x", b"1"), b"p/a/../../x", "has the segment '..'"),
        (member(b"./../x", b"1"), b"./../x", "has the segment '..'"),
        (member(b"/etc/passwd", b"1"), b"/etc/passwd", "is absolute"),
        (member(b"p//etc", b"1"), b"p//etc", "has the segment ''"),
        (member(b"p/./a", b"1"), b"p/./a", "has the segment '.'"),
        (member(b"p/a/", b"1"), b"p/a/", "has the segment ''"),
        (member(b"", b"1"), b"", "is not a name"),
        (member(b"p/.wh.a", b"1"), b"p/.wh.a", "image layers use for deletions"),
        (pax((b"path", b"p/a\0b")) + member(b"p/x", b"1"), b"p/a\0b", "has a slash or a NUL"),
        (pax((b"path", b"p/" + b"n" * 256)) + member(b"x"), b"p/" + b"n" * 256, "longer than 255 bytes"),
        (pax((b"path", b"p/" + b"d/" * 255 + b"f")) + member(b"x"), b"p/" + b"d/" * 255 + b"f", "255 directories deep"),
        (member(b"p/l", kind=b"2", target=b"/etc"), b"p/l", "is a symbolic link out of its tree, to '/etc'"),
        (member(b"p/l", kind=b"2", target=b"../p/a"), b"p/l", "is a symbolic link out of its tree"),
        (member(b"p/l", kind=b"2"), b"p/l", "is a symbolic link with an empty target"),
        (pax((b"linkpath", b"a\0b")) + member(b"p/l", kind=b"2"), b"p/l", "an empty target or a NUL"),
        (
            member(b"p/h", kind=b"1", target=b"/etc/passwd"),
            b"p/h",
            "is a hard link to '/etc/passwd', which is absolute",
        ),
        (member(b"p/h", kind=b"1", target=b"p/../../x"), b"p/h", "is a hard link to 'p/../../x', which has"),
        (member(b"p/h", kind=b"1", target=b"p/later"), b"p/h", "which is no file before it"),
        (member(b"p/h", kind=b"1", target=b"p/h"), b"p/h", "which is no file before it"),
        (member(b"p/h", kind=b"1", target=b"p/dir"), b"p/h", "which is no file before it"),
        (member(b"p/h", kind=b"1", target=b"p"), b"p/h", "which is no file before it"),
        (member(b"p/h", kind=b"1", target=b"p/dir/up"), b"p/h", "is a symbolic link out of its tree"),
        (member(b"p/null", kind=b"3"), b"p/null", "is a device"),
        (member(b"p/disk", kind=b"4"), b"p/disk", "is a device"),
        (member(b"p/pipe", kind=b"6"), b"p/pipe", "is a fifo"),
        (member(b"p/file/x", b"1"), b"p/file/x", "goes through 'file', which is not a directory"),
        (member(b"p/link/x", b"1"), b"p/link/x", "goes through 'link', which is not a directory"),
        (member(b"p/file", kind=b"5"), b"p/file", "which is not a directory"),
        (member(b"p/dir", b"1"), b"p/dir", "would replace a directory"),
        (member(b"p/s", b"1", kind=b"S"), b"p/s", "is a sparse file"),
        (pax((b"GNU.sparse.major", b"1")) + member(b"p/s", b"1"), b"p/s", "is a sparse file"),
        (member(b"p/a", kind=b"Z"), b"p/a", "is of the unknown kind 'Z'"),
    ],
)
def test_a_hostile_member_is_refused_by_its_path(read: Reader, hostile: bytes, path: bytes, reason: str) -> None:
    data = tar(
        member(b"p/file", b"1"),
        member(b"p/link", kind=b"2", target=b"dir"),
        member(b"p/dir/", kind=b"5"),
        member(b"p/dir/up", kind=b"2", target=b"../file"),
        hostile,
        member(b"p/later", b"1"),
    )

    with pytest.raises(RefusedMemberError) as caught:
        read(zipped(data))

    assert caught.value.path == path
    assert reason in caught.value.reason
    assert caught.value.message.startswith('it has "')


def test_an_archive_that_is_cut_anywhere_is_refused(read: Reader) -> None:
    data = tar(pax((b"path", b"p/" + b"n" * 150)), member(b"x", b"1" * 700), member(b"p/b", b"2"))
    ends = {*range(0, len(data) - len(END), 97), *range(0, len(data) - len(END) + 1, BLOCK)}

    for end in sorted(ends):
        with pytest.raises(MalformedArchiveError):
            read(data[:end])


def test_a_zipped_archive_that_is_cut_anywhere_is_refused(read: Reader) -> None:
    data = zipped(tar(member(b"p/a", os.urandom(700)), member(b"p/b", b"2")))

    for end in range(2, len(data), 31):
        with pytest.raises(MalformedArchiveError):
            read(data[:end])


def test_a_damaged_byte_of_a_zipped_archive_changes_no_file_unnoticed(read: Reader) -> None:
    data = zipped(tar(member(b"p/a", os.urandom(700)), member(b"p/b", b"2")))
    whole = read(data)
    noticed = 0

    for at in range(10, len(data), 37):
        try:
            # There are bits in a zipped archive that stand for nothing.
            assert read(data[:at] + bytes([data[at] ^ 0x55]) + data[at + 1 :]) == whole
        except ArchiveError:
            noticed += 1

    assert noticed > 10


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"no archive",
        b"<html>" * 1000,
        os.urandom(4096),
        b"PK\x03\x04" + bytes(1000),
        zipped(b""),
        zipped(b"x" * 2000),
        tar(member(b"p/a", size=b"notanumber\0\0")),
        tar(member(b"p/a", size=b"\xff" * 12)),
        tar(member(b"p/a", b"1", size=b"77777777777\0")),
        tar(pax((b"size", b"-1")), member(b"p/a")),
        tar(pax((b"size", b"9" * 5000)), member(b"p/a")),
        tar(pax((b"path", b"x"), kind=b"g"), member(b"p/a")),
        tar(member(b"x", b"7 path", kind=b"x"), member(b"p/a")),
        tar(member(b"x", b"99 path=a\n", kind=b"x"), member(b"p/a")),
        tar(member(b"x", b"0 path=a\n", kind=b"x"), member(b"p/a")),
        tar(member(b"x", b"10 path=a\n", kind=b"x"), member(b"p/a"))[: 2 * BLOCK],
        tar(member(b"x", b"9 pathxx\n", kind=b"x"), member(b"p/a")),
        tar(member(b"x", b"1" * 100_000, kind=b"x"), member(b"p/a")),
        member(b"p/a", b"1").replace(b"p/a", b"p/b") + END,
    ],
    ids=itertools.count(),
)
@pytest.mark.timeout(10)
def test_what_is_no_archive_is_refused(read: Reader, data: bytes) -> None:
    with pytest.raises(MalformedArchiveError) as caught:
        read(data)

    assert caught.value.message.startswith("it has an archive that ")
    assert caught.value.hint


# How much is refused.


def test_more_members_than_allowed_are_refused(read: Reader) -> None:
    data = tar(*(member(b"p/%d" % number) for number in range(5)))

    assert len(read(data, members=5)) == 5
    with pytest.raises(HugeArchiveError, match="has more than 4 members"):
        read(data, members=4)


def test_headers_for_nothing_count_too(read: Reader) -> None:
    with pytest.raises(HugeArchiveError, match="has more than 100 members"):
        read(tar(*[pax((b"comment", b"x"))] * 101), members=100)


def test_more_bytes_than_allowed_are_refused_before_they_are_unpacked(read: Reader) -> None:
    data = zipped(tar(member(b"p/a", bytes(3 * MIB))))

    assert read(data, unpacked_bytes=4 * MIB)[b"a"] == (FILE, bytes(3 * MIB))
    with pytest.raises(HugeArchiveError, match="unpacks to more than 2,097,152 bytes"):
        read(data, unpacked_bytes=2 * MIB)


def test_zeros_behind_the_end_count_too(read: Reader) -> None:
    with pytest.raises(HugeArchiveError):
        read(zipped(tar(member(b"p/a", b"1")) + bytes(3 * MIB)), unpacked_bytes=2 * MIB)


def test_a_header_may_not_be_as_large_as_a_file(read: Reader) -> None:
    bomb = member(b"x", size=b"%011o\0" % (2 * 1024**3), kind=b"L") + bytes(MIB)

    with pytest.raises(MalformedArchiveError, match="extended header of more than 1 MiB"):
        read(zipped(bomb))


def test_a_large_file_is_not_held_in_memory(objects: Objects) -> None:
    size = 100 * MIB
    header = member(b"p/a", size=b"%011o\0" % size)
    data = zipped(header) + zipped(bytes(MIB)) * 100 + zipped(END)

    tracemalloc.start()
    try:
        with objects.batch() as batch:
            read_archive(io.BytesIO(data), batch, name="it")
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()

    assert peak < 20 * MIB


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
