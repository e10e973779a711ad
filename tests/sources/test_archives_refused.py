"""Archives that must not be used: hostile, broken, and far too large."""

from __future__ import annotations

import io
import itertools
import os
import tracemalloc
from typing import TYPE_CHECKING

import pytest

from reeval_build.sources.archives import (
    ArchiveError,
    HugeArchiveError,
    MalformedArchiveError,
    RefusedMemberError,
    read_archive,
)
from reeval_build.stores.local import LocalStore
from reeval_build.tree.directory import Kind
from tests.sources.archive_reader import ArchiveReader
from tests.sources.tars import BLOCK, END, member, pax, tar, zipped

if TYPE_CHECKING:
    from collections.abc import Iterator

    from reeval_build.ports.objects import Objects

MIB = 1024 * 1024


@pytest.fixture(scope="module")
def objects(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Objects]:
    with LocalStore(tmp_path_factory.mktemp("archives") / "store") as store:
        yield store.objects


@pytest.fixture(scope="module")
def read(objects: Objects) -> ArchiveReader:
    return ArchiveReader(objects)


@pytest.mark.conforms("fault 39", "fault 40")
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
def test_a_hostile_member_is_refused_by_its_path(read: ArchiveReader, hostile: bytes, path: bytes, reason: str) -> None:
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


def test_an_archive_that_is_cut_anywhere_is_refused(read: ArchiveReader) -> None:
    data = tar(pax((b"path", b"p/" + b"n" * 150)), member(b"x", b"1" * 700), member(b"p/b", b"2"))
    ends = {*range(0, len(data) - len(END), 97), *range(0, len(data) - len(END) + 1, BLOCK)}

    for end in sorted(ends):
        with pytest.raises(MalformedArchiveError):
            read(data[:end])


def test_a_zipped_archive_that_is_cut_anywhere_is_refused(read: ArchiveReader) -> None:
    data = zipped(tar(member(b"p/a", os.urandom(700)), member(b"p/b", b"2")))

    for end in range(2, len(data), 31):
        with pytest.raises(MalformedArchiveError):
            read(data[:end])


def test_a_damaged_byte_of_a_zipped_archive_changes_no_file_unnoticed(read: ArchiveReader) -> None:
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
def test_what_is_no_archive_is_refused(read: ArchiveReader, data: bytes) -> None:
    with pytest.raises(MalformedArchiveError) as caught:
        read(data)

    assert caught.value.message.startswith("it has an archive that ")
    assert caught.value.hint


# How much is refused.


def test_more_members_than_allowed_are_refused(read: ArchiveReader) -> None:
    data = tar(*(member(b"p/%d" % number) for number in range(5)))

    assert len(read(data, members=5)) == 5
    with pytest.raises(HugeArchiveError, match="has more than 4 members"):
        read(data, members=4)


def test_headers_for_nothing_count_too(read: ArchiveReader) -> None:
    with pytest.raises(HugeArchiveError, match="has more than 100 members"):
        read(tar(*[pax((b"comment", b"x"))] * 101), members=100)


def test_more_bytes_than_allowed_are_refused_before_they_are_unpacked(read: ArchiveReader) -> None:
    data = zipped(tar(member(b"p/a", bytes(3 * MIB))))

    assert read(data, unpacked_bytes=4 * MIB)[b"a"] == (Kind.FILE, bytes(3 * MIB))
    with pytest.raises(HugeArchiveError, match="unpacks to more than 2,097,152 bytes"):
        read(data, unpacked_bytes=2 * MIB)


def test_zeros_behind_the_end_count_too(read: ArchiveReader) -> None:
    with pytest.raises(HugeArchiveError):
        read(zipped(tar(member(b"p/a", b"1")) + bytes(3 * MIB)), unpacked_bytes=2 * MIB)


def test_a_header_may_not_be_as_large_as_a_file(read: ArchiveReader) -> None:
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
