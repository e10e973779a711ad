"""Deletes from a store, beside processes that build in it."""

from __future__ import annotations

import secrets
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

import attrs

from reeval_build.digest import TREE
from reeval_build.stores.local.database import StoreAccessError
from reeval_build.stores.local.limits import Candidate
from reeval_build.stores.local.reach import named_by
from reeval_build.stores.local.records import now, today

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from reeval_build.stores.local.leases import Lease
    from reeval_build.stores.local.limits import Choice
    from reeval_build.stores.local.reach import Named, Reach
    from reeval_build.stores.local.store import LocalStore

_EVICTIONS: Final = 10_000
_DURATION_DAYS: Final = 180


@attrs.frozen(kw_only=True)
class Swept:
    """What was deleted: records by which rule, how many objects, and what the files had that are gone."""

    evicted: tuple[tuple[Candidate, str], ...]
    objects: int
    freed_bytes: int


def sweep(
    store: LocalStore, choice: Choice, reach: Reach, rows: Sequence[tuple[Any, ...]], known: Mapping[bytes, bytes]
) -> Swept:
    """Delete the records that `choice` has go, and those objects of `rows` that nothing needs.

    `known` are the records that were chosen from, with the digest of each. What was leased or recorded meanwhile
    stays. The records go first, in one transaction with the rows of their objects, and the files after that: who is
    killed in between leaves files that nothing names, which the next one removes.
    """
    with store.leases.alone():
        leases = store.leases.all()
        leased = {key for lease in leases for key in lease.held["record"]}
        evicted = tuple((one, rule) for one, rule in choice.evicted if one.key not in leased)
        more = set().union(*(lease.held["object"] for lease in leases))
        roots = [root for one, _rule in choice.evicted if one.key in leased for root in one.roots]
        roots += _roots_of_new(store, known)
        for _ in reach.walk(_leased_trees(leases, roots), trees := set[bytes](), known=choice.needed):
            pass
        more |= trees
        dead = [row for row in rows if row[0] not in choice.needed and row[0] not in more]
        _delete(store, evicted, dead)
        doomed = list(_move_away(store))
    return Swept(evicted=evicted, objects=len(dead), freed_bytes=sum(map(_remove, doomed)))


def _leased_trees(leases: Iterable[Lease], roots: Iterable[Named]) -> Iterator[Named]:
    yield from roots
    for lease in leases:
        yield from ((TREE, raw) for raw in lease.held["tree"])


def _roots_of_new(store: LocalStore, known: Mapping[bytes, bytes]) -> list[Named]:
    """What records name that were published since."""
    new = store.records.all(besides=known)
    return [root for one in new if one.record is not None for root in named_by(one.record.output)]


def _delete(store: LocalStore, evicted: Iterable[tuple[Candidate, str]], dead: Iterable[tuple[Any, ...]]) -> None:
    # The files are removed right after: a loss of power must not bring back rows that name them.
    with store.database.writing(durably=True) as connection:
        for one, rule in evicted:
            _evict(connection, one, rule)
        connection.execute("DELETE FROM recipes WHERE key NOT IN (SELECT key FROM records)")
        connection.execute(
            "DELETE FROM evictions WHERE rowid <= (SELECT max(rowid) FROM evictions) - ?",
            (_EVICTIONS,),
        )
        connection.execute("DELETE FROM durations WHERE measured_on < ?", (today() - _DURATION_DAYS,))
        connection.executemany("DELETE FROM objects WHERE digest = ? AND pack IS ? AND offset = ? AND size = ?", dead)
        connection.execute("DELETE FROM packs WHERE id NOT IN (SELECT pack FROM objects WHERE pack IS NOT NULL)")


def _evict(connection: sqlite3.Connection, one: Candidate, rule: str) -> None:
    connection.execute(
        "INSERT OR REPLACE INTO evictions (recipe, phase, evicted_at, rule) SELECT recipe, ?, ?, ? FROM recipes"
        " WHERE key = ?",
        (one.record.phase, now(), rule, one.key),
    )
    connection.execute("DELETE FROM records WHERE key = ?", (one.key,))


def _move_away(store: LocalStore) -> Iterator[Path]:
    """The files that no row names. A large object may be kept again as soon as others go on, so its file is moved."""
    with store.database.errors():
        connection = store.database.connection
        packs = {row[0] for row in connection.execute("SELECT name FROM packs")}
        large = {row[0].hex() for row in connection.execute("SELECT digest FROM objects WHERE pack IS NULL")}
    yield from (path for path in (store.root / "packs").iterdir() if path.name not in packs)
    for path in (store.root / "objects").glob("*/*"):
        if path.name not in large:
            aside = store.scratch / f"{path.name}-{secrets.token_hex(4)}"
            try:
                yield path.rename(aside)
            except OSError as error:
                raise StoreAccessError(store.root, error) from error


def _remove(path: Path) -> int:
    """Remove a file; the bytes it had."""
    with suppress(OSError):
        size = path.stat().st_size
        path.unlink()
        return size
    return 0
