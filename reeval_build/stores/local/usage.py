"""What is in a store, and how much room it takes."""

from __future__ import annotations

import os
import shutil
from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import attrs

from reeval_build.stores.local.alone import who_looks_after
from reeval_build.stores.local.reach import Reach, named_by

if TYPE_CHECKING:
    from reeval_build.stores.local.store import LocalStore


@attrs.frozen(kw_only=True)
class Room:
    """How much room something takes, in so many files."""

    bytes: int
    files: int


@attrs.frozen(kw_only=True)
class Usage:
    """The room that a store takes, by the name of the directory in it, and what is free on its file system."""

    path: Path
    places: Mapping[str, Room]
    free_bytes: int

    @property
    def bytes(self) -> int:
        """All of it."""
        return sum(room.bytes for room in self.places.values())


@attrs.frozen(kw_only=True)
class Packs:
    """The packs of a store: what they take, and how much of that is objects that can still be found."""

    count: int
    bytes: int
    live_bytes: int


@attrs.frozen(kw_only=True)
class PhaseUsage:
    """The records of a phase: how long their nodes took together, and the bytes of all objects that they need."""

    records: int
    bytes: int
    seconds: float


@attrs.frozen(kw_only=True)
class InUse:
    """A process that uses a store, and how many records it was given."""

    owner: str
    records: int


@attrs.frozen(kw_only=True)
class Stats:
    """What a store keeps. Phases share objects, so their bytes add up to more than there are.

    `unneeded_bytes` are those of objects that no record needs; `damaged` counts records that cannot be read.
    `looked_after_by` is a process that collects or verifies at the moment.
    """

    path: Path
    objects: int
    object_bytes: int
    unneeded_bytes: int
    packs: Packs
    phases: Mapping[str, PhaseUsage]
    cells: int
    damaged: int
    evicted: int
    in_use: tuple[InUse, ...]
    looked_after_by: str | None = None


def usage_of(store: LocalStore) -> Usage:
    """Add up the files of a store."""
    places = {path.name: _room(path) for path in sorted(store.root.iterdir()) if path.is_dir()}
    index = [path for path in store.root.glob("store.sqlite*") if path.is_file()]
    places["store.sqlite"] = Room(bytes=sum(map(_size, index)), files=len(index))
    return Usage(path=store.root, places=places, free_bytes=shutil.disk_usage(store.root).free)


def stats_of(store: LocalStore) -> Stats:
    """Count what a store keeps, and find what each phase needs."""
    with store.database.errors():
        connection = store.database.connection
        sizes: dict[bytes, int] = dict(connection.execute("SELECT digest, size FROM objects"))
        names = [row[0] for row in connection.execute("SELECT name FROM packs")]
        (live,) = connection.execute("SELECT total(size) FROM objects WHERE pack IS NOT NULL").fetchone()
        (cells,) = connection.execute("SELECT count(*) FROM cells").fetchone()
        (evicted,) = connection.execute("SELECT count(*) FROM evictions").fetchone()
    listed = store.records.all()
    counts, needed = Counter(one.phase for one in listed), dict[str, set[bytes]]()
    seconds = dict.fromkeys(counts, 0.0)
    reach = Reach(store.objects)
    for one in listed:
        if one.record is not None:
            seconds[one.phase] += one.record.seconds
            for _ in reach.walk(named_by(one.record.output), needed.setdefault(one.phase, set())):
                pass
    phases = {
        phase: PhaseUsage(records=count, bytes=_total(sizes, needed.get(phase, set())), seconds=seconds[phase])
        for phase, count in sorted(counts.items())
    }
    total = sum(sizes.values())
    used: Counter[str] = Counter()
    for lease in store.leases.all():
        used[lease.owner] += len(lease.held["record"])
    return Stats(
        path=store.root,
        objects=len(sizes),
        object_bytes=total,
        unneeded_bytes=total - _total(sizes, set().union(*needed.values())),
        packs=Packs(
            count=len(names),
            bytes=sum(_size(store.root / "packs" / name) for name in names),
            live_bytes=int(live),
        ),
        phases=phases,
        cells=cells,
        damaged=sum(one.record is None for one in listed),
        evicted=evicted,
        in_use=tuple(InUse(owner=owner, records=records) for owner, records in sorted(used.items())),
        looked_after_by=who_looks_after(store),
    )


def _total(sizes: Mapping[bytes, int], digests: set[bytes]) -> int:
    return sum(sizes.get(digest, 0) for digest in digests)


def _room(directory: Path) -> Room:
    found = [_size(os.path.join(above, name)) for above, _, names in os.walk(directory) for name in names]  # noqa: PTH118 - names in a sandbox are any bytes
    return Room(bytes=sum(found), files=len(found))


def _size(path: Path | str) -> int:
    """The bytes of a file; none for one that was removed meanwhile."""
    with suppress(OSError):
        return os.lstat(path).st_size
    return 0
