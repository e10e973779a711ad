"""Removes from a store what nobody needs, and what is worth least when there is not room for all."""

from __future__ import annotations

import os
import shutil
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

import attrs

from reeval_build.model.sizes import size_text
from reeval_build.stores.local.alone import upkeep
from reeval_build.stores.local.compact import compact
from reeval_build.stores.local.database import StoreAccessError
from reeval_build.stores.local.fetched import fetched_in, remove_abandoned, remove_fetched
from reeval_build.stores.local.limits import Candidate, Choice, Limits, choose
from reeval_build.stores.local.reach import Reach, named_by
from reeval_build.stores.local.records import today
from reeval_build.stores.local.sweep import sweep
from reeval_build.stores.local.unused import forget_unused

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from pathlib import Path

    from reeval_build.ports.engine import Cancellation
    from reeval_build.stores.local.fetched import Fetched
    from reeval_build.stores.local.leases import Lease
    from reeval_build.stores.local.records import Listed
    from reeval_build.stores.local.store import LocalStore
    from reeval_build.stores.local.tally import Measured

_LOG_DAYS: Final = 7
_DAY_S: Final = 24 * 60 * 60


@attrs.frozen(kw_only=True)
class Collected:
    """What was removed, or with `dry_run` would be.

    `held` are records that would have gone but for the process that uses each. `freed_bytes` is what the files that
    were removed had, less what was written anew; `left_bytes` what the files of objects and of what was fetched have
    now. `fetched` counts repositories and archives, `cells` the records of cells.
    """

    dry_run: bool
    evicted: tuple[tuple[Candidate, str], ...]
    held: tuple[Candidate, ...]
    kept: int
    objects: int
    fetched: int
    cells: int
    freed_bytes: int
    left_bytes: int


def collect(
    store: LocalStore, limits: Limits, *, dry_run: bool, cancel: Cancellation, waiting: Callable[[str], None]
) -> Collected:
    """Get room back. Nothing goes that a process which runs was told is there and still needs.

    `waiting` is told who looks after the store at the moment, when somebody does.

    Raises:
        StoreAccessError: when the store cannot be written to.
        CancelledError: when the run is told to stop while another process looks after the store.
    """
    with upkeep(store, cancel=cancel, waiting=waiting):
        return collect_alone(store, limits, Reach(store.objects), dry_run=dry_run)


def collect_alone(
    store: LocalStore, limits: Limits, reach: Reach, *, dry_run: bool = False, rule: str | None = None
) -> Collected:
    """See `collect`; only in `upkeep`.

    `reach` may know objects from before. `rule` is written down of results that go for want of room, if not the budget.
    """
    # The objects first: whatever comes after this is not looked at, and so stays.
    with store.database.errors():
        rows = store.database.connection.execute("SELECT digest, pack, offset, size FROM objects").fetchall()
    sizes: dict[bytes, int] = {digest: size for digest, _pack, _offset, size in rows}
    listed, fetched = store.records.all(), fetched_in(store.root)
    before = store.tally.measure()
    budget_bytes, usual_rule = _budget(store.root, limits, before)
    leases = store.leases.all()
    candidates, held = _candidates(listed, leases), [named for lease in leases for named in lease.objects]

    def chosen(some: Iterable[Candidate]) -> Choice:
        return choose(
            some,
            reach,
            sizes,
            older_than_days=limits.older_than_days,
            budget_bytes=budget_bytes,
            rule=rule or usual_rule,
            fetched=fetched,
            held=held,
        )

    choice = chosen(candidates)
    would_go = {one.key for one, _rule in chosen(attrs.evolve(one, owner=None) for one in candidates).evicted}
    went = _would_go(choice, sizes) if dry_run else _clear(store, choice, reach, rows, listed, limits, budget_bytes)
    left = before if dry_run else store.tally.measure()
    return Collected(
        dry_run=dry_run,
        evicted=went.evicted,
        held=tuple(one for one in choice.kept if one.owner is not None and one.key in would_go),
        kept=len(choice.kept) + len(choice.evicted) - len(went.evicted),
        objects=went.objects,
        fetched=went.fetched,
        cells=went.cells,
        freed_bytes=went.freed_bytes,
        left_bytes=left.object_bytes + left.fetched_bytes - (went.freed_bytes if dry_run else 0),
    )


@attrs.frozen(kw_only=True)
class _Went:
    evicted: tuple[tuple[Candidate, str], ...]
    objects: int
    fetched: int
    cells: int = 0
    freed_bytes: int


def _would_go(choice: Choice, sizes: Mapping[bytes, int]) -> _Went:
    dead = [raw for raw in sizes if raw not in choice.needed]
    freed = sum(map(sizes.__getitem__, dead)) + sum(one.bytes for one in choice.unfetched)
    return _Went(evicted=choice.evicted, objects=len(dead), fetched=len(choice.unfetched), freed_bytes=freed)


def _clear(
    store: LocalStore,
    choice: Choice,
    reach: Reach,
    rows: Sequence[tuple[Any, ...]],
    listed: Sequence[Listed],
    limits: Limits,
    budget_bytes: int | None,
) -> _Went:
    swept = sweep(store, choice, reach, rows, {one.key: one.check for one in listed})
    freed = swept.freed_bytes + compact(store, budget_bytes=budget_bytes)
    gone = [one for one in choice.unfetched if _is_removed(one, store)]
    cells = forget_unused(store, older_than_days=limits.older_than_days)
    remove_abandoned(store.root)
    _remove_old_logs(store, listed)
    _empty(store.root / "quarantine")
    return _Went(
        evicted=swept.evicted,
        objects=swept.objects,
        fetched=len(gone),
        cells=cells,
        freed_bytes=freed + sum(one.bytes for one in gone),
    )


def _is_removed(one: Fetched, store: LocalStore) -> bool:
    try:
        return remove_fetched(one.path, scratch=store.scratch)
    except FileNotFoundError:
        return False
    except OSError as error:
        raise StoreAccessError(store.root, error) from error


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


def _budget(root: Path, limits: Limits, now: Measured) -> tuple[int | None, str]:
    """How many bytes objects and what was fetched may have, and the rule that says so."""
    budgets: list[tuple[int, str]] = []
    if limits.budget_bytes is not None:
        budgets.append((max(0, limits.budget_bytes - now.fixed_bytes), f"budget {size_text(limits.budget_bytes)}"))
    if limits.keep_free_bytes is not None:
        lacking = limits.keep_free_bytes - shutil.disk_usage(root).free
        if lacking > 0:
            room = now.object_bytes + now.fetched_bytes - lacking
            budgets.append((max(0, room), f"keep free {size_text(limits.keep_free_bytes)}"))
    return min(budgets, default=(None, ""))


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
