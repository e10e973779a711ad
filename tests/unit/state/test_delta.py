from __future__ import annotations

import attrs
import pytest

from reeval_build import canon
from reeval_build.digest import BLOB, Digest
from reeval_build.paths import PathError
from reeval_build.state.delta import DeltaEntry, DeltaKind, decode, encode, in_order

ONE = BLOB.digest(b"one")
FILE = DeltaEntry(parts=(b"d", b"a"), kind=DeltaKind.FILE, mode=0o644, digest=ONE, size=3, mtime_s=7)
DIRECTORY = DeltaEntry(parts=(b"d",), kind=DeltaKind.DIRECTORY, mode=0o755)
ROW: list[canon.Value] = [b"a", "f", 0o644, 0, 0, ONE, 3, None, False, {}, None]


def test_entries_are_kept_sorted_with_a_directory_before_what_is_in_it():
    beside = attrs.evolve(FILE, parts=(b"d.txt",))

    assert in_order([beside, FILE, DIRECTORY]) == (DIRECTORY, FILE, beside)
    assert decode(*encode([beside, FILE, DIRECTORY])) == (DIRECTORY, FILE, beside)


def test_a_time_is_kept_beside_the_delta_and_is_no_part_of_it():
    later = attrs.evolve(FILE, mtime_s=FILE.mtime_s + 1)

    assert later == FILE
    assert encode([later])[0] == encode([FILE])[0]
    assert encode([later])[1] != encode([FILE])[1]
    assert decode(*encode([later]))[0].mtime_s == FILE.mtime_s + 1


@pytest.mark.parametrize(
    "change",
    [
        {"parts": (b"d", b"b")},
        {"parts": (b"da",)},
        {"mode": 0o600},
        {"mode": 0o4644},
        {"uid": 1},
        {"gid": 1},
        {"digest": BLOB.digest(b"two")},
        {"size": 4},
        {"xattrs": (("security.capability", b"\1"),)},
        {"kind": DeltaKind.HARD_LINK, "target": b"x"},
        {"kind": DeltaKind.FIFO},
    ],
    ids=str,
)
def test_everything_else_of_an_entry_is_part_of_the_delta(change):
    assert encode([attrs.evolve(FILE, **change)])[0] != encode([FILE])[0]


def test_whether_a_directory_hides_what_is_below_is_part_of_the_delta():
    assert encode([attrs.evolve(DIRECTORY, opaque=True)])[0] != encode([DIRECTORY])[0]


def test_a_path_and_the_bytes_of_a_file_are_to_be_had_from_its_entry():
    assert (FILE.path, FILE.content) == (b"d/a", ONE)


def test_asking_for_the_bytes_of_a_directory_is_a_bug():
    with pytest.raises(AssertionError):
        _ = DIRECTORY.content


def test_a_delta_of_nothing_is_decoded_as_nothing():
    assert decode(*encode([])) == ()


def test_what_the_refusals_below_are_made_from_is_accepted():
    assert decode(canon.encode([ROW]), canon.encode([1])) == (
        DeltaEntry(parts=(b"a",), kind=DeltaKind.FILE, mode=0o644, digest=ONE, size=3, mtime_s=1),
    )


@pytest.mark.parametrize(
    ("at", "value"),
    [
        (0, "a"),
        (0, None),
        (1, "z"),
        (1, b"f"),
        (2, True),
        (2, "644"),
        (3, False),
        (4, None),
        (5, ONE.raw),
        (6, True),
        (6, None),
        (7, "a"),
        (8, 0),
        (8, None),
        (9, []),
        (9, {"user.a": "text"}),
        (9, {"user.a": None}),
        (10, []),
        (10, [1]),
        (10, [1, 2, 3]),
        (10, [True, 1]),
        (10, ["1", "2"]),
    ],
)
def test_a_row_with_a_value_that_is_never_written_there_is_refused(at, value):
    row = [*ROW[:at], value, *ROW[at + 1 :]]

    with pytest.raises(canon.DecodeError):
        decode(canon.encode([row]), canon.encode([1]))


@pytest.mark.parametrize(
    ("rows", "times"),
    [
        ([ROW], []),
        ([], [1]),
        ([ROW], [None]),
        ([ROW], [True]),
        ([ROW], ["1"]),
        ([ROW], {}),
        ({}, []),
        ([ROW[:-1]], [1]),
        ([[*ROW, None]], [1]),
        ([[b"b", *ROW[1:]], ROW], [1, 1]),
        ([ROW, ROW], [1, 1]),
        ([[b"d/a", *ROW[1:]], [b"d", *ROW[1:]]], [1, 1]),
    ],
)
def test_objects_that_no_delta_is_written_as_are_refused(rows, times):
    with pytest.raises(canon.DecodeError):
        decode(canon.encode(rows), canon.encode(times))


@pytest.mark.conforms("fault 40")
@pytest.mark.parametrize("path", [b"", b"/a", b"../a", b"a/../b", b"a//b", b"a/.", b"a\0", b".wh.a", b"d/.wh..wh..opq"])
def test_a_path_that_must_not_be_used_is_refused(path):
    with pytest.raises(PathError):
        decode(canon.encode([[path, *ROW[1:]]]), canon.encode([1]))


@pytest.mark.conforms("fault 40")
@pytest.mark.parametrize("kind", sorted(set(DeltaKind) - {DeltaKind.DIRECTORY}, key=str))
@pytest.mark.parametrize("path", [b"a/b", b"a/b/c"])
def test_what_is_below_something_else_than_a_directory_is_refused_with_its_path(kind, path):
    leaf = [b"a", kind.value, 0, 0, 0, ONE, 0, b"elsewhere", False, {}, None]
    rows = [leaf, [path, *ROW[1:]]]

    with pytest.raises(PathError) as read:
        decode(canon.encode(rows), canon.encode([1, 1]))
    with pytest.raises(PathError) as written:
        encode([DeltaEntry(parts=(b"a",), kind=kind), attrs.evolve(FILE, parts=tuple(path.split(b"/")))])

    assert read.value.path == written.value.path == path.decode()


@pytest.mark.conforms("fault 40")
@pytest.mark.parametrize("target", [None, b"", b"/etc/passwd", b"../x", b"a/../../x"])
def test_a_hard_link_out_of_the_file_system_is_refused(target):
    row = [b"a", "h", 0o644, 0, 0, ONE, 3, target, False, {}, None]

    with pytest.raises(PathError):
        decode(canon.encode([row]), canon.encode([1]))


@pytest.mark.parametrize("target", [b"/etc/passwd", b"../../x", b"\xff"])
def test_a_symbolic_link_is_kept_as_a_command_made_it(target):
    link = DeltaEntry(parts=(b"l",), kind=DeltaKind.SYMLINK, mode=0o777, target=target)

    assert decode(*encode([link])) == (link,)


@pytest.mark.parametrize("damage", [slice(0, -1), slice(1, None), slice(0, 0)])
def test_damaged_bytes_are_refused(damage):
    data, times = encode([FILE])

    with pytest.raises(canon.DecodeError):
        decode(data[damage], times)
    with pytest.raises(canon.DecodeError):
        decode(data, times[damage])


def test_a_digest_is_not_the_bytes_it_consists_of():
    assert encode([attrs.evolve(FILE, digest=Digest(bytes(32)))]) != encode([attrs.evolve(FILE, digest=None)])
