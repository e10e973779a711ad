"""Gives up what a run was given of a store as soon as nothing of the run needs it any more."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Set  # noqa: PYI025 - an abstract one

    from reeval_build.digest import Digest
    from reeval_build.plan.graph import Graph
    from reeval_build.ports.records import Records


class Holding:
    """The records that nodes of a run were given, by recipe key; those of `kept` are never given up.

    A record is needed until its node has ended and with it every node that stands on it: what is further below names
    all that it needs itself.
    """

    def __init__(self, graph: Graph, records: Records, *, kept: Set[Digest]) -> None:
        self._graph = graph
        self._records = records
        self._kept = kept
        self._keys: dict[Digest, list[Digest]] = {}
        self._ended: set[Digest] = set()
        self._needed_by = Counter(parent.recipe for node in graph.nodes.values() for parent in node.parents)
        self._touched: set[Digest] = set()

    def given(self, recipe: Digest, key: Digest) -> None:
        """Note that the record of `key` was found or published for a node."""
        self._keys.setdefault(recipe, []).append(key)
        self._touched.add(recipe)

    def end(self, recipe: Digest) -> None:
        """Note that a node ended."""
        if recipe not in self._ended:
            self._ended.add(recipe)
            self._count(recipe, -1)

    def begin_again(self, recipe: Digest) -> None:
        """Note that a node is to be built after all, whether it had ended or not."""
        if recipe in self._ended:
            self._ended.discard(recipe)
            self._count(recipe, 1)

    def let_go(self) -> None:
        """Give up what nothing needs any more."""
        over = [recipe for recipe in self._touched if recipe in self._keys and self._is_over(recipe)]
        self._touched.clear()
        if over:
            self._records.give_up([key for recipe in over for key in self._keys.pop(recipe)])

    def _is_over(self, recipe: Digest) -> bool:
        return recipe in self._ended and recipe not in self._kept and self._needed_by[recipe] == 0

    def _count(self, recipe: Digest, change: int) -> None:
        self._touched.add(recipe)
        for parent in self._graph.nodes[recipe].parents:
            self._needed_by[parent.recipe] += change
            self._touched.add(parent.recipe)
