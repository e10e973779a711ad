from __future__ import annotations

import pytest

from reeval_build.digest import BLOB
from reeval_build.tree.compare import Change, ChangeKind, compare
from reeval_build.tree.directory import Entry
from reeval_build.tree.draft import Draft
from tests.support.directories import Directories, Model

FILE = Entry.file(BLOB.digest(b"one"), 3)
OTHER = Entry.file(BLOB.digest(b"two"), 3)
SCRIPT = Entry.file(BLOB.digest(b"one"), 3, executable=True)
OTHER_SCRIPT = Entry.file(BLOB.digest(b"two"), 3, executable=True)
LINK = Entry.symlink(b"a")
A, M, D, X = ChangeKind.ADDED, ChangeKind.CHANGED, ChangeKind.DELETED, ChangeKind.MODE


def changes(before: Model, after: Model) -> list[tuple[bytes, ChangeKind]]:
    kept = Directories()
    found = compare(kept.keep(before), kept.keep(after), kept.load)
    return [(b"/".join(change.parts), change.kind) for change in found]


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ({}, {}, []),
        ({b"a": FILE}, {b"a": FILE}, []),
        ({}, {b"a": FILE}, [(b"a", A)]),
        ({b"a": FILE}, {}, [(b"a", D)]),
        ({b"a": FILE}, {b"a": OTHER}, [(b"a", M)]),
        ({b"a": FILE}, {b"a": SCRIPT}, [(b"a", X)]),
        ({b"a": SCRIPT}, {b"a": FILE}, [(b"a", X)]),
        ({b"a": FILE}, {b"a": OTHER_SCRIPT}, [(b"a", M)]),
        ({b"a": FILE}, {b"a": LINK}, [(b"a", M)]),
        ({b"a": LINK}, {b"a": Entry.symlink(b"b")}, [(b"a", M)]),
        ({b"a": FILE}, {b"b": FILE}, [(b"a", D), (b"b", A)]),
        ({b"a": FILE}, {b"a": {b"x": FILE}}, [(b"a", D), (b"a/x", A)]),
        ({b"a": {b"x": FILE}}, {b"a": FILE}, [(b"a", A), (b"a/x", D)]),
        ({b"a": FILE}, {b"a": {}}, [(b"a", D)]),
        ({}, {b"a": {}}, []),
        ({b"a": {b"b": {}}}, {}, []),
        ({b"a": {}}, {b"a": {b"b": {}}}, []),
        ({b"a": {b"x": FILE}}, {}, [(b"a/x", D)]),
        ({b"d": {b"x": FILE}}, {b"e": {b"x": FILE}}, [(b"d/x", D), (b"e/x", A)]),
        (
            {b"d": {b"k": FILE, b"x": FILE}, b"z": FILE},
            {b"d": {b"k": FILE, b"x": OTHER}, b"c": LINK, b"z": FILE},
            [(b"c", A), (b"d/x", M)],
        ),
    ],
)
def test_what_differs_is_listed_by_path_with_what_happened(before, after, expected):
    assert changes(before, after) == expected


def test_a_change_has_both_entries():
    kept = Directories()

    (change,) = compare(kept.keep({b"d": {b"a": FILE}}), kept.keep({b"d": {b"a": SCRIPT}}), kept.load)

    assert change == Change(parts=(b"d", b"a"), before=FILE, after=SCRIPT)


def test_directories_that_are_equal_are_not_loaded():
    kept = Directories()
    same: Model = {bytes([65 + at]): {b"x": {b"y": FILE}} for at in range(20)}
    before, after = kept.keep({**same, b"d": {b"a": FILE}}), kept.keep({**same, b"d": {b"a": OTHER}})

    assert len(list(compare(before, after, kept.load))) == 1

    assert len(kept.loaded) == 4


def test_equal_trees_are_not_loaded_at_all():
    kept = Directories()
    root = kept.keep({b"d": {b"a": FILE}})

    assert list(compare(root, root, kept.load)) == []
    assert kept.loaded == []


def test_trees_deeper_than_the_stack_are_compared():
    kept = Directories()
    drafts = [Draft(kept.load), Draft(kept.load)]
    parts = (b"d",) * 2000
    for edited, entry in zip(drafts, (FILE, OTHER), strict=True):
        edited.put((*parts, b"a"), entry)

    before, after = (edited.save(kept.save) for edited in drafts)

    assert [change.parts for change in compare(before, after, kept.load)] == [(*parts, b"a")]
