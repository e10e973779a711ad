"""Which nodes a build waits for longest, from how long their work took before."""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs

if TYPE_CHECKING:
    from collections.abc import Mapping

    from reeval_build.digest import Digest
    from reeval_build.plan.graph import Graph


@attrs.frozen(order=True)
class Urgency:
    """The longest way from a node to one that nothing stands on, both included: in seconds, and in nodes."""

    seconds: float
    nodes: int


def urgency_of(graph: Graph, expected: Mapping[Digest, float]) -> dict[Digest, Urgency]:
    """How urgent each node is. `expected` has the seconds that nodes will take, by recipe key; others take none."""
    urgency: dict[Digest, Urgency] = {}
    ahead = dict.fromkeys(graph.nodes, Urgency(0.0, 0))
    for recipe in reversed(list(graph.nodes)):
        longest = ahead[recipe]
        urgency[recipe] = Urgency(longest.seconds + expected.get(recipe, 0.0), longest.nodes + 1)
        for parent in graph.nodes[recipe].parents:
            ahead[parent.recipe] = max(ahead[parent.recipe], urgency[recipe])
    return urgency
