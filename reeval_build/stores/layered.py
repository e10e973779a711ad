"""Objects of two stores as those of one."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from contextlib import AbstractContextManager
    from typing import BinaryIO

    from reeval_build.digest import Digest, Domain
    from reeval_build.ports.objects import Batch, Objects


class LayeredObjects:
    """See `ports.objects.Objects`: what `upper` has is read there, all else in `lower`; what is new goes `into`."""

    def __init__(self, upper: Objects, lower: Objects, *, into: Objects) -> None:
        self._upper = upper
        self._lower = lower
        self._into = into

    def read(self, domain: Domain, digest: Digest) -> bytes:
        """See `ports.objects.Objects.read`."""
        return self._having(digest).read(domain, digest)

    def read_all(self, domain: Domain, digests: Iterable[Digest]) -> Iterator[bytes]:
        """See `ports.objects.Objects.read_all`."""
        wanted = list(digests)
        if self._upper.present(wanted):
            return (self.read(domain, digest) for digest in wanted)
        return self._lower.read_all(domain, wanted)

    def open(self, domain: Domain, digest: Digest) -> AbstractContextManager[BinaryIO]:
        """See `ports.objects.Objects.open`."""
        return self._having(digest).open(domain, digest)

    def present(self, digests: Iterable[Digest]) -> set[Digest]:
        """See `ports.objects.Objects.present`."""
        wanted = set(digests)
        above = self._upper.present(wanted)
        return above | self._lower.present(wanted - above)

    def present_trees(self, digests: Iterable[Digest]) -> set[Digest]:
        """See `ports.objects.Objects.present_trees`."""
        wanted = set(digests)
        above = self._upper.present_trees(wanted)
        return above | self._lower.present_trees(wanted - above)

    def batch(self) -> AbstractContextManager[Batch]:
        """See `ports.objects.Objects.batch`."""
        return self._into.batch()

    def _having(self, digest: Digest) -> Objects:
        return self._upper if self._upper.present([digest]) else self._lower
