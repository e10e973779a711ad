from __future__ import annotations

from reeval_build.digest import BLOB
from reeval_build.state.delta import DeltaEntry, DeltaKind
from reeval_build.state.placed import PLACED_MTIME_S, placed_entries
from reeval_build.state.state import PlacedTree
from reeval_build.tree.directory import Entry
from tests.support.directories import Directories, Model

ONE = BLOB.digest(b"one")


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
