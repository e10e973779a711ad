"""Which records are worth their room."""

from __future__ import annotations

import math
import os
from typing import TYPE_CHECKING, Final

import attrs

from reeval_build.ports.records import Record
from reeval_build.stores.local.fetched import Fetched
from reeval_build.stores.local.reach import Named

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from reeval_build.stores.local.reach import Reach

HALF_LIFE_DAYS: Final = 7
_FETCHED_BYTES_PER_S: Final = 10 * 1024 * 1024


@attrs.frozen(kw_only=True)
class Limits:
    """What may stay: so many bytes in all, so much free on the file system, what was used so many days ago."""

    budget_bytes: int | None = None
    keep_free_bytes: int | None = None
    older_than_days: int | None = None


@attrs.frozen(kw_only=True)
class Candidate:
    """A record that may go. `age_days` is how long ago it was last used; `owner` is a process that uses it, if any."""

    key: bytes
    record: Record
    age_days: int
    roots: tuple[Named, ...]
    owner: str | None = None


@attrs.frozen(kw_only=True)
class Choice:
    """What stays, with every object that it needs, and what goes, by which rule."""

    kept: tuple[Candidate, ...]
    needed: frozenset[bytes]
    evicted: tuple[tuple[Candidate, str], ...]
    unfetched: tuple[Fetched, ...] = ()


def choose(
    candidates: Iterable[Candidate],
    reach: Reach,
    sizes: Mapping[bytes, int],
    *,
    older_than_days: int | None,
    budget_bytes: int | None,
    rule: str,
    fetched: Iterable[Fetched] = (),
    held: Iterable[Named] = (),
) -> Choice:
    """Keep what is in use whatever it takes, then what is worth most as long as it fits; `rule` is why the rest goes.

    A record is worth the seconds that its node took for each byte that it needs, half of that for each week that
    nobody used it. One whose objects are all needed by others anyway takes no room, so it stays. What was `fetched` is
    worth the seconds that a slow network takes. `held` are objects in use of which no record is.
    """
    weights, room = _Weights(reach, sizes), _Room(reach, sizes, budget_bytes)
    room.take(held)
    kept: list[Candidate] = []
    evicted: list[tuple[Candidate, str]] = []
    unfetched: list[Fetched] = []
    ordered: list[Candidate | Fetched] = [*candidates, *fetched]
    for one in sorted(ordered, key=lambda one: _order(one, weights)):
        is_old = older_than_days is not None and one.age_days >= older_than_days and not _is_used(one)
        if isinstance(one, Fetched):
            if is_old or not (one.only_ages or room.take_bytes(one.bytes, must=one.is_used)):
                unfetched.append(one)
        elif is_old:
            evicted.append((one, f"older than {older_than_days} days"))
        elif room.take(one.roots, must=one.owner is not None):
            kept.append(one)
        else:
            evicted.append((one, rule))
    return Choice(kept=tuple(kept), needed=frozenset(room.needed), evicted=tuple(evicted), unfetched=tuple(unfetched))


class _Room:
    """What there is room for, and what takes it."""

    def __init__(self, reach: Reach, sizes: Mapping[bytes, int], budget_bytes: int | None) -> None:
        self._reach = reach
        self._sizes = sizes
        self._budget_bytes = budget_bytes
        self._bytes = 0
        self.needed: set[bytes] = set()

    def take(self, roots: Iterable[Named], *, must: bool = True) -> bool:
        """Take room for objects and all below them, if there is so much left or it `must` be."""
        added: set[bytes] = set()
        adds = sum(self._sizes.get(raw, 0) for _domain, raw in self._reach.walk(roots, added, known=self.needed))
        if not self.take_bytes(adds, must=must):
            return False
        self.needed |= added
        return True

    def take_bytes(self, count: int, *, must: bool) -> bool:
        """Take so much room, if it is left or it `must` be. What takes none always fits."""
        if not must and self._budget_bytes is not None and count and self._bytes + count > self._budget_bytes:
            return False
        self._bytes += count
        return True


def _is_used(one: Candidate | Fetched) -> bool:
    return one.is_used if isinstance(one, Fetched) else one.owner is not None


def _order(one: Candidate | Fetched, weights: _Weights) -> tuple[bool, float, bytes]:
    if isinstance(one, Fetched):
        worth, name = 1 / _FETCHED_BYTES_PER_S, os.fsencode(one.path)
    else:
        worth, name = one.record.seconds / max(sum(map(weights.of, one.roots)), 1), one.key
    return not _is_used(one), -worth * math.pow(0.5, one.age_days / HALF_LIFE_DAYS), name


class _Weights:
    """How many bytes an object stands for with what is below it, which counts each time that it is named."""

    def __init__(self, reach: Reach, sizes: Mapping[bytes, int]) -> None:
        self._reach = reach
        self._sizes = sizes
        self._known: dict[bytes, int] = {}

    def of(self, root: Named) -> int:
        pending = [root]
        while pending:
            named = pending[-1]
            below = self._reach.below(named)
            unknown = [one for one in below if self._reach.below(one) and one[1] not in self._known]
            if unknown:
                pending += unknown
            else:
                pending.pop()
                parts = (self._known.get(raw, self._sizes.get(raw, 0)) for _domain, raw in below)
                self._known[named[1]] = self._sizes.get(named[1], 0) + sum(parts)
        return self._known[root[1]]
