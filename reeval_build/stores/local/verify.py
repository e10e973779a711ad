"""Checks a store: every object is read, and every record has its objects."""

from __future__ import annotations

import json
import sqlite3
from collections import defaultdict
from contextlib import suppress
from typing import TYPE_CHECKING, Final

import attrs

from reeval_build.digest import BLOB, DELTA, TREE, Digest
from reeval_build.stores.local.alone import upkeep
from reeval_build.stores.local.database import StoreDamagedError
from reeval_build.stores.local.reach import Reach, named_by

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from reeval_build.ports.engine import Cancellation
    from reeval_build.stores.local.records import Listed
    from reeval_build.stores.local.store import LocalStore

# Objects are mostly of the first. The index does not say of which, for nobody else asks.
_DOMAINS: Final = (BLOB, TREE, DELTA)


@attrs.frozen(kw_only=True)
class LostObject:
    """An object that is not there, or not right; `reason` is the end of a sentence."""

    digest: Digest
    reason: str


@attrs.frozen(kw_only=True)
class BrokenRecord:
    """A record that cannot be used: so many of its objects are lost, or with none, it is itself not as it was written.

    `cells` are the names of cells that it is part of.
    """

    key: Digest
    phase: str
    lost: int
    cells: tuple[str, ...]


@attrs.frozen(kw_only=True)
class Findings:
    """What was checked, and what is wrong with it; with `repaired` that was dropped, so it is built again."""

    objects: int
    records: int
    lost: tuple[LostObject, ...]
    broken: tuple[BrokenRecord, ...]
    repaired: bool

    @property
    def is_sound(self) -> bool:
        """Whether nothing is wrong any more."""
        return self.repaired or not (self.lost or self.broken)


def verify(store: LocalStore, *, repair: bool, cancel: Cancellation, waiting: Callable[[str], None]) -> Findings:
    """Read all of a store. With `repair`, what is wrong is dropped; files that are corrupt are set aside.

    `waiting` is told who looks after the store at the moment, when somebody does.

    Raises:
        StoreDamagedError: when the index itself is damaged.
        CancelledError: when the run is told to stop while another process looks after the store.
    """
    with upkeep(store, cancel=cancel, waiting=waiting):
        _check_index(store)
        # The records first: whatever is listed then has its objects, for those come before it.
        listed = store.records.all()
        rows = _object_rows(store)
        lost = {one.digest.raw: one for one in _lost_objects(store, rows)}
        broken = tuple(_broken_records(store, listed, set(rows) - lost.keys()))
        if repair:
            for one in lost.values():
                store.objects.drop(one.digest)
            for record in broken:
                store.records.forget(record.key)
        return Findings(
            objects=len(rows), records=len(listed), lost=tuple(lost.values()), broken=broken, repaired=repair
        )


def _check_index(store: LocalStore) -> None:
    with store.database.errors():
        problems = [row[0] for row in store.database.connection.execute("PRAGMA integrity_check")]
    if problems != ["ok"]:
        raise StoreDamagedError(store.root, sqlite3.DatabaseError(problems[0]))


def _object_rows(store: LocalStore) -> dict[bytes, None]:
    """The digests of all objects, in the order in which they are on the disk."""
    with store.database.errors():
        rows = store.database.connection.execute("SELECT digest FROM objects ORDER BY pack, offset").fetchall()
    return dict.fromkeys(row[0] for row in rows)


def _lost_objects(store: LocalStore, rows: Mapping[bytes, None]) -> Iterator[LostObject]:
    for raw in rows:
        digest = Digest(raw)
        reason = store.objects.problem_of(digest, _DOMAINS)
        # One that is kept anew meanwhile is looked at again, where it is now.
        if reason is not None and (reason := store.objects.problem_of(digest, _DOMAINS)) is not None:
            yield LostObject(digest=digest, reason=reason)


def _broken_records(store: LocalStore, listed: list[Listed], sound: set[bytes]) -> Iterator[BrokenRecord]:
    reach = Reach(store.objects)
    cells: Mapping[bytes, tuple[str, ...]] | None = None
    for one in listed:
        lost = 0
        if one.record is not None:
            lost = sum(raw not in sound for _domain, raw in reach.walk(named_by(one.record.output), set()))
        if one.record is None or lost:
            cells = _cells_by_record(store) if cells is None else cells
            yield BrokenRecord(key=Digest(one.key), phase=one.phase, lost=lost, cells=cells.get(one.key, ()))


def _cells_by_record(store: LocalStore) -> Mapping[bytes, tuple[str, ...]]:
    """The names of the cells that stand on each record, by its raw key."""
    with store.database.errors():
        connection = store.database.connection
        key_of: dict[str, bytes] = {
            recipe.hex(): key for recipe, key in connection.execute("SELECT recipe, key FROM recipes")
        }
        cells = connection.execute("SELECT name, record FROM cells").fetchall()
    names: defaultdict[bytes, set[str]] = defaultdict(set)
    for name, text in cells:
        with suppress(ValueError, KeyError, TypeError, RecursionError):
            for phase in json.loads(text)["phases"]:
                if phase["key"] in key_of:
                    names[key_of[phase["key"]]].add(name)
    return {key: tuple(sorted(found)) for key, found in names.items()}
