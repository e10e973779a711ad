"""How a build ended."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import attrs

from reeval_build.digest import Digest
from reeval_build.errors import InfraError
from reeval_build.plan.graph import Graph
from reeval_build.plan.outputs import Output
from reeval_build.ports.events import Status

if TYPE_CHECKING:
    from collections.abc import Iterable


@attrs.frozen(kw_only=True)
class NodeResult:
    """How a node ended; `output` is what it left, when it left something.

    One that is private has the value of a secret in it, or stands on one that has: it is gone after the command.
    """

    status: Status
    seconds: float = 0.0
    output: Output | None = None
    problem: InfraError | None = None
    log: str | None = None
    is_private: bool = False

    @property
    def is_kept(self) -> bool:
        """Whether the next build finds it."""
        return self.status in {Status.HIT, Status.RAN} and not self.is_private


@attrs.frozen(kw_only=True)
class Outcome:
    """How every node of a graph ended, by recipe key, and how long the whole took."""

    graph: Graph
    results: Mapping[Digest, NodeResult]
    seconds: float

    def count(self, status: Status) -> int:
        """How many nodes ended so."""
        return sum(result.status is status for result in self.results.values())


def cell_status(outcome: Outcome, recipes: Iterable[Digest]) -> Status:
    """How a cell ended, from how its nodes did."""
    statuses = {outcome.results[recipe].status for recipe in recipes}
    for status in (Status.FAILED, Status.SKIPPED, Status.RAN):
        if status in statuses:
            return status
    return Status.HIT
