"""A placed tree as the entries of a delta: what an engine writes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from reeval_build.state.delta import DeltaEntry, DeltaKind
from reeval_build.tree.directory import Entry, Kind, walk

if TYPE_CHECKING:
    from collections.abc import Iterator

    from reeval_build.digest import Digest
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
    yield from _above(delta, opaque=delta.replaces)
    for parts, entry in walk(delta.tree, load):
        yield _placed((*delta.at, *parts), entry)


def changed_entries(before: Digest, delta: PlacedTree, load: Loader) -> Iterator[DeltaEntry]:
    """What has to be written to have a placed tree where the tree `before` is placed: that comes to the same.

    Directories that are equal are not read. A directory comes before what is in it.
    """
    yield from _above(delta, opaque=False)
    pending = [(delta.at, before, delta.tree)]
    while pending:
        at, old_tree, new_tree = pending.pop()
        old, new = load(old_tree), load(new_tree)
        for name in sorted(old.keys() | new.keys()):
            was, now, parts = old.get(name), new.get(name), (*at, name)
            if was == now:
                continue
            if now is None:
                yield DeltaEntry(parts=parts, kind=DeltaKind.DELETED)
                continue
            yield _placed(parts, now)
            if now.kind is not Kind.DIRECTORY:
                continue
            if was is not None and was.kind is Kind.DIRECTORY:
                pending.append((parts, was.content, now.content))
            else:
                yield from (_placed((*parts, *below), entry) for below, entry in walk(now.content, load))


def _above(delta: PlacedTree, *, opaque: bool) -> Iterator[DeltaEntry]:
    """The directories that lead to a placed tree, and the one it stands in."""
    for depth in range(1, len(delta.at) + 1):
        yield DeltaEntry(
            parts=delta.at[:depth],
            kind=DeltaKind.DIRECTORY,
            mode=0o755,
            opaque=opaque and depth == len(delta.at),
            mtime_s=PLACED_MTIME_S,
        )


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
