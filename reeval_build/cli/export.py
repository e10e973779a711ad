"""`reeval-build export`."""

from __future__ import annotations

import click

from reeval_build.cli.options import TARGETS
from reeval_build.loading.targets import find_environments
from reeval_build.render.export import export_json


@click.command(
    epilog="""\b
Examples:
  reeval-build export env.py::base >base.json     one environment
  reeval-build export evals/ >tree.json           a declaration tree, when there are several
  reeval-build build tree.json                    builds what was exported"""
)
@TARGETS
def export(targets: tuple[str, ...]) -> None:
    """Write the environments of TARGETs as JSON, in reeval's wire form. Nothing is built.

    TARGETs are those of `build`. One environment is written as it is; several, and what an eval adds (its harness,
    env, egress and sandbox), as a declaration tree with an eval for each. `build` makes the same of it; host paths are
    absolute.
    """
    click.echo(export_json(find_environments(targets or ["."])))
