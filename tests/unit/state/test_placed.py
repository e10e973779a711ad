from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from reeval_build.digest import BLOB
from reeval_build.state.delta import DeltaEntry, DeltaKind
from reeval_build.state.placed import PLACED_MTIME_S, changed_entries, placed_entries
from reeval_build.state.state import PlacedTree
from reeval_build.tree.directory import Entry
from tests.support.directories import Directories, Model

ONE = BLOB.digest(b"one")

leaves = st.one_of(
    st.builds(Entry.file, st.sampled_from([ONE, BLOB.digest(b"two")]), st.just(3), executable=st.booleans()),
    st.sampled_from([b"a", b"b"]).map(Entry.symlink),
)
models = st.recursive(
    st.dictionaries(st.sampled_from([b"a", b"b", b"c"]), leaves, max_size=3),
    lambda inner: st.dictionaries(st.sampled_from([b"a", b"b", b"c"]), st.one_of(leaves, inner), max_size=3),
    max_leaves=12,
)


def test_a_placed_tree_is_its_directories_and_files_with_fixed_modes_owners_and_times():
    kept = Directories()
    model: Model = {
        b"d": {b"x": Entry.file(ONE, 3, executable=True)},
        b"a": Entry.file(ONE, 3),
        b"l": Entry.symlink(b"a"),
    }
    placed = PlacedTree(at=(b"srv", b"work"), tree=kept.keep(model), replaces=True)

    entries = list(placed_entries(placed, kept.load))

    assert {entry.path: entry for entry in entries} == {
        b"srv": DeltaEntry(parts=(b"srv",), kind=DeltaKind.DIRECTORY, mode=0o755),
        b"srv/work": DeltaEntry(parts=(b"srv", b"work"), kind=DeltaKind.DIRECTORY, mode=0o755, opaque=True),
        b"srv/work/a": DeltaEntry(parts=(b"srv", b"work", b"a"), kind=DeltaKind.FILE, mode=0o644, digest=ONE, size=3),
        b"srv/work/d": DeltaEntry(parts=(b"srv", b"work", b"d"), kind=DeltaKind.DIRECTORY, mode=0o755),
        b"srv/work/d/x": DeltaEntry(
            parts=(b"srv", b"work", b"d", b"x"), kind=DeltaKind.FILE, mode=0o755, digest=ONE, size=3
        ),
        b"srv/work/l": DeltaEntry(
            parts=(b"srv", b"work", b"l"), kind=DeltaKind.SYMLINK, mode=0o777, size=1, target=b"a"
        ),
    }
    assert {entry.mtime_s for entry in entries} == {PLACED_MTIME_S}
    assert entries[0].parts == (b"srv",)


def test_a_tree_that_does_not_replace_hides_nothing():
    kept = Directories()
    placed = PlacedTree(at=(b"home",), tree=kept.keep({}), replaces=False)

    assert list(placed_entries(placed, kept.load)) == [
        DeltaEntry(parts=(b"home",), kind=DeltaKind.DIRECTORY, mode=0o755)
    ]


@given(before=models, after=models)
def test_what_changes_put_on_one_tree_gives_the_other(before: Model, after: Model) -> None:
    kept = Directories()
    placed = PlacedTree(at=(b"w",), tree=kept.keep(after), replaces=True)
    result: Model = {b"w": before}

    for entry in changed_entries(kept.keep(before), placed, kept.load):
        above: Model = result
        for name in entry.parts[:-1]:
            above = directory_at(above, name)
        put(above, entry)

    assert result == {b"w": after}


def directory_at(model: Model, name: bytes) -> Model:
    below = model[name]
    assert isinstance(below, dict), "a directory comes before what is in it"
    return below


def put(above: Model, entry: DeltaEntry) -> None:
    """As a layer is put on another one."""
    name = entry.parts[-1]
    if entry.kind is DeltaKind.DELETED:
        del above[name]
    elif entry.kind is DeltaKind.DIRECTORY:
        assert (entry.mode, entry.opaque) == (0o755, False)
        if not isinstance(above.get(name), dict):
            above[name] = {}
    elif entry.target is not None:
        above[name] = Entry.symlink(entry.target)
    else:
        above[name] = Entry.file(entry.content, entry.size, executable=entry.mode == 0o755)


def test_directories_that_are_equal_are_not_read():
    kept = Directories()
    large: Model = {b"x": {b"y": Entry.file(ONE, 3)}}
    before, after = kept.keep({b"large": large}), kept.keep({b"large": large, b"new": Entry.file(ONE, 3)})

    entries = list(changed_entries(before, PlacedTree(at=(b"w",), tree=after, replaces=True), kept.load))

    assert [entry.path for entry in entries] == [b"w", b"w/new"]
    assert kept.loaded == [before, after]
