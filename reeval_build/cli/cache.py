"""`reeval-build cache`."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import click

from reeval_build.app import opened_store
from reeval_build.cli.boundary import INFRA
from reeval_build.cli.options import AS_JSON, STORE, as_bytes, as_days
from reeval_build.errors import printable
from reeval_build.render.cache import (
    collected_json,
    collected_text,
    findings_json,
    findings_text,
    stats_json,
    stats_text,
    usage_json,
    usage_text,
)
from reeval_build.stores.local.collect import collect
from reeval_build.stores.local.limits import Limits
from reeval_build.stores.local.usage import stats_of, usage_of
from reeval_build.stores.local.verify import verify as verify_store

if TYPE_CHECKING:
    from pathlib import Path


@click.group(
    epilog="""\b
Examples:
  reeval-build cache du                 how much room it takes
  reeval-build cache stats --json       what is in it, for a program
  reeval-build cache verify --repair    drop what cannot be read
  reeval-build cache gc --budget 20G    keep what is worth most"""
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


@cache.command(
    epilog="""\b
Examples:
  reeval-build cache verify
  reeval-build cache verify --repair"""
)
@STORE
@AS_JSON
@click.option("--repair", is_flag=True, help="Drop what is wrong, so that it is built again when it is next needed.")
def verify(store: Path | None, *, as_json: bool, repair: bool) -> int:
    """Read every object of the store, and check that every record has its objects.

    Ends with exit code 3 when something is wrong and was not repaired. Builds find what is wrong themselves, when they
    need it.
    """
    with opened_store(store) as opened:
        findings = verify_store(opened, repair=repair, cancel=threading.Event(), waiting=_wait_for)
    click.echo(findings_json(findings) if as_json else findings_text(findings))
    return 0 if findings.is_sound else INFRA


@cache.command(
    epilog="""\b
Examples:
  reeval-build cache gc                                   what no record needs
  reeval-build cache gc --budget 20G --dry-run            what would go to have 20 GiB of results
  reeval-build cache gc --older-than 30d --keep-free 10G"""
)
@STORE
@AS_JSON
@click.option(
    "--budget", "budget_bytes", callback=as_bytes, help="Have this many bytes at most in the store, such as 20G."
)
@click.option(
    "--older-than", "older_than_days", callback=as_days, help="Remove what nobody used for so long, such as 30d."
)
@click.option(
    "--keep-free", "keep_free_bytes", callback=as_bytes, help="Have this much free on the store's file system."
)
@click.option("--dry-run", is_flag=True, help="Say what would go, and remove nothing.")
def gc(store: Path | None, *, as_json: bool, dry_run: bool, **limits: int | None) -> None:
    """Get room back from the store: remove what no record needs, and results by the rules that are given.

    What is worth least goes first: the seconds it took for each byte it takes, half of that for each week that nobody
    used it. What a process uses that runs now stays, whatever the rules say, and is listed.
    """
    with opened_store(store) as opened:
        collected = collect(opened, Limits(**limits), dry_run=dry_run, cancel=threading.Event(), waiting=_wait_for)
    click.echo(collected_json(collected) if as_json else collected_text(collected))


def _wait_for(owner: str) -> None:
    click.echo(f"waiting for {printable(owner)}, which looks after the store", err=True)
