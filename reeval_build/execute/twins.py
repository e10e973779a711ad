"""Looks in what a node places for names that some file systems take for one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reeval_build.execute import trees
from reeval_build.plan.outputs import StateOutput, TreeOutput
from reeval_build.plan.work import RootWork, SkillsWork
from reeval_build.state.state import PlacedTree
from reeval_build.tree.twins import twins_below

if TYPE_CHECKING:
    from collections.abc import Iterator

    from reeval_build.digest import Digest
    from reeval_build.paths import Parts
    from reeval_build.plan.outputs import Output
    from reeval_build.plan.work import Work
    from reeval_build.ports.objects import Objects


def placed_twins(work: Work, output: Output, objects: Objects) -> tuple[tuple[Parts, ...], ...]:
    """Every group of twins in what a node put together, each by its path in the workspace or the home directory.

    Only where things meet: the workspace with files, rules and plugins, and skills. So it is looked for when something
    of that changed, and never in a build that has nothing to do.
    """
    load = trees.loader(objects)
    return tuple(
        tuple((*above, name) for name in group)
        for tree in _placed(work, output)
        for above, group in twins_below(tree, load)
    )


def _placed(work: Work, output: Output) -> Iterator[Digest]:
    match work, output:
        case RootWork(), StateOutput(state=state):
            yield from (delta.tree for delta in state.deltas if isinstance(delta, PlacedTree))
        case SkillsWork(), TreeOutput(workspace=workspace, home=home):
            yield from (tree for tree in (workspace, home) if tree is not None)
