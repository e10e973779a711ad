"""A store in memory, held to the same contract as the one on disk."""

from __future__ import annotations

import io
import threading
from contextlib import contextmanager
from datetime import UTC, datetime
from statistics import fmean
from typing import TYPE_CHECKING, BinaryIO, Final

from reeval_build.digest import Digest, Domain
from reeval_build.errors import CancelledError
from reeval_build.ports.objects import LostObjectError
from reeval_build.ports.records import Eviction

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from reeval_build.content.facts import Fact
    from reeval_build.plan.record import CellRecord
    from reeval_build.ports.engine import Cancellation
    from reeval_build.ports.records import Record
    from reeval_build.ports.stats import KnownDirectory

_ASK_AGAIN_S: Final = 0.01


class MemoryObjects:
    """See `ports.objects.Objects`."""

    def __init__(self) -> None:
        self.kept: dict[Digest, bytes] = {}

    def read(self, domain: Domain, digest: Digest) -> bytes:
        """See `ports.objects.Objects.read`."""
        data = self.kept.get(digest)
        if data is None:
            raise LostObjectError(digest, store="memory", reason="is missing")
        if domain.digest(data) != digest:
            self.kept.pop(digest, None)
            raise LostObjectError(digest, store="memory", reason="is corrupt")
        return data

    def read_all(self, domain: Domain, digests: Iterable[Digest]) -> Iterator[bytes]:
        """See `ports.objects.Objects.read_all`."""
        return (self.read(domain, digest) for digest in digests)

    @contextmanager
    def open(self, domain: Domain, digest: Digest) -> Iterator[BinaryIO]:
        """See `ports.objects.Objects.open`."""
        yield io.BytesIO(self.read(domain, digest))

    def present(self, digests: Iterable[Digest]) -> set[Digest]:
        """See `ports.objects.Objects.present`."""
        return {digest for digest in digests if digest in self.kept}

    def present_trees(self, digests: Iterable[Digest]) -> set[Digest]:
        """See `ports.objects.Objects.present_trees`."""
        return self.present(digests)

    @contextmanager
    def batch(self) -> Iterator[MemoryBatch]:
        """See `ports.objects.Objects.batch`."""
        batch = MemoryBatch()
        yield batch
        self.kept.update(batch.added)


class MemoryBatch:
    """See `ports.objects.Batch`."""

    def __init__(self) -> None:
        self.added: dict[Digest, bytes] = {}

    def add(self, domain: Domain, data: bytes) -> Digest:
        """See `ports.objects.Batch.add`."""
        digest = domain.digest(data)
        self.added[digest] = data
        return digest

    def add_stream(self, domain: Domain, source: BinaryIO) -> tuple[Digest, int]:
        """See `ports.objects.Batch.add_stream`."""
        data = b"".join(iter(lambda: source.read(65536), b""))
        return self.add(domain, data), len(data)


