"""Looks in what a node places for names that some file systems take for one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from reeval_build.content.facts import Fact, question
from reeval_build.digest import Domain
from reeval_build.execute import trees
from reeval_build.plan.outputs import StateOutput, TreeOutput
from reeval_build.plan.work import RootWork, SkillsWork
from reeval_build.state.state import PlacedTree
from reeval_build.tree.twins import twins_below

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from reeval_build.content.facts import Facts
    from reeval_build.digest import Digest
    from reeval_build.paths import Parts
    from reeval_build.plan.outputs import Output
    from reeval_build.plan.work import Work
    from reeval_build.ports.objects import Objects

NO_TWINS: Final = Domain("fact no twins", 1)
"""Its number changes when the rules of which names are twins do."""


def placed_twins(work: Work, output: Output, objects: Objects, facts: Facts) -> tuple[tuple[Parts, ...], ...]:
    """Every group of twins in what a node put together, each by its path in the workspace or the home directory.

    Only where things meet: the workspace with files, rules and plugins, and skills. So it is looked for when something
    of that changed, and never in a build that has nothing to do; and then only in directories that are new, for of
    others it is among the `facts` that there are none.
    """
    load = trees.loader(objects)
    groups: list[tuple[Parts, ...]] = []
    for tree in _placed(work, output):
        found = twins_below(tree, load, lambda digests: _without(digests, facts))
        facts.keep(Fact(question=question(NO_TWINS, digest), about=digest, answer=b"") for digest in found.without)
        groups += (tuple((*above, name) for name in group) for above, group in found.groups)
    return tuple(groups)


def _without(digests: Collection[Digest], facts: Facts) -> set[Digest]:
    """The directories of which it is known that nothing in or below them has a twin."""
    questions = {question(NO_TWINS, digest): digest for digest in digests}
    return {questions[asked] for asked in facts.known(questions)}


def _placed(work: Work, output: Output) -> Iterator[Digest]:
    match work, output:
        case RootWork(), StateOutput(state=state):
            yield from (delta.tree for delta in state.deltas if isinstance(delta, PlacedTree))
        case SkillsWork(), TreeOutput(workspace=workspace, home=home):
            yield from (tree for tree in (workspace, home) if tree is not None)
