from __future__ import annotations

import pytest

from reeval_build.digest import BLOB
from reeval_build.state.delta import DeltaEntry, DeltaKind
from reeval_build.state.state import PlacedTree, State, StepDelta
from reeval_build.state.workspace import apply_entries, tree_at
from reeval_build.tree.directory import Entry
from reeval_build.tree.draft import Draft
from tests.support.directories import Directories, Model

BASE = BLOB.digest(b"base")
ONE, TWO = BLOB.digest(b"one"), BLOB.digest(b"two")
FILE, OTHER = Entry.file(ONE, 3), Entry.file(TWO, 3)
PLACE = (b"srv", b"work")


def said(path: bytes, kind: DeltaKind, **more) -> DeltaEntry:
    return DeltaEntry(parts=tuple(path.split(b"/")), kind=kind, **more)


def written(path: bytes, mode: int = 0o644) -> DeltaEntry:
    return said(path, DeltaKind.FILE, mode=mode, digest=TWO, size=3)


def directory(path: bytes, *, opaque: bool = False) -> DeltaEntry:
    return said(path, DeltaKind.DIRECTORY, mode=0o755, opaque=opaque)


def applied(before: Model, *entries: DeltaEntry) -> Model:
    kept = Directories()
    draft = Draft(kept.load, kept.keep(before))
    apply_entries(draft, PLACE, entries)
    return kept.read(draft.save(kept.save))


def test_a_file_that_was_written_is_there():
    assert applied({b"a": FILE}, written(b"srv/work/b")) == {b"a": FILE, b"b": OTHER}


def test_a_file_that_was_written_again_is_the_new_one():
    assert applied({b"a": FILE}, written(b"srv/work/a")) == {b"a": OTHER}


@pytest.mark.parametrize(
    ("mode", "executable"),
    [(0o755, True), (0o700, True), (0o100, True), (0o644, False), (0o611, False), (0o4655, False)],
)
def test_only_the_owners_execute_bit_makes_a_file_executable(mode, executable):
    assert applied({}, written(b"srv/work/a", mode)) == {b"a": Entry.file(TWO, 3, executable=executable)}


def test_a_hard_link_is_a_file_of_its_own():
    link = said(b"srv/work/a", DeltaKind.HARD_LINK, mode=0o755, digest=TWO, size=3, target=b"elsewhere")

    assert applied({}, link) == {b"a": Entry.file(TWO, 3, executable=True)}


def test_a_symbolic_link_is_kept_as_it_is_written():
    assert applied({b"a": FILE}, said(b"srv/work/a", DeltaKind.SYMLINK, target=b"/abs")) == {
        b"a": Entry.symlink(b"/abs")
    }


def test_a_deleted_file_or_directory_is_gone():
    before: Model = {b"a": FILE, b"d": {b"x": FILE}, b"k": FILE}

    assert applied(before, said(b"srv/work/a", DeltaKind.DELETED), said(b"srv/work/d", DeltaKind.DELETED)) == {
        b"k": FILE
    }


def test_deleting_what_is_not_there_changes_nothing():
    assert applied({b"a": FILE}, said(b"srv/work/n/m", DeltaKind.DELETED)) == {b"a": FILE}


def test_a_directory_entry_keeps_what_is_in_it_and_an_opaque_one_hides_it():
    before: Model = {b"d": {b"x": FILE}, b"o": {b"x": FILE}}

    assert applied(before, directory(b"srv/work/d"), directory(b"srv/work/o", opaque=True)) == {
        b"d": {b"x": FILE},
        b"o": {},
    }


def test_what_comes_with_an_opaque_directory_is_in_it():
    before: Model = {b"o": {b"x": FILE, b"y": FILE}}

    assert applied(before, directory(b"srv/work/o", opaque=True), written(b"srv/work/o/y")) == {b"o": {b"y": OTHER}}


def test_a_file_becomes_a_directory_and_back():
    file_first: Model = {b"a": FILE}
    directory_first: Model = {b"a": {b"x": FILE}}

    assert applied(file_first, directory(b"srv/work/a"), written(b"srv/work/a/x")) == {b"a": {b"x": OTHER}}
    assert applied(directory_first, written(b"srv/work/a")) == {b"a": OTHER}


