"""What is where after some deltas, before any of it is written."""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs

from reeval_build.digest import Digest
from reeval_build.errors import InfraError
from reeval_build.paths import Parts, display, split
from reeval_build.state.delta import DeltaEntry, DeltaKind

if TYPE_CHECKING:
    from collections.abc import Iterable


@attrs.define
class Inode:
    """A file, whatever its names are: links of one file have the mode and the time that was said last."""

    content: Digest
    size: int
    mode: int
    mtime_s: int
    names: int = 1


class Outline:
    """The entries of deltas that are applied, one after the other, to nothing.

    `entries` has what is at each path, `names` what is in each directory, and `inodes` the file that is at a path.
    Nothing is without its directory, and no directory is a link to one.
    """

    def __init__(self) -> None:
        self.entries: dict[Parts, DeltaEntry] = {}
        self.names: dict[Parts, set[bytes]] = {(): set()}
        self.inodes: dict[Parts, Inode] = {}

    def apply(self, entries: Iterable[DeltaEntry]) -> None:
        """Put the entries of a delta on what there is.

        Raises:
            InfraError: for what a directory of the host cannot have, and for what is in no directory of the state;
                names the path.
        """
        for entry in entries:
            if entry.kind is DeltaKind.DELETED:
                self._remove(entry.parts)
            elif entry.kind is DeltaKind.DIRECTORY and entry.parts in self.names:
                if entry.opaque:
                    self._remove_below(entry.parts)
                self.entries[entry.parts] = entry
            else:
                self._remove(entry.parts)
                self._put(entry)

    def _put(self, entry: DeltaEntry) -> None:
        parts = entry.parts
        names = self.names.get(parts[:-1])
        if names is None:
            # Never through what may be a symbolic link that leads to the user's own files.
            raise InfraError(f"{display(entry.path)} cannot be restored: what it is in is no directory of the state")
        match entry.kind:
            case DeltaKind.FILE:
                self.inodes[parts] = Inode(entry.content, entry.size, entry.mode, entry.mtime_s)
            case DeltaKind.DIRECTORY:
                self.names[parts] = set()
            case DeltaKind.HARD_LINK:
                inode = self.inodes[parts] = self._linked(entry)
                inode.mode, inode.mtime_s = entry.mode, entry.mtime_s
                inode.names += 1
            case DeltaKind.SYMLINK | DeltaKind.FIFO:
                pass
            case _:
                raise InfraError(f"{display(entry.path)} is a device, which a fake sandbox cannot have")
        names.add(parts[-1])
        self.entries[parts] = entry

    def _linked(self, entry: DeltaEntry) -> Inode:
        assert entry.target is not None, "a hard link has a target"
        inode = self.inodes.get(split(entry.target))
        if inode is None:
            raise InfraError(f"{display(entry.path)} cannot be restored: it is a link to no file of the state")
        return inode

    def _remove(self, parts: Parts) -> None:
        if parts in self.entries:
            self._remove_below(parts)
            self._remove_one(parts)

    def _remove_below(self, above: Parts) -> None:
        below = [above]
        for parts in below:
            below += [(*parts, name) for name in self.names.get(parts, ())]
        for parts in reversed(below[1:]):
            self._remove_one(parts)

    def _remove_one(self, parts: Parts) -> None:
        self.names.pop(parts, None)
        inode = self.inodes.pop(parts, None)
        if inode is not None:
            inode.names -= 1
        self.names[parts[:-1]].remove(parts[-1])
        del self.entries[parts]
