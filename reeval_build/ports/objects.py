"""Where bytes, trees and deltas are kept, by their digests."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from reeval_build.errors import InfraError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from contextlib import AbstractContextManager
    from typing import BinaryIO

    from reeval_build.digest import Digest, Domain


class LostObjectError(InfraError):
    """An object that a record names is not in the store, or its bytes do not hash to its name."""

    def __init__(self, digest: Digest, *, store: str, reason: str) -> None:
        super().__init__(f"object {digest.short} in {store} {reason}")
        self.digest, self.store, self.reason = digest, store, reason


class Batch(Protocol):
    """Objects on their way into a store; a reader sees none of them before all of them."""

    def add(self, domain: Domain, data: bytes) -> Digest:
        """Add an object that is in memory."""

    def add_stream(self, domain: Domain, source: BinaryIO) -> tuple[Digest, int]:
        """Add an object read from `source` to its end; its digest and how many bytes it has."""


class Objects(Protocol):
    """Reads and keeps objects; safe to use from several threads."""

    def read(self, domain: Domain, digest: Digest) -> bytes:
        """The bytes of an object, verified.

        Raises:
            LostObjectError: when they are not there or do not hash to `digest`.
        """

    def read_all(self, domain: Domain, digests: Iterable[Digest]) -> Iterator[bytes]:
        """The bytes of each of many objects, in the order in which they are asked for; faster than one by one.

        Each is in memory as a whole, so they should be small. Raises LostObjectError as `read` does.
        """

    def open(self, domain: Domain, digest: Digest) -> AbstractContextManager[BinaryIO]:
        """The bytes of an object as a stream, for those too large to hold.

        They are verified before the first is handed out; a large object need be only once a process.

        Raises:
            LostObjectError: as `read` does.
        """

    def present(self, digests: Iterable[Digest]) -> set[Digest]:
        """Those of `digests` that are kept."""

    def present_trees(self, digests: Iterable[Digest]) -> set[Digest]:
        """Those directories of `digests` that are kept.

        What is below them is kept then, too: an object is never there before those it names, nor after them, unless
        the store has lost something.
        """

    def batch(self) -> AbstractContextManager[Batch]:
        """A batch that is published, durably and all at once, when the block ends without an exception."""