@pytest.mark.parametrize("kind", [DeltaKind.FIFO, DeltaKind.CHARACTER_DEVICE, DeltaKind.BLOCK_DEVICE])
def test_a_fifo_or_device_in_place_of_a_file_leaves_nothing_in_the_tree(kind):
    assert applied({b"a": FILE, b"b": FILE}, said(b"srv/work/a", kind, device=(1, 3))) == {b"b": FILE}


@pytest.mark.parametrize("path", [b"a", b"srv/a", b"srv/workshop/a", b"srv/work2", b"home/a", b"srv/wor"])
def test_what_happened_elsewhere_does_not_show(path):
    assert applied({b"a": FILE}, written(path)) == {b"a": FILE}


@pytest.mark.parametrize("path", [b"srv", b"srv/work"])
@pytest.mark.parametrize(
    "kind", [DeltaKind.DELETED, DeltaKind.FILE, DeltaKind.SYMLINK, DeltaKind.FIFO], ids=lambda kind: kind.name
)
def test_a_place_that_is_no_longer_a_directory_is_empty(path, kind):
    entry = said(path, kind, digest=TWO, size=3, target=b"x")

    assert applied({b"a": FILE}, entry) == {}


@pytest.mark.parametrize("path", [b"srv", b"srv/work"])
def test_a_directory_above_or_at_the_place_empties_it_only_when_it_is_opaque(path):
    assert applied({b"a": FILE}, directory(path)) == {b"a": FILE}
    assert applied({b"a": FILE}, directory(path, opaque=True)) == {}


def test_a_place_that_was_deleted_and_made_again_has_what_was_made():
    entries = [directory(b"srv/work", opaque=True), written(b"srv/work/b")]

    assert applied({b"a": FILE}, *entries) == {b"b": OTHER}


@pytest.fixture
def kept() -> Directories:
    return Directories()


def placed(kept: Directories, model: Model, *, at=PLACE, replaces=True) -> PlacedTree:
    return PlacedTree(at=at, tree=kept.keep(model), replaces=replaces)


def tree(kept: Directories, *deltas, steps=()) -> Model:
    written_by = dict(steps)
    draft = tree_at(State(BASE, deltas), PLACE, kept.load, lambda delta: written_by[delta.delta])
    return kept.read(draft.save(kept.save))


def test_a_state_without_a_placed_tree_has_nothing_there(kept):
    assert tree(kept) == {}


def test_a_tree_that_replaces_is_all_there_is(kept):
    assert tree(kept, placed(kept, {b"a": FILE}), placed(kept, {b"b": FILE})) == {b"b": FILE}


def test_a_tree_that_does_not_replace_is_put_over(kept):
    over = placed(kept, {b"b": OTHER, b"c": OTHER}, replaces=False)

    assert tree(kept, placed(kept, {b"a": FILE, b"b": FILE}), over) == {b"a": FILE, b"b": OTHER, b"c": OTHER}


def test_a_tree_that_is_placed_elsewhere_does_not_show(kept):
    elsewhere = placed(kept, {b"x": FILE}, at=(b"home",))

    assert tree(kept, placed(kept, {b"a": FILE}), elsewhere) == {b"a": FILE}


def test_deltas_count_in_their_order(kept):
    first, second = StepDelta(delta=ONE, times=ONE), StepDelta(delta=TWO, times=ONE)
    steps = {ONE: [written(b"srv/work/b"), written(b"srv/work/c")], TWO: [said(b"srv/work/b", DeltaKind.DELETED)]}

    assert tree(kept, placed(kept, {b"a": FILE}), first, second, steps=steps) == {b"a": FILE, b"c": OTHER}
    assert tree(kept, placed(kept, {b"a": FILE}), second, first, steps=steps) == {
        b"a": FILE,
        b"b": OTHER,
        b"c": OTHER,
    }
    assert tree(kept, first, placed(kept, {b"a": FILE}), steps=steps) == {b"a": FILE}


def test_a_tree_none_of_whose_files_a_step_touched_is_the_placed_one(kept):
    root = placed(kept, {b"a": FILE, b"d": {b"x": FILE}})
    step = StepDelta(delta=ONE, times=ONE)

    draft = tree_at(State(BASE, (root, step)), PLACE, kept.load, lambda _delta: [written(b"home/x")])

    assert draft.save(kept.save) == root.tree
    assert kept.saved == []
