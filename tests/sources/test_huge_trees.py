"""Trees of a size that finds out what is quadratic, what is in memory at once, and what takes room for nothing."""

from __future__ import annotations

import filecmp
import os
import tracemalloc
from typing import TYPE_CHECKING, Final

import pytest

from reeval_build.digest import TREE, Digest
from reeval_build.engines.fake.restore import restore
from reeval_build.sources.local_trees import LocalDirectories
from reeval_build.state.state import PlacedTree, State
from reeval_build.stores.local import LocalStore
from reeval_build.tree.directory import decode
from tests.sources.conftest import knowing_nothing
from tests.support.torture import TIMES

if TYPE_CHECKING:
    from pathlib import Path

MIB: Final = 1024 * 1024
ENTRIES: Final = min(100_000, 4_000 * TIMES)
HOLE_BYTES: Final = min(1024 * MIB, 128 * MIB * TIMES)


def there_and_back(place: Path) -> tuple[Path, Path]:
    """The store that `place / "tree"` was read into, and what was written of it, which is read as the same."""
    with LocalStore(place / "store") as store:
        directories = LocalDirectories(store.objects, knowing_nothing())
        with store.objects.batch() as batch:
            tree = directories.read(str(place / "tree"), batch)
        (place / "sandbox").mkdir()
        state = State(Digest(bytes(32)), (PlacedTree(at=(b"workspace",), tree=tree, replaces=True),))
        restore(state, os.fsencode(place / "sandbox"), [(b"workspace",)], store.objects)
        with store.objects.batch() as batch:
            assert directories.read(str(place / "sandbox/workspace"), batch) == tree
        for entry in decode(store.objects.read(TREE, tree)).values():
            assert store.objects.present([entry.content]) == {entry.content}
    return place / "store", place / "sandbox/workspace"


@pytest.mark.torture
def test_a_directory_may_have_any_number_of_entries(tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    tree.mkdir()
    for number in range(ENTRIES):
        (tree / f"{number:x}").write_bytes(b"%d" % (number % 1000))

    _store, written = there_and_back(tmp_path)

    assert sum(1 for _ in written.iterdir()) == ENTRIES
    assert (written / "1f").read_bytes() == b"31"


@pytest.mark.torture
def test_a_file_with_a_hole_takes_no_more_room_in_the_store_than_what_is_in_it(tmp_path: Path) -> None:
    (tmp_path / "tree").mkdir()
    with (tmp_path / "tree/hole").open("wb") as stream:
        stream.write(b"begin")
        stream.truncate(HOLE_BYTES)
        stream.seek(HOLE_BYTES - 3)
        stream.write(b"end")

    tracemalloc.start()
    store, written = there_and_back(tmp_path)
    _now, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert sum(path.stat().st_blocks * 512 for path in store.rglob("*") if path.is_file()) < HOLE_BYTES / 100
    assert peak < HOLE_BYTES / 4
    assert (written / "hole").stat().st_size == HOLE_BYTES
    with (written / "hole").open("rb") as stream:
        assert stream.read(6) == b"begin\0"
        stream.seek(-4, os.SEEK_END)
        assert stream.read() == b"\0end"


@pytest.mark.torture
def test_a_large_file_is_never_in_memory_at_once(tmp_path: Path) -> None:
    size = HOLE_BYTES // 4
    (tmp_path / "tree").mkdir()
    with (tmp_path / "tree/large").open("wb") as stream:
        for _ in range(size // MIB):
            stream.write(os.urandom(MIB))

    tracemalloc.start()
    _store, written = there_and_back(tmp_path)
    _now, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert peak < size / 2
    assert filecmp.cmp(tmp_path / "tree/large", written / "large", shallow=False)
