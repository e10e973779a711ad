"""`reeval-build lock`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from reeval_build.app import Settings, check_locks, opened
from reeval_build.cli.boundary import DEFINITION
from reeval_build.cli.options import AS_JSON, PLATFORM, SANDBOX, STORE, TARGETS
from reeval_build.loading.selection import select_cells
from reeval_build.render.lock import changes_json, changes_text, check_json, check_text

if TYPE_CHECKING:
    from pathlib import Path

_HARNESSES = ("fake",)
"""An image does not depend on the harness that runs in it."""


@click.group(
    epilog="""\b
Examples:
  reeval-build lock check evals/              is every image locked that is named there, and no other?
  reeval-build lock update                    lock what the images are now that this directory names
  reeval-build lock update node:24-bookworm   only this one
  reeval-build lock update claude-code        only this harness"""
)
def lock() -> None:
    """Lock what images and harnesses are, and see whether they are locked.

    reeval-build.lock is beside the nearest pyproject.toml, else in this directory. Builds lock what is not locked, and
    use what is locked, whatever the name is in its registry by now; with --frozen they refuse what is not locked.
    """


@lock.command(
    epilog="""\b
Examples:
  reeval-build lock check
  reeval-build lock check evals/ --platform linux/arm64
  reeval-build lock check --upstream --json | jq .moved"""
)
@TARGETS
@SANDBOX
@PLATFORM
@click.option("--upstream", is_flag=True, help="Ask the registries, too, and say what has moved there.")
@AS_JSON
def check(targets: tuple[str, ...], sandbox: str, platform: str | None, *, upstream: bool, as_json: bool) -> int:
    """Compare the lock file with the images that TARGETs name, and with the harnesses that the project installs.

    Ends with exit code 2 when it is not up to date. Neither an engine nor a network is needed, but for --upstream; that
    something has moved does not change the exit code. A TARGET is what build takes; the default is this directory.
    """
    cells = select_cells(targets, _HARNESSES, sandbox)
    found = check_locks(cells, platform=platform, asks_registries=upstream)
    click.echo(check_json(found) if as_json else check_text(found))
    return 0 if found.is_current else DEFINITION


@lock.command(
    epilog="""\b
Examples:
  reeval-build lock update
  reeval-build lock update node:24-bookworm python:3.13
  reeval-build lock update --target evals/ --platform linux/arm64"""
)
@click.argument("names", nargs=-1, metavar="[NAME]...")
@click.option(
    "--target",
    "targets",
    multiple=True,
    help="Lock the images of this TARGET, which is what build takes; may be given several times (default: this "
    "directory).",
)
@STORE
@SANDBOX
@PLATFORM
@AS_JSON
def update(
    names: tuple[str, ...],
    targets: tuple[str, ...],
    store: Path | None,
    sandbox: str,
    platform: str | None,
    *,
    as_json: bool,
) -> None:
    """Lock what images and harnesses are now: those called NAME, or all that the definitions and the project name.

    Without NAME nothing else stays locked. Registries are asked, and images that have moved are pulled. An image that
    only the engine has is locked as the engine has it. An image that is locked for several platforms is looked up for
    each of them. Nothing is written unless everything was found.
    """
    if names and targets:
        raise click.UsageError("Give NAMEs or --target, not both.")
    cells = () if names else select_cells(targets, _HARNESSES, sandbox)
    with opened(Settings(store=store, sandbox=sandbox, platform=platform)) as app:
        changes = app.update_locks(cells, names)
    click.echo(changes_json(changes) if as_json else changes_text(changes))
