"""Writes down the cells of a build that ended."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reeval_build.errors import InfraError
from reeval_build.plan.recording import NodeEnd, cell_record
from reeval_build.ports.events import CellNotRecorded

if TYPE_CHECKING:
    from collections.abc import Iterator

    from reeval_build.execute.outcome import Outcome
    from reeval_build.plan.graph import PlannedCell
    from reeval_build.plan.record import CellRecord
    from reeval_build.ports.cells import Cells
    from reeval_build.ports.events import Listener


def records_of(outcome: Outcome) -> Iterator[tuple[PlannedCell, CellRecord]]:
    """The records of those cells that did not fail."""
    ends = {
        recipe: NodeEnd(status=ended.status.value, seconds=ended.seconds) for recipe, ended in outcome.results.items()
    }
    for planned in outcome.graph.cells:
        result = outcome.results[planned.snapshot]
        if result.output is not None and all(outcome.results[top].problem is None for top in planned.tops):
            snapshot = result.output if result.is_kept else None
            yield planned, cell_record(planned, outcome.graph, snapshot, ends)


def keep_records(outcome: Outcome, cells: Cells, listen: Listener) -> None:
    """Keep the record of each cell whose snapshot is kept."""
    for planned, record in records_of(outcome):
        if outcome.results[planned.snapshot].is_kept:
            try:
                cells.keep(record)
            except InfraError as problem:
                # The snapshot is recorded, which is what counts; the next build writes this down.
                listen(CellNotRecorded(cell=planned.cell.name, problem=str(problem)))
