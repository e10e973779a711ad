"""A graph, drawn."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from reeval_build.digest import Digest
    from reeval_build.plan.graph import Graph, Node


def graph_text(graph: Graph) -> str:
    """A tree for each cell, from its snapshot down to what it stands on, and from what is added to it at the start.

    A shared node is drawn the first time only.
    """
    drawn: set[Digest] = set()
    lines: list[str] = []
    for planned in graph.cells:
        lines.append(planned.cell.name)
        for recipe in planned.start:
            lines += _draw(graph, recipe, "", "├─ ", "│  ", drawn)
        lines += _draw(graph, planned.snapshot, "", "└─ ", "   ", drawn)
    shared = sum(len(cells) > 1 for cells in graph.cells_of.values())
    lines.append(f"{len(graph.nodes)} nodes for {len(graph.cells)} cells, {shared} of them shared")
    return "\n".join(lines)


def _draw(graph: Graph, recipe: Digest, before: str, branch: str, beneath: str, drawn: set[Digest]) -> Iterator[str]:
    node = graph.nodes[recipe]
    if recipe in drawn:
        yield f"{before}{branch}{_name(node)}  (shared, drawn above)"
        return
    drawn.add(recipe)
    yield f"{before}{branch}{_name(node)}"
    parents = list(dict.fromkeys(parent.recipe for parent in node.parents if parent.role != "root"))
    for at, parent in enumerate(parents):
        last = at == len(parents) - 1
        yield from _draw(graph, parent, before + beneath, "└─ " if last else "├─ ", "   " if last else "│  ", drawn)


def _name(node: Node) -> str:
    problem = "" if node.problem is None else f"  (cannot be had: {node.problem})"
    return f"{node.phase} {node.label}  {node.recipe.short}{problem}"


def graph_json(graph: Graph) -> str:
    """One object: cells and nodes, parents before children. The shape is in `docs/reference/json.md`."""
    cells_of = graph.cells_of
    cells = [
        {
            "name": planned.cell.name,
            "environment": planned.cell.environment.name,
            "harness": planned.cell.harness.kind,
            "key": planned.key.hex,
            "node": planned.snapshot.hex,
            "start": [recipe.hex for recipe in planned.start],
        }
        for planned in graph.cells
    ]
    nodes = [
        {
            "key": recipe.hex,
            "phase": node.phase,
            "label": node.label,
            "problem": None if node.problem is None else str(node.problem),
            "parents": [{"role": parent.role, "key": parent.recipe.hex} for parent in node.parents],
            "cells": list(cells_of[recipe]),
        }
        for recipe, node in graph.nodes.items()
    ]
    return json.dumps({"cells": cells, "nodes": nodes}, indent=2)
