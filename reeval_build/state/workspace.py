"""The tree that a state has at one place, worked out from its deltas alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from reeval_build.state.delta import DeltaEntry, DeltaKind
from reeval_build.state.state import PlacedTree, State, StepDelta
from reeval_build.tree.directory import Entry
from reeval_build.tree.draft import Draft

if TYPE_CHECKING:
    from collections.abc import Iterable

    from reeval_build.paths import Parts
    from reeval_build.tree.directory import Loader

_OWNER_EXECUTES = 0o100


class DeltaLoader(Protocol):
    """Reads the entries of a step's delta."""

    def __call__(self, delta: StepDelta, /) -> Iterable[DeltaEntry]:
        """The entries, in order. Raises what the store raises when they are not there."""


def is_replaced(place: Parts, entries: Iterable[DeltaEntry]) -> bool:
    """Whether a delta leaves something else than a directory at `place`, or on the way to it."""
    return any(entry.parts == place[: len(entry.parts)] and entry.kind is not DeltaKind.DIRECTORY for entry in entries)


def tree_at(state: State, place: Parts, load: Loader, load_delta: DeltaLoader) -> Draft:
    """The files at `place` in `state`, where `place` is where a placed tree of the state stands.

    What the base has at `place` is not seen: the workspace is always placed with `replaces`. Fifos and devices are
    left out, for a tree has none.
    """
    draft = Draft(load)
    for delta in state.deltas:
        if isinstance(delta, StepDelta):
            apply_entries(draft, place, load_delta(delta))
        elif delta.at == place:
            draft = _placed(draft, delta, load)
    return draft


def _placed(draft: Draft, delta: PlacedTree, load: Loader) -> Draft:
    if delta.replaces:
        return Draft(load, delta.tree)
    draft.overlay(delta.tree)
    return draft


def apply_entries(draft: Draft, place: Parts, entries: Iterable[DeltaEntry]) -> None:
    """Change `draft`, the tree at `place`, as the entries of a delta say."""
    for entry in entries:
        if entry.parts[: len(place)] == place:
            _apply(draft, entry.parts[len(place) :], entry)
        elif entry.parts == place[: len(entry.parts)] and (entry.opaque or entry.kind is not DeltaKind.DIRECTORY):
            draft.clear(())


def _apply(draft: Draft, parts: Parts, entry: DeltaEntry) -> None:
    if not parts:
        if entry.opaque or entry.kind is not DeltaKind.DIRECTORY:
            draft.clear(())
        return
    match entry.kind:
        case DeltaKind.DIRECTORY:
            if entry.opaque:
                draft.clear(parts)
            else:
                draft.make_room(parts)
        case DeltaKind.FILE | DeltaKind.HARD_LINK:
            executable = bool(entry.mode & _OWNER_EXECUTES)
            draft.replace(parts, Entry.file(entry.content, entry.size, executable=executable))
        case DeltaKind.SYMLINK:
            assert entry.target is not None, "a symbolic link has a target"
            draft.replace(parts, Entry.symlink(entry.target))
        case _:
            draft.remove(parts)
