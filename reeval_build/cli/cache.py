"""`reeval-build cache`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from reeval_build.app import opened_store
from reeval_build.cli.options import AS_JSON, STORE
from reeval_build.render.cache import stats_json, stats_text, usage_json, usage_text
from reeval_build.stores.local.usage import stats_of, usage_of

if TYPE_CHECKING:
    from pathlib import Path


@click.group(
    epilog="""\b
Examples:
  reeval-build cache du                 how much room it takes
  reeval-build cache stats --json       what is in it, for a program"""
)
def cache() -> None:
    """Look at the store, check it, and get room back. Other processes may use it meanwhile."""


@cache.command(
    epilog="""\b
Examples:
  reeval-build cache du
  reeval-build cache du --store .reeval --json"""
)
@STORE
@AS_JSON
def du(store: Path | None, *, as_json: bool) -> None:
    """Show how much room the store takes, by the directories in it."""
    with opened_store(store) as opened:
        usage = usage_of(opened)
    click.echo(usage_json(usage) if as_json else usage_text(usage))


@cache.command(
    epilog="""\b
Examples:
  reeval-build cache stats
  reeval-build cache stats --json | jq .phases.setup"""
)
@STORE
@AS_JSON
def stats(store: Path | None, *, as_json: bool) -> None:
    """Show what the store keeps: objects, packs, the records of each phase, and who uses it.

    Phases share objects: what they need adds up to more than there is.
    """
    with opened_store(store) as opened:
        found = stats_of(opened)
    click.echo(stats_json(found) if as_json else stats_text(found))
