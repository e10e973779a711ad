"""`reeval-build graph`."""

from __future__ import annotations

from typing import Final

import click

from reeval_build.app import Settings, opened
from reeval_build.cli.options import HARNESS, TARGETS, settings_options
from reeval_build.loading.selection import select_cells
from reeval_build.render.graph import graph_json, graph_text
from reeval_build.render.warnings import warn

GRAPH_STYLES: Final = {"text": graph_text, "json": graph_json}


@click.command(
    epilog="""\b
Examples:
  reeval-build graph env.py
  reeval-build graph env.py --harness claude-code --harness codex --format json"""
)
@TARGETS
@HARNESS
@settings_options
@click.option(
    "--format",
    "style",
    type=click.Choice(list(GRAPH_STYLES)),
    default="text",
    show_default=True,
    help="A drawing for people, or one JSON object for programs.",
)
def graph(targets: tuple[str, ...], harnesses: tuple[str, ...], settings: Settings, style: str) -> None:
    """Show the phases that the cells of TARGETs need, shared ones once. Nothing is built."""
    cells = select_cells(targets, harnesses, settings.sandbox)
    with opened(settings) as app:
        planned = app.plan(cells)
    warn(planned)
    click.echo(GRAPH_STYLES[style](planned))
