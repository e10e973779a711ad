from __future__ import annotations

import pytest

from reeval_build import canon
from reeval_build.digest import BLOB, TREE
from reeval_build.paths import PathError
from reeval_build.tree.directory import EMPTY, Entry, Kind, decode, encode, tree_digest, walk
from tests.support.directories import Directories

ONE, TWO = BLOB.digest(b"one"), BLOB.digest(b"two")
FILE = Entry.file(ONE, 3)
SCRIPT = Entry.file(ONE, 3, executable=True)
LINK = Entry.symlink(b"a")


def test_an_entry_of_each_kind_has_what_that_kind_has():
    assert (FILE.kind, FILE.content, FILE.size, FILE.target) == (Kind.FILE, ONE, 3, None)
    assert (SCRIPT.kind, SCRIPT.content, SCRIPT.size) == (Kind.EXECUTABLE, ONE, 3)
    assert (LINK.kind, LINK.digest, LINK.size, LINK.target) == (Kind.SYMLINK, None, 1, b"a")
    assert (Entry.directory(TWO).kind, Entry.directory(TWO).content, Entry.directory(TWO).size) == (
        Kind.DIRECTORY,
        TWO,
        0,
    )


def test_a_link_has_no_content_and_asking_for_it_is_a_bug():
    with pytest.raises(AssertionError):
        _ = LINK.content


@pytest.mark.parametrize(
    "entries",
    [
        EMPTY,
        {b"a": FILE},
        {b"b": FILE, b"a": SCRIPT, b"l": LINK, b"d": Entry.directory(TWO)},
        {b"\xff\n": Entry.symlink(b"\xff/\n"), "é".encode(): Entry.file(ONE, 2**50)},
        {b"n" * 255: FILE},
        {b"a": Entry.file(ONE, 0)},
    ],
)
def test_a_directory_is_decoded_as_it_was_encoded(entries):
    assert decode(encode(entries)) == entries


@pytest.mark.conforms("fault 14")
def test_the_order_in_which_entries_were_found_does_not_matter():
    entries = {b"b": FILE, b"a": LINK, b"c": SCRIPT}

    assert tree_digest(dict(reversed(entries.items()))) == tree_digest(entries)


def test_names_sort_by_their_bytes():
    assert list(decode(encode({b"b": FILE, b"a/".strip(b"/"): FILE, b"B": FILE, b"\xff": FILE}))) == [
        b"B",
        b"a",
        b"b",
        b"\xff",
    ]


@pytest.mark.conforms("35", "36", "fault 11", "fault 38")
def test_name_bytes_executable_bit_kind_and_target_each_change_the_tree():
    trees = [
        EMPTY,
        {b"a": FILE},
        {b"a": SCRIPT},
        {b"a": Entry.file(TWO, 3)},
        {b"b": FILE},
        {b"a": Entry.directory(ONE)},
        {b"a": LINK},
        {b"a": Entry.symlink(b"b")},
        {b"a": Entry.directory(tree_digest(EMPTY))},
        {b"ab": LINK},
        {b"a": FILE, b"b": FILE},
    ]

    assert len({tree_digest(entries) for entries in trees}) == len(trees)


def test_the_same_bytes_as_a_blob_are_something_else_than_a_tree():
    assert tree_digest(EMPTY) == TREE.digest(canon.encode([]))
    assert tree_digest(EMPTY) != BLOB.digest(canon.encode([]))


@pytest.mark.conforms("fault 40")
@pytest.mark.parametrize("name", [b"", b".", b"..", b"a/b", b"a\0", b"n" * 256, b".wh.x"])
def test_a_name_that_no_tree_can_have_is_refused_on_the_way_in_and_on_the_way_out(name):
    with pytest.raises(PathError):
        encode({name: FILE})
    with pytest.raises(PathError):
        decode(canon.encode([[name, "f", ONE, 3]]))


@pytest.mark.parametrize(
    "rows",
    [
        None,
        {},
        "",
        [None],
        [[]],
        [[b"a", "f", ONE]],
        [[b"a", "f", ONE, 3, 0]],
        [["a", "f", ONE, 3]],
        [[b"a", "f", ONE, True]],
        [[b"a", "f", ONE, -1]],
        [[b"a", "f", ONE, "3"]],
        [[b"a", "f", ONE.raw, 3]],
        [[b"a", "f", b"x", 1]],
        [[b"a", "f", None, 3]],
        [[b"a", "z", ONE, 3]],
        [[b"a", "", ONE, 3]],
        [[b"a", b"f", ONE, 3]],
        [[b"a", "d", ONE, 1]],
        [[b"a", "d", ONE, False]],
        [[b"a", "d", b"x", 0]],
        [[b"a", "l", ONE, 1]],
        [[b"a", "l", b"x", 2]],
        [[b"a", "l", b"x", True]],
        [[b"a", "l", "x", 1]],
        [[b"b", "f", ONE, 3], [b"a", "f", ONE, 3]],
        [[b"a", "f", ONE, 3], [b"a", "f", ONE, 3]],
        [[b"a", "f", ONE, 3], [b"a", "f", TWO, 3]],
    ],
)
def test_an_object_that_no_directory_is_written_as_is_refused(rows):
    with pytest.raises(canon.DecodeError):
        decode(canon.encode(rows))


@pytest.mark.parametrize("data", [b"", b"x", encode({b"a": FILE})[:-1], encode({b"a": FILE}) + b"n"])
def test_bytes_that_are_no_canonical_encoding_are_refused(data):
    with pytest.raises(canon.DecodeError):
        decode(data)


def test_walking_gives_a_directory_before_what_is_in_it_and_everything_once():
    kept = Directories()
    root = kept.keep({b"b": {b"y": FILE, b"x": {b"deep": LINK}}, b"a": FILE, b"c": {}, b"d": {b"z": SCRIPT}})

    found = [b"/".join(parts) for parts, _entry in walk(root, kept.load)]

    assert sorted(found) == [b"a", b"b", b"b/x", b"b/x/deep", b"b/y", b"c", b"d", b"d/z"]
    assert all(path.rpartition(b"/")[0] in {b"", *found[:at]} for at, path in enumerate(found))


def test_walking_is_in_the_same_order_whatever_the_order_of_arrival():
    kept = Directories()
    root = kept.keep({b"a": {b"x": FILE}, b"b": {b"y": FILE}})
    other_order = kept.keep({b"b": {b"y": FILE}, b"a": {b"x": FILE}})

    assert list(walk(root, kept.load)) == list(walk(other_order, kept.load))
