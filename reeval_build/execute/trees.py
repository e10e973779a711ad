"""Trees and deltas in a store of objects."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reeval_build.digest import DELTA, TREE
from reeval_build.state import delta as deltas
from reeval_build.state.state import StepDelta
from reeval_build.tree import directory

if TYPE_CHECKING:
    from collections.abc import Mapping

    from reeval_build.digest import Digest
    from reeval_build.ports.objects import Batch, Objects
    from reeval_build.state.delta import DeltaEntry
    from reeval_build.tree.directory import Directory, Entry, Loader, Saver


def loader(objects: Objects) -> Loader:
    """Reads directories from `objects`."""

    def load(digest: Digest) -> Directory:
        return directory.decode(objects.read(TREE, digest))

    return load


def saver(batch: Batch) -> Saver:
    """Adds directories to `batch`."""

    def save(entries: Mapping[bytes, Entry]) -> Digest:
        return batch.add(TREE, directory.encode(entries))

    return save


def load_delta(objects: Objects, delta: StepDelta) -> tuple[DeltaEntry, ...]:
    """The entries of a step's delta."""
    return deltas.decode(objects.read(DELTA, delta.delta), objects.read(DELTA, delta.times))


def save_delta(batch: Batch, entries: tuple[DeltaEntry, ...]) -> StepDelta:
    """Add the entries of a step's delta to `batch`."""
    data, times = deltas.encode(entries)
    return StepDelta(delta=batch.add(DELTA, data), times=batch.add(DELTA, times))
