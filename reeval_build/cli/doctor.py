"""`reeval-build doctor`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from reeval_build.app import default_store, discard
from reeval_build.checkup import Treatment, Verdict, check
from reeval_build.cli.boundary import INFRA
from reeval_build.cli.options import AS_JSON, SANDBOX, STORE
from reeval_build.render.doctor import finding_text, findings_json

if TYPE_CHECKING:
    from pathlib import Path


@click.command(
    epilog="""\b
Examples:
  reeval-build doctor                   is all there that builds need?
  reeval-build doctor --fix             remove what killed runs left, too
  reeval-build doctor --remove-images   and every image of a state that nothing runs
  reeval-build doctor --sandbox fake --json"""
)
@STORE
@SANDBOX
@AS_JSON
@click.option("--fix", is_flag=True, help="Remove what killed runs left, which the next build does too.")
@click.option(
    "--remove-images", is_flag=True, help="Remove the engine's images of states, which are made again when needed."
)
def doctor(store: Path | None, sandbox: str, *, as_json: bool, fix: bool, remove_images: bool) -> int:
    """Look at all that a build needs: the store, the engine, and what killed runs left in them.

    Nothing is removed that is not ours, or that a process uses which runs. Ends with exit code 3 when something is
    wrong.
    """
    treatment = Treatment(fix=fix, remove_images=remove_images)
    findings = []
    for finding in check(store or default_store(), sandbox=sandbox, treatment=treatment, discard=discard):
        findings.append(finding)
        if not as_json:
            click.echo(finding_text(finding))
    if as_json:
        click.echo(findings_json(findings))
    return INFRA if any(finding.verdict is Verdict.WRONG for finding in findings) else 0
