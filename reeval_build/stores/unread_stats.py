"""A memory of files that is written to and not relied on."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from reeval_build.ports.stats import KnownDirectory, StatCache


class UnreadStats:
    """See `ports.stats.StatCache`: knows nothing, and has another one remember what is saved."""

    def __init__(self, below: StatCache) -> None:
        self._below = below

    def load(self, _root: bytes) -> Mapping[bytes, KnownDirectory]:
        """Nothing, so that everything is read."""
        return {}

    def save(self, root: bytes, found: Mapping[bytes, KnownDirectory], *, gone: Iterable[bytes] = ()) -> None:
        """See `ports.stats.StatCache.save`."""
        self._below.save(root, found, gone=gone)
