"""Removes from a store what nobody needs, and what is worth least when there is not room for all."""

from __future__ import annotations

import os
import shutil
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Final

import attrs

from reeval_build.model.sizes import size_text
from reeval_build.stores.local.alone import upkeep
from reeval_build.stores.local.compact import compact
from reeval_build.stores.local.limits import Candidate, Choice, Limits, choose
from reeval_build.stores.local.reach import Reach, named_by
from reeval_build.stores.local.records import today
from reeval_build.stores.local.sweep import Swept, sweep

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from reeval_build.ports.engine import Cancellation
    from reeval_build.stores.local.leases import Lease
    from reeval_build.stores.local.records import Listed
    from reeval_build.stores.local.store import LocalStore

_LOG_DAYS: Final = 7
_DAY_S: Final = 24 * 60 * 60


@attrs.frozen(kw_only=True)
class Collected:
    """What was removed, or with `dry_run` would be.

    `held` are records that would have gone but for the process that uses each. `freed_bytes` is what the files that
    were removed had, less what was written anew; `left_bytes` what the files of objects have now.
    """

    dry_run: bool
    evicted: tuple[tuple[Candidate, str], ...]
    held: tuple[Candidate, ...]
    kept: int
    objects: int
    freed_bytes: int
    left_bytes: int


def collect(store: LocalStore, limits: Limits, *, dry_run: bool, cancel: Cancellation) -> Collected:
    """Get room back. Nothing goes that a process which runs was told is there.

    Raises:
        StoreAccessError: when the store cannot be written to.
        CancelledError: when the run is told to stop while another process looks after the store.
    """
    with upkeep(store, cancel=cancel):
        # The objects first: whatever comes after this is not looked at, and so stays.
        with store.database.errors():
            rows = store.database.connection.execute("SELECT digest, pack, offset, size FROM objects").fetchall()
        sizes: dict[bytes, int] = {digest: size for digest, _pack, _offset, size in rows}
        listed, reach = store.records.all(), Reach(store.objects)
        before = _bytes_of_objects(store.root)
        budget_bytes, rule = _budget(store.root, limits, before)
        candidates = _candidates(listed, store.leases.all())

        def chosen(some: Iterable[Candidate]) -> Choice:
            return choose(
                some, reach, sizes, older_than_days=limits.older_than_days, budget_bytes=budget_bytes, rule=rule
            )

        choice = chosen(candidates)
        would_go = {one.key for one, _rule in chosen(attrs.evolve(one, owner=None) for one in candidates).evicted}
        held = tuple(one for one in choice.kept if one.owner is not None and one.key in would_go)
        if dry_run:
            dead = [raw for raw in sizes if raw not in choice.needed]
            swept = Swept(evicted=choice.evicted, objects=len(dead), freed_bytes=sum(map(sizes.__getitem__, dead)))
        else:
            swept = sweep(store, choice, reach, rows, {one.key: one.check for one in listed})
            written = compact(store, budget_bytes=budget_bytes)
            swept = attrs.evolve(swept, freed_bytes=swept.freed_bytes + written)
            _remove_old_logs(store, listed)
            _empty(store.root / "quarantine")
        return Collected(
            dry_run=dry_run,
            evicted=swept.evicted,
            held=held,
            kept=len(choice.kept) + len(choice.evicted) - len(swept.evicted),
            objects=swept.objects,
            freed_bytes=swept.freed_bytes,
            left_bytes=before - swept.freed_bytes if dry_run else _bytes_of_objects(store.root),
        )


def _candidates(listed: Iterable[Listed], leases: Iterable[Lease]) -> list[Candidate]:
    owners = {key: lease.owner for lease in leases for key in lease.held["record"]}
    day = today()
    return [
        Candidate(
            key=one.key,
            record=one.record,
            age_days=max(0, day - one.used_on),
            roots=tuple(named_by(one.record.output)),
            owner=owners.get(one.key),
        )
        for one in listed
        if one.record is not None
    ]


def _budget(root: Path, limits: Limits, bytes_now: int) -> tuple[int | None, str]:
    """How many bytes the objects may have, and the rule that says so."""
    budgets: list[tuple[int, str]] = []
    if limits.budget_bytes is not None:
        budgets.append((limits.budget_bytes, f"budget {size_text(limits.budget_bytes)}"))
    if limits.keep_free_bytes is not None:
        lacking = limits.keep_free_bytes - shutil.disk_usage(root).free
        if lacking > 0:
            budgets.append((max(0, bytes_now - lacking), f"keep free {size_text(limits.keep_free_bytes)}"))
    return min(budgets, default=(None, ""))


def _bytes_of_objects(root: Path) -> int:
    total = 0
    for name in ("packs", "objects"):
        for above, _directories, files in os.walk(root / name):
            for file in files:
                # Others may remove it meanwhile.
                with suppress(FileNotFoundError):
                    total += os.stat(f"{above}/{file}").st_size  # noqa: PTH116 - many of them
    return total


def _remove_old_logs(store: LocalStore, listed: Iterable[Listed]) -> None:
    """Remove logs that no record has, but for recent ones: those of steps that failed are there to be read."""
    named = {os.path.basename(one.record.log) for one in listed if one.record is not None and one.record.log}  # noqa: PTH119 - text
    oldest = time.time() - _LOG_DAYS * _DAY_S
    for path in store.logs.iterdir():
        with suppress(OSError):
            if path.name not in named and path.stat().st_mtime < oldest:
                path.unlink()


def _empty(directory: Path) -> None:
    for path in directory.iterdir():
        with suppress(OSError):
            path.unlink()
