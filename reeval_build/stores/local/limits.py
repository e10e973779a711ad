"""Which records are worth their room."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

import attrs

from reeval_build.ports.records import Record
from reeval_build.stores.local.reach import Named

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from reeval_build.stores.local.reach import Reach

HALF_LIFE_DAYS: Final = 7


@attrs.frozen(kw_only=True)
class Limits:
    """What may stay: so many bytes of objects, so much free on the file system, what was used so many days ago."""

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


def choose(
    candidates: Iterable[Candidate],
    reach: Reach,
    sizes: Mapping[bytes, int],
    *,
    older_than_days: int | None,
    budget_bytes: int | None,
    rule: str,
) -> Choice:
    """Keep what is in use whatever it takes, then what is worth most as long as it fits; `rule` is why the rest goes.

    A record is worth the seconds that its node took for each byte that it needs, half of that for each week that
    nobody used it. One whose objects are all needed by others anyway takes no room, so it stays.
    """
    weights = _Weights(reach, sizes)
    kept: list[Candidate] = []
    evicted: list[tuple[Candidate, str]] = []
    needed: set[bytes] = set()
    room = 0
    for one in sorted(candidates, key=lambda one: (one.owner is None, -_worth(one, weights), one.key)):
        if one.owner is None and older_than_days is not None and one.age_days >= older_than_days:
            evicted.append((one, f"older than {older_than_days} days"))
            continue
        added: set[bytes] = set()
        adds = sum(sizes.get(raw, 0) for _domain, raw in reach.walk(one.roots, added, known=needed))
        if one.owner is None and budget_bytes is not None and adds and room + adds > budget_bytes:
            evicted.append((one, rule))
            continue
        kept.append(one)
        needed |= added
        room += adds
    return Choice(kept=tuple(kept), needed=frozenset(needed), evicted=tuple(evicted))


def _worth(one: Candidate, weights: _Weights) -> float:
    needs = sum(map(weights.of, one.roots))
    return one.record.seconds / max(needs, 1) * math.pow(0.5, one.age_days / HALF_LIFE_DAYS)


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
