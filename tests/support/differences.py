"""Works out, in the plainest way, deltas that lead from one tree to another."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hypothesis import strategies as st

from reeval_build.state.delta import DeltaEntry, DeltaKind, in_order
from reeval_build.tree.directory import Entry, Kind

if TYPE_CHECKING:
    from collections.abc import Iterator

    from reeval_build.paths import Parts
    from tests.support.directories import Model

_NOT_IN_TREES = st.sampled_from([DeltaKind.DELETED, DeltaKind.FIFO, DeltaKind.CHARACTER_DEVICE, DeltaKind.BLOCK_DEVICE])


def delta_between(before: Model, after: Model, *, at: Parts, draw: st.DrawFn) -> tuple[DeltaEntry, ...]:
    """One of the many deltas that turn `before`, a tree at `at`, into `after`: which one is drawn.

    What has to be said is said in any of the ways a layer can say it, and what need not be said may be.
    """
    return in_order(_difference(before, after, at, draw))


def _difference(before: Model, after: Model, above: Parts, draw: st.DrawFn) -> Iterator[DeltaEntry]:
    for name in before.keys() | after.keys():
        parts, old, new = (*above, name), before.get(name), after.get(name)
        if new is None:
            yield DeltaEntry(parts=parts, kind=draw(_NOT_IN_TREES), mode=0o644)
        elif isinstance(new, Entry):
            if old != new or draw(st.booleans()):
                yield _leaf(parts, new, draw)
        else:
            yield from _directory(parts, old, new, draw)


def _directory(parts: Parts, old: Entry | Model | None, new: Model, draw: st.DrawFn) -> Iterator[DeltaEntry]:
    merges = isinstance(old, dict) and draw(st.booleans())
    hides = isinstance(old, dict) and not merges
    below = list(_difference(old if merges and isinstance(old, dict) else {}, new, parts, draw))
    goes_without_saying = merges or (bool(below) and not hides)
    if not goes_without_saying or draw(st.booleans()):
        opaque = hides or (not merges and draw(st.booleans()))
        yield DeltaEntry(parts=parts, kind=DeltaKind.DIRECTORY, mode=0o755, opaque=opaque)
    yield from below


def _leaf(parts: Parts, entry: Entry, draw: st.DrawFn) -> DeltaEntry:
    if entry.kind is Kind.SYMLINK:
        return DeltaEntry(parts=parts, kind=DeltaKind.SYMLINK, mode=0o777, target=entry.target)
    executes = 0o100 if entry.kind is Kind.EXECUTABLE else 0
    mode = executes | draw(st.sampled_from([0o600, 0o644, 0o055, 0o4011]))
    linked = draw(st.booleans())
    return DeltaEntry(
        parts=parts,
        kind=DeltaKind.HARD_LINK if linked else DeltaKind.FILE,
        mode=mode,
        digest=entry.digest,
        size=entry.size,
        target=b"some/other/name" if linked else None,
    )
