"""Whether everything that an output names can be read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reeval_build.digest import BLOB, Digest
from reeval_build.execute import trees
from reeval_build.plan.outputs import Output, SnapshotOutput, StateOutput, TreeOutput
from reeval_build.ports.objects import LostObjectError, Objects
from reeval_build.state.state import PlacedTree, State
from reeval_build.tree.directory import Kind, walk

if TYPE_CHECKING:
    from collections.abc import Iterable


def is_whole(output: Output, objects: Objects) -> LostObjectError | None:
    """None when every object of `output` is there and right, else what is wrong with the first that is not."""
    try:
        match output:
            case TreeOutput(workspace=workspace, home=home):
                _read_trees((workspace, home), objects)
            case StateOutput(state=state):
                _read_state(state, objects)
            case SnapshotOutput(state=state, baseline=baseline, placed=placed):
                _read_state(state, objects)
                _read_trees((baseline, placed), objects)
    except LostObjectError as lost:
        return lost
    return None


def _read_state(state: State, objects: Objects) -> None:
    for delta in state.deltas:
        if isinstance(delta, PlacedTree):
            _read_trees((delta.tree,), objects)
        else:
            for entry in trees.load_delta(objects, delta):
                if entry.digest is not None:
                    _read_blob(entry.digest, objects)


def _read_trees(roots: Iterable[Digest | None], objects: Objects) -> None:
    for root in roots:
        if root is not None:
            for _parts, entry in walk(root, trees.loader(objects)):
                if entry.kind in {Kind.FILE, Kind.EXECUTABLE}:
                    _read_blob(entry.content, objects)


def _read_blob(digest: Digest, objects: Objects) -> None:
    with objects.open(BLOB, digest):
        pass