class MemoryRecords:
    """See `ports.records.Records`."""

    def __init__(self) -> None:
        self._records: dict[Digest, Record] = {}
        self._keys: dict[Digest, Digest] = {}
        self._durations: dict[Digest, tuple[str, float]] = {}
        self._held: dict[Digest, str] = {}
        self._evictions: dict[Digest, Eviction] = {}
        self._guard = threading.Lock()

    def by_recipe(self, recipes: Iterable[Digest]) -> Mapping[Digest, Record]:
        """See `ports.records.Records.by_recipe`."""
        keys = {recipe: self._keys[recipe] for recipe in recipes if recipe in self._keys}
        return {recipe: self._records[key] for recipe, key in keys.items() if key in self._records}

    def find(self, key: Digest) -> Record | None:
        """See `ports.records.Records.find`."""
        return self._records.get(key)

    def publish(self, record: Record, *, recipe: Digest, work: Digest | None = None) -> None:
        """See `ports.records.Records.publish`."""
        self._records[record.key] = record
        self._keys[recipe] = record.key
        self._evictions.pop(recipe, None)
        if work is not None:
            self._durations[work] = record.phase, record.seconds

    def expected(self, works: Mapping[Digest, str]) -> Mapping[Digest, float]:
        """See `ports.records.Records.expected`."""
        found = {}
        for work, phase in works.items():
            alike = [seconds for other, seconds in self._durations.values() if other == phase]
            if alike:
                found[work] = self._durations.get(work, (phase, fmean(alike)))[1]
        return found

    def link(self, recipe: Digest, key: Digest) -> None:
        """See `ports.records.Records.link`."""
        self._keys[recipe] = key
        self._evictions.pop(recipe, None)

    def evict(self, key: Digest, *, rule: str) -> None:
        """Remove a record to get room, as a collector does."""
        record = self._records.pop(key)
        for recipe, of in self._keys.items():
            if of == key:
                now = datetime.now(UTC).isoformat(timespec="seconds")
                self._evictions[recipe] = Eviction(phase=record.phase, evicted_at=now, rule=rule)

    def evictions(self, recipes: Iterable[Digest]) -> Mapping[Digest, Eviction]:
        """See `ports.records.Records.evictions`."""
        return {recipe: self._evictions[recipe] for recipe in recipes if recipe in self._evictions}

    @contextmanager
    def working(self) -> Iterator[None]:
        """See `ports.records.Records.working`. Nothing is ever collected here."""
        yield

    def give_up(self, keys: Iterable[Digest]) -> None:
        """See `ports.records.Records.give_up`."""

    def forget(self, key: Digest) -> None:
        """See `ports.records.Records.forget`."""
        self._records.pop(key, None)

    @contextmanager
    def exclusive(self, key: Digest, *, cancel: Cancellation, waiting: Callable[[str], None]) -> Iterator[None]:
        """See `ports.records.Records.exclusive`."""
        said = False
        while (holder := self._take(key)) is not None:
            if not said:
                waiting(holder)
            said = True
            if cancel.wait(_ASK_AGAIN_S):
                raise CancelledError
        try:
            yield
        finally:
            with self._guard:
                del self._held[key]

    def _take(self, key: Digest) -> str | None:
        """None when `key` is now ours, else who has it."""
        with self._guard:
            if key in self._held:
                return self._held[key]
            self._held[key] = f"thread {threading.get_ident()}"
            return None


class MemoryCells:
    """See `ports.cells.Cells`."""

    def __init__(self) -> None:
        self._kept: dict[Digest, CellRecord] = {}

    def keep(self, record: CellRecord) -> None:
        """See `ports.cells.Cells.keep`."""
        self._kept.pop(Digest.parse(record.key), None)
        self._kept[Digest.parse(record.key)] = record

    def find(self, key: Digest) -> CellRecord | None:
        """See `ports.cells.Cells.find`."""
        return self._kept.get(key)

    def last(self, name: str) -> CellRecord | None:
        """See `ports.cells.Cells.last`."""
        return next((record for record in reversed(self._kept.values()) if record.name == name), None)


class MemoryStats:
    """See `ports.stats.StatCache`."""

    def __init__(self) -> None:
        self.kept: dict[bytes, dict[bytes, KnownDirectory]] = {}

    def load(self, root: bytes) -> Mapping[bytes, KnownDirectory]:
        """See `ports.stats.StatCache.load`."""
        return dict(self.kept.get(root, {}))

    def save(self, root: bytes, found: Mapping[bytes, KnownDirectory], *, gone: Iterable[bytes] = ()) -> None:
        """See `ports.stats.StatCache.save`."""
        kept = self.kept.setdefault(root, {})
        for path in gone:
            kept.pop(path, None)
        kept.update(found)


class MemoryFacts:
    """See `content.facts.Facts`."""

    def __init__(self) -> None:
        self.kept: dict[Digest, bytes] = {}

    def known(self, questions: Iterable[Digest], /) -> Mapping[Digest, bytes]:
        """See `content.facts.Facts.known`."""
        return {question: self.kept[question] for question in questions if question in self.kept}

    def keep(self, facts: Iterable[Fact], /) -> None:
        """See `content.facts.Facts.keep`."""
        self.kept.update((fact.question, fact.answer) for fact in facts)
