"""What a person is warned of by a plan."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from reeval_build.plan.graph import Graph


def warn(graph: Graph) -> None:
    """Say what the plan warns of."""
    for warning in graph.warnings:
        click.echo(f"reeval: warning: {warning}", err=True)
