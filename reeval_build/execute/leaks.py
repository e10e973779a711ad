"""Looks for the values of secrets in what a step changed, while it is read."""

from __future__ import annotations

from typing import TYPE_CHECKING, BinaryIO, Protocol, cast

import attrs

from reeval_build.execute import trees
from reeval_build.paths import display

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from reeval_build.digest import Digest, Domain
    from reeval_build.execute.context import Context
    from reeval_build.execute.redaction import Redactor
    from reeval_build.ports.objects import Batch
    from reeval_build.state.delta import DeltaEntry
    from reeval_build.state.state import StepDelta


@attrs.frozen
class Leak:
    """A path, redacted and from the root of the sandbox, and the secrets whose values are there."""

    path: str
    names: frozenset[str]


class _LeakedError(Exception):
    """Ends a batch that must not be kept."""

    def __init__(self, leaks: tuple[Leak, ...]) -> None:
        super().__init__()
        self.leaks = leaks


def keep_delta(
    read: Callable[[Batch], tuple[DeltaEntry, ...]], redactor: Redactor, context: Context
) -> tuple[StepDelta, tuple[Leak, ...]]:
    """Keep what `read` reads of a step: with the objects of others, or privately when values of secrets are in it.

    It is read again in the second case: what is in a batch of the store can only be dropped as a whole.
    """
    try:
        with context.objects.batch() as batch:
            if redactor.is_idle:
                return trees.save_delta(batch, read(batch)), ()
            return _keep_watched(read, batch, redactor, is_private=context.objects is context.private)
    except _LeakedError as leaked:
        with context.private.batch() as batch:
            return trees.save_delta(batch, read(batch)), leaked.leaks


def _keep_watched(
    read: Callable[[Batch], tuple[DeltaEntry, ...]], batch: Batch, redactor: Redactor, *, is_private: bool
) -> tuple[StepDelta, tuple[Leak, ...]]:
    watched = WatchedBatch(batch, redactor)
    entries = read(watched)
    leaks = tuple(watched.leaks(entries))
    if leaks and not is_private:
        raise _LeakedError(leaks)
    return trees.save_delta(batch, entries), leaks


class WatchedBatch:
    """A batch that adds to another one, and remembers which objects have values of secrets in them."""

    def __init__(self, batch: Batch, redactor: Redactor) -> None:
        self._batch = batch
        self._redactor = redactor
        self._found: dict[Digest, set[str]] = {}

    def add(self, domain: Domain, data: bytes) -> Digest:
        """See `ports.objects.Batch.add`."""
        digest = self._batch.add(domain, data)
        self._found[digest] = self._redactor.found_in(data)
        return digest

    def add_stream(self, domain: Domain, source: BinaryIO) -> tuple[Digest, int]:
        """See `ports.objects.Batch.add_stream`."""
        watched = _WatchedSource(source, self._redactor)
        digest, size = self._batch.add_stream(domain, cast("BinaryIO", watched))
        self._found[digest] = watched.found
        return digest, size

    @property
    def telling(self) -> frozenset[Digest]:
        """The digests of objects with values in them: for a short value, as good as the value."""
        return frozenset(digest for digest, names in self._found.items() if names)

    def leaks(self, entries: Iterable[DeltaEntry]) -> Iterator[Leak]:
        """The entries, whose bytes were added here, that have values in their bytes, names, targets or attributes."""
        for entry in entries:
            names = self._redactor.found_in(b"\0".join(_texts(entry)))
            # Of a name that is in many paths, the topmost counts.
            names |= self._redactor.found_in(entry.path) - self._redactor.found_in(b"/".join(entry.parts[:-1]))
            names |= self._found.get(entry.digest, set()) if entry.digest is not None else set()
            if names:
                yield Leak(display(self._redactor.redact(entry.path)), frozenset(names))


def _texts(entry: DeltaEntry) -> Iterator[bytes]:
    yield entry.target or b""
    for name, value in entry.xattrs:
        yield from (name.encode("utf-8", "surrogateescape"), value)


class _Source(Protocol):
    def read(self, size: int = -1, /) -> bytes: ...


class _WatchedSource:
    """A stream that looks at what is read from it; a value may begin in one piece and end in the next."""

    def __init__(self, source: _Source, redactor: Redactor) -> None:
        self._source = source
        self._redactor = redactor
        self._end = b""
        self.found: set[str] = set()

    def read(self, size: int = -1, /) -> bytes:
        """What the stream has next."""
        chunk = self._source.read(size)
        seen = self._end + chunk
        self.found |= self._redactor.found_in(seen)
        self._end = seen[max(0, len(seen) - self._redactor.longest) :]
        return chunk
