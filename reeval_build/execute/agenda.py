"""What is still to be done of a graph, and what of that comes next; it does nothing itself."""

from __future__ import annotations

import heapq
from functools import cached_property
from typing import TYPE_CHECKING, Final, TypeAlias

from reeval_build.plan.urgency import urgency_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from reeval_build.digest import Digest
    from reeval_build.plan.graph import Graph, Node
    from reeval_build.plan.urgency import Urgency

# How urgent, its place in the graph, and what: the first in order comes first.
_Ready: TypeAlias = "tuple[float, int, int, Digest]"


class Agenda:
    """Nodes that are to be done, by their recipe keys.

    One is ready when none of its parents is to be done, or is being done. Of those that are ready the one comes first
    on which the longest work waits.

    Args:
        graph: whose nodes they are.
        expected: how many seconds nodes will take, by recipe key.
        ends_first: have the one come first after which the fewest nodes are left, so that little is in hand at a time.
    """

    def __init__(self, graph: Graph, expected: Mapping[Digest, float], *, ends_first: bool = False) -> None:
        self._graph = graph
        self._nodes: Final = graph.nodes
        self._expected = expected
        self._ends_first = ends_first
        self._place = {recipe: place for place, recipe in enumerate(graph.nodes)}
        self._above: dict[Digest, list[Digest]] = {recipe: [] for recipe in graph.nodes}
        for recipe, node in graph.nodes.items():
            for parent in node.parents:
                self._above[parent.recipe].append(recipe)
        self._lacks: dict[Digest, set[Digest]] = {}
        self._begun: set[Digest] = set()
        self._ready: list[_Ready] = []

    def __len__(self) -> int:
        """How many nodes are to be done and not begun."""
        return len(self._lacks)

    def __contains__(self, recipe: Digest) -> bool:
        """Whether a node is to be done, or is being done."""
        return recipe in self._lacks or recipe in self._begun

    def put(self, recipe: Digest) -> None:
        """Have a node done, also when it was begun before; what stands on it and is not begun waits for it."""
        self._begun.discard(recipe)
        parents = {parent.recipe for parent in self._nodes[recipe].parents}
        self._lacks[recipe] = {parent for parent in parents if parent in self}
        self._may_be_ready(recipe)
        for above in self._above[recipe]:
            if above in self._lacks:
                self._lacks[above].add(recipe)

    def take(self, may_begin: Callable[[Node], bool]) -> Digest | None:
        """Begin the most urgent of the nodes that are ready and `may_begin`; None when there is none."""
        held: list[_Ready] = []
        taken = None
        while self._ready and taken is None:
            entry = heapq.heappop(self._ready)
            recipe = entry[-1]
            # One that had to wait again since, or was begun, is there once more than it should be.
            if self._lacks.get(recipe, {recipe}):
                continue
            if may_begin(self._nodes[recipe]):
                taken = recipe
            else:
                held.append(entry)
        for entry in held:
            heapq.heappush(self._ready, entry)
        if taken is not None:
            del self._lacks[taken]
            self._begun.add(taken)
        return taken

    def end(self, recipe: Digest) -> None:
        """Strike off a node that is done, or never will be."""
        self._lacks.pop(recipe, None)
        self._begun.discard(recipe)
        for above in self._above[recipe]:
            if recipe in self._lacks.get(above, ()):
                self._lacks[above].discard(recipe)
                self._may_be_ready(above)

    @cached_property
    def _urgency(self) -> Mapping[Digest, Urgency]:
        """Found out when there is something to do."""
        return urgency_of(self._graph, self._expected)

    def _may_be_ready(self, recipe: Digest) -> None:
        if not self._lacks[recipe]:
            urgency = self._urgency[recipe]
            place = self._place[recipe]
            if self._ends_first:
                heapq.heappush(self._ready, (urgency.nodes, place, place, recipe))
            else:
                heapq.heappush(self._ready, (-urgency.seconds, -urgency.nodes, place, recipe))
