"""A tree that is being changed: only what is touched is loaded, only what changed is saved."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reeval_build.paths import PathError, display
from reeval_build.tree.directory import Directory, Entry, Kind, Loader, Saver, walk

if TYPE_CHECKING:
    from reeval_build.digest import Digest
    from reeval_build.paths import Parts


class _Open:
    """A directory of a draft that has been loaded."""

    def __init__(self, entries: Directory, origin: Digest | None) -> None:
        self.entries = entries
        self.open: dict[bytes, _Open] = {}
        self.origin = origin

    def touch(self) -> None:
        self.origin = None

    @property
    def saved(self) -> Digest:
        assert self.origin is not None, "a directory is saved after those in it"
        return self.origin


class Draft:
    """A tree under construction, on top of an existing one or of nothing."""

    def __init__(self, load: Loader, origin: Digest | None = None) -> None:
        self._load = load
        self._root = _Open({} if origin is None else dict(load(origin)), origin)

    def get(self, parts: Parts) -> Entry | None:
        """The entry at `parts`, or None. A directory that was changed here has an outdated digest."""
        above = self._find(parts[:-1])
        return None if above is None else above.entries.get(parts[-1])

    def put(self, parts: Parts, entry: Entry) -> None:
        """Put a file or a link at `parts`, in place of a file or link that is there.

        Raises:
            PathError: when that would go through something that is not a directory, or replace a directory.
        """
        above = self._make_directories(parts[:-1], parts)
        existing = above.entries.get(parts[-1])
        if existing is not None and existing.kind is Kind.DIRECTORY:
            raise PathError(b"/".join(parts), "would replace a directory")
        if existing != entry:
            above.entries[parts[-1]] = entry
            self._touch(parts[:-1])

    def make_directory(self, parts: Parts) -> None:
        """Make sure that a directory is at `parts`. Raises PathError when something else is there."""
        self._make_directories(parts, parts)

    def replace(self, parts: Parts, entry: Entry) -> None:
        """Put an entry at `parts` whatever is there now, making directories above it in place of anything else.

        What a layer of an image does; `put` is what an author's file does.
        """
        self.make_room(parts[:-1])
        above = self._make_directories(parts[:-1], parts)
        above.open.pop(parts[-1], None)
        above.entries[parts[-1]] = entry
        self._touch(parts[:-1])

    def make_room(self, parts: Parts) -> None:
        """Make sure that a directory is at `parts`, in place of whatever else is there on the way."""
        directory: _Open | None = self._root
        for depth, name in enumerate(parts):
            assert directory is not None, "what is there and no other thing is a directory"
            existing = directory.entries.get(name)
            if existing is None:
                break
            if existing.kind is not Kind.DIRECTORY:
                self.remove(parts[: depth + 1])
                break
            directory = self._descend(directory, name)
        self._make_directories(parts, parts)

    def remove(self, parts: Parts) -> None:
        """Remove what is at `parts`, if anything is."""
        above = self._find(parts[:-1])
        if above is not None and above.entries.pop(parts[-1], None) is not None:
            above.open.pop(parts[-1], None)
            self._touch(parts[:-1])

    def clear(self, parts: Parts) -> None:
        """Empty the directory at `parts`, making it if it is not there."""
        self.make_room(parts)
        directory = self._find(parts)
        assert directory is not None, "it was just made"
        directory.entries.clear()
        directory.open.clear()
        self._touch(parts)

    def overlay(self, tree: Digest) -> None:
        """Put every file, link and directory of `tree` over this one. Raises PathError as `put` does."""
        for parts, entry in walk(tree, self._load):
            if entry.kind is Kind.DIRECTORY:
                self.make_directory(parts)
            else:
                self.put(parts, entry)

    def save(self, keep: Saver) -> Digest:
        """Keep every changed directory, deepest first, and return the digest of the whole."""
        for directory in reversed(self._changed()):
            for name, opened in directory.open.items():
                directory.entries[name] = Entry.directory(opened.saved)
            directory.origin = keep(directory.entries)
        return self._root.saved

    def _changed(self) -> list[_Open]:
        """The directories that changed, each before those in it."""
        changed: list[_Open] = []
        pending = [self._root]
        while pending:
            directory = pending.pop()
            if directory.origin is None:
                changed.append(directory)
                pending.extend(directory.open.values())
        return changed

    def _find(self, parts: Parts) -> _Open | None:
        directory: _Open | None = self._root
        for name in parts:
            directory = None if directory is None else self._descend(directory, name)
        return directory

    def _descend(self, directory: _Open, name: bytes) -> _Open | None:
        if name not in directory.open:
            entry = directory.entries.get(name)
            if entry is None or entry.kind is not Kind.DIRECTORY:
                return None
            directory.open[name] = _Open(dict(self._load(entry.content)), entry.content)
        return directory.open[name]

    def _make_directories(self, parts: Parts, wanted: Parts) -> _Open:
        directory = self._root
        for depth, name in enumerate(parts):
            below = self._descend(directory, name)
            if below is None:
                if name in directory.entries:
                    blocker = display(b"/".join(parts[: depth + 1]))
                    raise PathError(b"/".join(wanted), f"goes through {blocker!r}, which is not a directory")
                below = _Open({}, None)
                directory.open[name] = below
                directory.entries[name] = _UNSAVED
                self._touch(parts[:depth])
            directory = below
        return directory

    def _touch(self, parts: Parts) -> None:
        directory = self._root
        directory.touch()
        for name in parts:
            directory = directory.open[name]
            directory.touch()


_UNSAVED = Entry(Kind.DIRECTORY)
