"""Whether everything that an output names can be read."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from reeval_build.digest import BLOB, Digest
from reeval_build.execute import trees
from reeval_build.plan.outputs import Output, SnapshotOutput, StateOutput, TreeOutput
from reeval_build.ports.objects import LostObjectError, Objects
from reeval_build.state.state import PlacedTree, State
from reeval_build.tree.directory import Kind, walk

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


def is_whole(output: Output, objects: Objects) -> LostObjectError | None:
    """None when every object of `output` is there and right, else what is wrong with the first that is not.

    All are read, not only up to that one: the store drops each that it finds wrong, and so keeps it when it comes
    again.
    """
    reader = _Reader(objects)
    match output:
        case TreeOutput(workspace=workspace, home=home):
            reader.read_trees((workspace, home))
        case StateOutput(state=state):
            reader.read_state(state)
        case SnapshotOutput(state=state, baseline=baseline, placed=placed):
            reader.read_state(state)
            reader.read_trees((baseline, placed))
    return reader.lost


class _Reader:
    """Reads objects, each once, and remembers the first that is lost."""

    def __init__(self, objects: Objects) -> None:
        self._objects = objects
        self._seen: set[Digest] = set()
        self.lost: LostObjectError | None = None

    def read_state(self, state: State) -> None:
        for delta in state.deltas:
            if isinstance(delta, PlacedTree):
                self.read_trees((delta.tree,))
            else:
                with self._noting_loss():
                    for entry in trees.load_delta(self._objects, delta):
                        self._read_blob(entry.digest)

    def read_trees(self, roots: Iterable[Digest | None]) -> None:
        for root in roots:
            if root is not None:
                with self._noting_loss():
                    for _parts, entry in walk(root, trees.loader(self._objects)):
                        if entry.kind in {Kind.FILE, Kind.EXECUTABLE}:
                            self._read_blob(entry.content)

    def _read_blob(self, digest: Digest | None) -> None:
        if digest is not None and digest not in self._seen:
            self._seen.add(digest)
            with self._noting_loss(), self._objects.open(BLOB, digest):
                pass

    @contextmanager
    def _noting_loss(self) -> Iterator[None]:
        try:
            yield
        except LostObjectError as lost:
            self.lost = self.lost or lost
