"""How a build ended."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from reeval_build.execute.outcome import cell_status
from reeval_build.plan.outputs import content_of
from reeval_build.ports.events import Status
from reeval_build.render.lists import some

if TYPE_CHECKING:
    from collections.abc import Mapping

    from reeval_build.errors import InfraError
    from reeval_build.execute.outcome import Outcome

_DIGITS = 3


def outcome_text(outcome: Outcome) -> str:
    """A line a cell, then the summary."""
    width = max((len(planned.cell.name) for planned in outcome.graph.cells), default=0)
    lines = [f"{cell['name']:<{width}}  {cell['status']:<8}{_snapshot(cell)}" for cell in _cells(outcome)]
    counts = ", ".join(f"{outcome.count(status)} {status.value}" for status in Status)
    return "\n".join([*lines, f"{counts} in {outcome.seconds:.2f} s"])


def outcome_json(outcome: Outcome) -> str:
    """One object: cells, nodes and the summary. The shape is in `docs/reference/json.md`."""
    cells_of = outcome.graph.cells_of
    nodes = [
        {
            "key": recipe.hex,
            "phase": node.phase,
            "label": node.label,
            "status": outcome.results[recipe].status.value,
            "kept": outcome.results[recipe].is_kept,
            "seconds": round(outcome.results[recipe].seconds, _DIGITS),
            "failure": _failure(outcome.results[recipe].problem),
            "cells": list(cells_of[recipe]),
        }
        for recipe, node in outcome.graph.nodes.items()
    ]
    summary = {status.value: outcome.count(status) for status in Status}
    return json.dumps(
        {"cells": _cells(outcome), "nodes": nodes, "summary": {**summary, "seconds": round(outcome.seconds, _DIGITS)}},
        indent=2,
    )


def failures(outcome: Outcome) -> list[str]:
    """A sentence for each node that failed: the files, the cells, what went wrong and where its output is."""
    cells_of = outcome.graph.cells_of
    files = {planned.cell.name: planned.cell.file for planned in outcome.graph.cells}
    return [
        f"{some(files[cell] for cell in cells_of[recipe])}: {some(cells_of[recipe])}: {result.problem}"
        for recipe, result in outcome.results.items()
        if result.problem is not None
    ]


def _failure(problem: InfraError | None) -> dict[str, str] | None:
    return None if problem is None else {"category": problem.category, "message": str(problem)}


def _snapshot(cell: Mapping[str, object]) -> object:
    return cell["snapshot"] or ("-" if cell["status"] in {"failed", "skipped"} else "not kept")


def _cells(outcome: Outcome) -> list[dict[str, str | bool | None]]:
    cells: list[dict[str, str | bool | None]] = []
    for planned in outcome.graph.cells:
        result = outcome.results[planned.snapshot]
        # Of what is private this would be a hash of a secret's value.
        output = result.output if result.is_kept else None
        cells.append(
            {
                "name": planned.cell.name,
                "environment": planned.cell.environment.name,
                "harness": planned.cell.harness.kind,
                "sandbox": planned.cell.sandbox_id,
                "key": planned.key.hex,
                "snapshot": None if output is None else content_of(output).hex,
                "status": cell_status(outcome, outcome.graph.nodes_of(planned)).value,
                "kept": result.is_kept,
            }
        )
    return cells
