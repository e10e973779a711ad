"""Hostile trees in containers: what is placed there is what was read."""

from __future__ import annotations

import io
import os
import tarfile
from contextlib import closing
from typing import TYPE_CHECKING, Final

import pytest

from reeval_build.digest import BLOB, TREE
from reeval_build.errors import InfraError
from reeval_build.paths import display
from reeval_build.state.state import PlacedTree
from reeval_build.tree.directory import Entry, Kind, encode
from reeval_build.tree.draft import Draft
from tests.support.hostile_trees import TREES, HostileTree, Shown, kept
from tests.support.workbench import Workbench

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from reeval_build.state.state import State
    from tests.support.engine import PrivateEngine

PLACED: Final = [tree for tree in TREES if tree.outcome is None and tree.refused_on_writing is None]
_KINDS: Final = {tarfile.DIRTYPE: Kind.DIRECTORY, tarfile.SYMTYPE: Kind.SYMLINK}


@pytest.fixture
def bench(engine: PrivateEngine, tmp_path: Path) -> Iterator[Workbench]:
    with closing(Workbench(engine.url, tmp_path)) as made:
        yield made


def place(bench: Workbench, image: str, trees: list[HostileTree]) -> State:
    """The image with these trees below /placed, each in a directory that is called by its number."""
    with bench.objects.batch() as batch:
        draft = Draft(lambda _digest: {})
        for at, tree in enumerate(trees):
            for path, (kind, data) in kept(*tree.things).items():
                parts = (b"%d" % at, *path.split(b"/"))
                if kind is Kind.DIRECTORY:
                    draft.make_directory(parts)
                elif kind is Kind.SYMLINK:
                    draft.put(parts, Entry.symlink(data or b""))
                else:
                    content = batch.add(BLOB, data or b"")
                    draft.put(parts, Entry.file(content, len(data or b""), executable=kind is Kind.EXECUTABLE))
        root = draft.save(lambda entries: batch.add(TREE, encode(entries)))
    return bench.base(image).on_top(PlacedTree(at=(b"placed",), tree=root, replaces=True))


def found(bench: Workbench, state: State) -> Shown:
    """What a container of a state has below /placed."""
    result = bench.run(state, "tar -C /placed -cf - .")
    assert result.code == 0, result.stderr
    shown: Shown = {}
    with tarfile.open(fileobj=io.BytesIO(result.stdout), encoding="utf-8", errors="surrogateescape") as archive:
        for member in archive:
            data = archive.extractfile(member) if member.isfile() or member.islnk() else None
            content = os.fsencode(member.linkname) if member.issym() else None if data is None else data.read()
            kind = _KINDS.get(member.type, Kind.EXECUTABLE if member.mode & 0o100 else Kind.FILE)
            shown[os.fsencode(member.name).removeprefix(b"./")] = kind, content
    shown.pop(b".", None)
    return shown


@pytest.mark.conforms("fault 39")
def test_hostile_trees_are_in_a_container_as_they_were_read(bench: Workbench, engine: PrivateEngine) -> None:
    expected: Shown = {}
    for at, tree in enumerate(PLACED):
        expected |= {b"%d" % at: (Kind.DIRECTORY, None)}
        expected |= {b"%d/%s" % (at, path): what for path, what in kept(*tree.things).items()}

    shown = found(bench, place(bench, engine.busybox, PLACED))

    assert shown == expected


@pytest.mark.parametrize("tree", [tree for tree in TREES if tree.refused_on_writing], ids=lambda tree: tree.name)
def test_a_path_that_no_container_can_have_is_refused_with_a_part_of_it(
    bench: Workbench, engine: PrivateEngine, tree: HostileTree
) -> None:
    state = place(bench, engine.busybox, [tree])

    with pytest.raises(InfraError) as caught:
        found(bench, state)

    assert tree.refused_on_writing is not None
    assert f"placed/0/{display(tree.refused_on_writing.path)}" in caught.value.message
    assert len(caught.value.message) < 1000
