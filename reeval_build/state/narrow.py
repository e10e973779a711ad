"""A state that has only some paths of a workspace, and what a step did in it put on the whole.

`docs/adr/0013-declared-inputs.md` says what comes out, and why.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs

from reeval_build.paths import PathError, display
from reeval_build.state.delta import DeltaEntry, DeltaKind, in_order
from reeval_build.tree.directory import Entry, Kind
from reeval_build.tree.draft import Draft

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from reeval_build.digest import Digest
    from reeval_build.paths import Parts
    from reeval_build.tree.directory import Loader


def selected(whole: Digest, paths: Iterable[Parts], load: Loader) -> Draft:
    """The tree `whole` with nothing in it but `paths`, and all that is in those that are directories.

    Raises:
        PathError: for a path that is not there; links are not followed.
    """
    there, draft = Draft(load, whole), Draft(load)
    taken: set[Parts] = set()
    for parts in sorted(set(paths)):
        entry = there.get(parts)
        if entry is None:
            raise PathError(b"/".join(parts), _absence(there, parts))
        if not any(parts[:length] in taken for length in range(1, len(parts))):
            draft.put(parts, entry)
            taken.add(parts)
    return draft


def _absence(there: Draft, parts: Parts) -> str:
    for length in range(1, len(parts)):
        entry = there.get(parts[:length])
        if entry is None:
            break
        if entry.kind is not Kind.DIRECTORY:
            what = "a link, which is not followed" if entry.kind is Kind.SYMLINK else "no directory"
            return f"is not in the workspace: {display(b'/'.join(parts[:length]))!r} is {what}"
    return "is not in the workspace"


def outside(place: Parts, entries: Iterable[DeltaEntry]) -> tuple[DeltaEntry, ...]:
    """What the entries of a delta say of everything but `place` and what is in it.

    A hard link to a file in there is a file of its own, and the first of several is the one that the others link to.
    """
    kept: list[DeltaEntry] = []
    files: dict[bytes | None, bytes] = {}
    inside = b"/".join((*place, b""))
    for entry in entries:
        if _is_in(place, entry):
            continue
        if entry.kind is DeltaKind.HARD_LINK and (entry.target or b"").startswith(inside):
            if entry.target in files:
                kept.append(attrs.evolve(entry, target=files[entry.target]))
            else:
                files[entry.target] = entry.path
                kept.append(attrs.evolve(entry, kind=DeltaKind.FILE, target=None))
        else:
            kept.append(entry)
    return in_order(kept)


def on_the_whole(
    entries: Iterable[DeltaEntry], place: Parts, *, seen: Digest, whole: Digest, load: Loader
) -> tuple[DeltaEntry, ...]:
    """The delta of a step that saw only the tree `seen` at `place`, as one on a state that has the tree `whole` there.

    What the step wrote is as it wrote it, whatever the whole has in its way. What it deleted is deleted as far as it
    saw it: a directory stays for what else is in it. `seen` must be a part of `whole`.
    """
    written = {entry.parts: entry for entry in entries}
    hidden = _Hidden(written, place, seen, whole, load)
    result: dict[Parts, DeltaEntry] = {}
    for entry in written.values():
        if not _is_in(place, entry):
            result[entry.parts] = entry
        elif entry.kind is DeltaKind.DELETED:
            result.update((one.parts, one) for one in hidden.deleted(entry.parts))
        else:
            result[entry.parts] = attrs.evolve(entry, opaque=False)
            if entry.opaque:
                result.update((one.parts, one) for one in hidden.emptied(entry.parts))
    return in_order(result.values())


def _is_in(place: Parts, entry: DeltaEntry) -> bool:
    return entry.parts[: len(place)] == place


class _Hidden:
    """Says what of a workspace a step took away, path by path."""

    def __init__(
        self, written: dict[Parts, DeltaEntry], place: Parts, seen: Digest, whole: Digest, load: Loader
    ) -> None:
        self._written = written
        self._has_something_in_it = {
            path[:length]
            for path, entry in written.items()
            if entry.kind is not DeltaKind.DELETED
            for length in range(1, len(path))
        }
        self._place = place
        self._seen = _Reader(seen, load)
        self._whole = _Reader(whole, load)
        self._load = load

    def deleted(self, path: Parts) -> Iterator[DeltaEntry]:
        """What is gone when the step deleted `path`: as much of it as it saw."""
        pending = [path]
        while pending:
            path = pending.pop()
            seen = self._seen.at(path[len(self._place) :])
            if seen is None:
                continue
            if seen.kind is Kind.DIRECTORY and seen != self._whole.at(path[len(self._place) :]):
                pending += [(*path, name) for name in self._load(seen.content)]
            else:
                yield DeltaEntry(parts=path, kind=DeltaKind.DELETED)

    def emptied(self, path: Parts) -> Iterator[DeltaEntry]:
        """What is gone when the step left a directory at `path` that has nothing of the one that it saw."""
        pending = [path]
        while pending:
            path = pending.pop()
            seen = self._seen.at(path[len(self._place) :])
            if seen is None or seen.kind is not Kind.DIRECTORY:
                continue
            for name in self._load(seen.content):
                below = (*path, name)
                entry = self._written.get(below)
                if entry is None and below not in self._has_something_in_it:
                    yield from self.deleted(below)
                elif entry is None or (entry.kind is DeltaKind.DIRECTORY and not entry.opaque):
                    pending.append(below)


class _Reader:
    """Looks things up in a tree."""

    def __init__(self, root: Digest, load: Loader) -> None:
        self._root = root
        self._draft = Draft(load, root)

    def at(self, parts: Parts) -> Entry | None:
        """What is at a path, if anything is."""
        return self._draft.get(parts) if parts else Entry.directory(self._root)
