"""`reeval-build build`."""

from __future__ import annotations

from pathlib import Path

import attrs
import click

from reeval_build.app import Settings, opened
from reeval_build.cli.boundary import INFRA, say
from reeval_build.cli.options import HARNESS, TARGETS, as_bytes, settings_options
from reeval_build.loading.selection import select_cells
from reeval_build.render.outcome import failures, outcome_json, outcome_text
from reeval_build.render.progress import Progress
from reeval_build.render.record import write_records


@click.command(
    epilog="""\b
Examples:
  reeval-build build                                    every environment below this directory
  reeval-build build env.py --harness claude-code --harness codex
  reeval-build build env.py::base --sandbox fake --json
  reeval-build build evals/checkout.eval.py             what its evals run in
  reeval-build build env.py --record-dir records        records/base@fake/record.json and so on
  reeval-build export evals/ | reeval-build build -     the same, by way of JSON"""
)
@TARGETS
@HARNESS
@settings_options
@click.option(
    "--budget",
    "budget_bytes",
    metavar="SIZE",
    callback=as_bytes,
    help="Remove from the store what is worth least while it has more than this, such as 20G (default: "
    "$REEVAL_BUILD_BUDGET, else budget in [tool.reeval-build] of pyproject.toml, else no limit).",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of the summary.")
@click.option(
    "--record-dir",
    type=click.Path(file_okay=False, path_type=Path),
    help="Write DIRECTORY/CELL/record.json for every cell that is built.",
)
def build(
    targets: tuple[str, ...],
    harnesses: tuple[str, ...],
    settings: Settings,
    budget_bytes: int | None,
    record_dir: Path | None,
    *,
    as_json: bool,
) -> int:
    """Build the snapshots of the environments that TARGETs define.

    A TARGET is a Python file, a directory, or FILE::NAME for one environment; the default is this directory. An eval
    file (.eval.py) that imports reeval_python gives what its evals declare; so does a JSON file with a declaration
    tree or an environment in reeval's wire form, and standard input for `-`. What is built already is not built again.
    """
    cells = select_cells(targets, harnesses, settings.sandbox)
    with opened(attrs.evolve(settings, budget_bytes=budget_bytes)) as app:
        graph = app.plan(cells)
        outcome = app.build(graph, Progress(graph))
    click.echo(outcome_json(outcome) if as_json else outcome_text(outcome))
    for failure in failures(outcome):
        say(failure)
    # Last: when it cannot be done, what was built is said all the same.
    if record_dir is not None:
        write_records(outcome, record_dir)
    return INFRA if failures(outcome) else 0
