"""Steps that declare what they read: the state that they see, and the whole that they leave."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reeval_build.errors import InfraError
from reeval_build.execute import trees
from reeval_build.paths import PathError, split
from reeval_build.plan.labels import shorten
from reeval_build.state.narrow import on_the_whole, outside, selected
from reeval_build.state.state import PlacedTree, State, StepDelta
from reeval_build.state.workspace import tree_at

if TYPE_CHECKING:
    from collections.abc import Iterable

    from reeval_build.digest import Digest
    from reeval_build.paths import Parts
    from reeval_build.plan.work import InputsWork, MergeWork
    from reeval_build.ports.objects import Objects
    from reeval_build.state.state import Delta


class MissingInputError(InfraError):
    """A step declares a path that the workspace does not have when its turn comes."""

    def __init__(self, run: str, path: str, reason: str) -> None:
        super().__init__(
            f'the input "{path}" of the setup step "{shorten(run)}" {reason}',
            hint="what steps before it make is there, and so are files and rules",
        )
        self.run, self.path = run, path


def narrowed(work: InputsWork, state: State, objects: Objects) -> State:
    """`state` with nothing in the workspace but the declared inputs: as a list of deltas, it depends on nothing else.

    Raises:
        MissingInputError: when one of them is not there.
    """
    load = trees.loader(objects)
    whole = _workspace(state, work.at, objects)
    try:
        tree = selected(whole, map(_parts, work.inputs), load)
    except PathError as error:
        raise MissingInputError(work.run, error.path, error.reason) from error
    deltas = [kept for delta in state.deltas for kept in _outside(delta, work.at, objects)]
    with objects.batch() as batch:
        placed = PlacedTree(at=work.at, tree=tree.save(trees.saver(batch)), replaces=True)
    return State(state.base, (*deltas, placed), state.env)


def merged(work: MergeWork, whole: State, seen: State, left: State, objects: Objects) -> State:
    """`whole`, once what a step did to `seen`, which it left as `left`, is put on it."""
    *_, step = left.deltas
    *_, placed = seen.deltas
    assert left == seen.on_top(step), "a step leaves one delta on what it saw"
    assert isinstance(step, StepDelta), "a step leaves the delta of a step"
    assert isinstance(placed, PlacedTree), "the inputs of a step are placed last"
    entries = on_the_whole(
        trees.load_delta(objects, step),
        work.at,
        seen=placed.tree,
        whole=_workspace(whole, work.at, objects),
        load=trees.loader(objects),
    )
    with objects.batch() as batch:
        return whole.on_top(trees.save_delta(batch, entries))


def _parts(path: str) -> Parts:
    return split(path.encode("utf-8"))


def _workspace(state: State, at: Parts, objects: Objects) -> Digest:
    draft = tree_at(state, at, trees.loader(objects), lambda delta: trees.load_delta(objects, delta))
    with objects.batch() as batch:
        return draft.save(trees.saver(batch))


def _outside(delta: Delta, at: Parts, objects: Objects) -> Iterable[Delta]:
    """What a delta is without the workspace: nothing, when it is about nothing else."""
    if isinstance(delta, PlacedTree):
        return [] if delta.at == at else [delta]
    entries = trees.load_delta(objects, delta)
    kept = outside(at, entries)
    if len(kept) == len(entries):
        return [delta]
    if not kept:
        return []
    with objects.batch() as batch:
        return [trees.save_delta(batch, kept)]
