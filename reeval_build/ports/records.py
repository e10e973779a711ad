"""Where it is written down what finished nodes left."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import attrs

from reeval_build.digest import Digest
from reeval_build.plan.outputs import Output

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from contextlib import AbstractContextManager

    from reeval_build.ports.engine import Cancellation


@attrs.frozen(kw_only=True)
class Record:
    """What a finished node left.

    `key` is the content key, `material` the canonical encoding of what was hashed into it; `seconds` is how long it
    took, and `log` where the output of its command is.
    """

    key: Digest
    phase: str
    output: Output
    material: bytes = attrs.field(repr=False)
    seconds: float
    log: str | None = None


@attrs.frozen(kw_only=True)
class Eviction:
    """That a record was removed to get room: of which phase, when (UTC, as ISO 8601 has it), and by which rule."""

    phase: str
    evicted_at: str
    rule: str


class Records(Protocol):
    """Finds, keeps and drops records; safe to use from several threads and processes.

    What was found or published stays, with everything that it needs, until it is given up as often.
    """

    def by_recipe(self, recipes: Iterable[Digest]) -> Mapping[Digest, Record]:
        """The records of those recipe keys that have one, in one round."""

    def find(self, key: Digest) -> Record | None:
        """The record of a content key."""

    def publish(self, record: Record, *, recipe: Digest, work: Digest | None = None) -> None:
        """Keep a record whose objects are all kept already, and find it by a recipe key from now on.

        `work` names what the node did, so that `expected` knows how long that takes.
        """

    def expected(self, works: Mapping[Digest, str]) -> Mapping[Digest, float]:
        """How many seconds each of `works`, which has the phase of each, took the last time.

        For one that was never done it is the mean of its phase; one of a phase that never was is left out.
        """

    def link(self, recipe: Digest, key: Digest) -> None:
        """Find the record of `key` by another recipe key, too."""

    def working(self) -> AbstractContextManager[None]:
        """A block in which this thread makes a result and publishes its record.

        Objects that the thread keeps or finds in it stay until its end; after that those stay that a record needs.
        Blocks are not nested.
        """

    def give_up(self, keys: Iterable[Digest]) -> None:
        """Need records no more, each key once for each time that it was found or published."""

    def forget(self, key: Digest) -> None:
        """Drop a record that turned out not to be usable."""

    def evictions(self, recipes: Iterable[Digest]) -> Mapping[Digest, Eviction]:
        """Why recipe keys lead to no record any more, as far as they did and that was to get room.

        One that leads to a record again, or was evicted long ago and many others since, has none.
        """

    def exclusive(
        self, key: Digest, *, cancel: Cancellation, waiting: Callable[[str], None]
    ) -> AbstractContextManager[None]:
        """Hold `key` against every other thread and process that builds it.

        `waiting` is called once with a description of the holder when there is one; a holder that dies holds
        nothing. Raises CancelledError when the run is told to stop while waiting.
        """
