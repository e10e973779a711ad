"""A placed tree as the entries of a delta: what an engine writes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from reeval_build.state.delta import DeltaEntry, DeltaKind
from reeval_build.tree.directory import Entry, Kind, walk

if TYPE_CHECKING:
    from collections.abc import Iterator

    from reeval_build.paths import Parts
    from reeval_build.state.state import PlacedTree
    from reeval_build.tree.directory import Loader

# 2000-01-01T00:00:00Z. Fixed, so that layers are reproducible, and not the epoch: ZIP has no times before 1980, and
# tools that pack what they find (wheels, jars) fail on them.
PLACED_MTIME_S: Final = 946_684_800

_KINDS: Final = {
    Kind.FILE: (DeltaKind.FILE, 0o644),
    Kind.EXECUTABLE: (DeltaKind.FILE, 0o755),
    Kind.DIRECTORY: (DeltaKind.DIRECTORY, 0o755),
    Kind.SYMLINK: (DeltaKind.SYMLINK, 0o777),
}


def placed_entries(delta: PlacedTree, load: Loader) -> Iterator[DeltaEntry]:
    """The directories that lead to a placed tree, the one it stands in, and everything in it, in that order."""
    for depth in range(1, len(delta.at) + 1):
        yield DeltaEntry(
            parts=delta.at[:depth],
            kind=DeltaKind.DIRECTORY,
            mode=0o755,
            opaque=delta.replaces and depth == len(delta.at),
            mtime_s=PLACED_MTIME_S,
        )
    for parts, entry in walk(delta.tree, load):
        yield _placed((*delta.at, *parts), entry)


def _placed(parts: Parts, entry: Entry) -> DeltaEntry:
    kind, mode = _KINDS[entry.kind]
    is_directory = entry.kind is Kind.DIRECTORY
    return DeltaEntry(
        parts=parts,
        kind=kind,
        mode=mode,
        digest=None if is_directory else entry.digest,
        size=entry.size,
        target=entry.target,
        mtime_s=PLACED_MTIME_S,
    )
