"""Writes a state into a directory of the host."""

from __future__ import annotations

import os
import shutil
import time
from typing import TYPE_CHECKING, Final

import attrs

from reeval_build.digest import BLOB, DELTA, TREE
from reeval_build.errors import InfraError
from reeval_build.paths import Parts
from reeval_build.state.delta import DeltaEntry, DeltaKind, decode
from reeval_build.state.placed import placed_entries
from reeval_build.state.state import PlacedTree
from reeval_build.tree import directory

if TYPE_CHECKING:
    from collections.abc import Iterable

    from reeval_build.ports.objects import Objects
    from reeval_build.state.state import State

_CHUNK_BYTES: Final = 1024 * 1024


@attrs.frozen
class Stamp:
    """What the file system says of a file that nobody touched."""

    inode: int
    size: int
    mode: int
    mtime_ns: int
    ctime_ns: int

    @classmethod
    def of(cls, status: os.stat_result) -> Stamp:
        """The stamp of a file as it is now."""
        return cls(status.st_ino, status.st_size, status.st_mode, status.st_mtime_ns, status.st_ctime_ns)


@attrs.frozen
class Restored:
    """What was written: each path's entry, and its stamp when all of it had been written."""

    entries: dict[Parts, DeltaEntry]
    stamps: dict[Parts, Stamp]


def restore(state: State, root: bytes, objects: Objects) -> Restored:
    """Write `state` below `root`, where the directories of the layout are.

    Raises:
        LostObjectError: when the store lacks a piece.
        InfraError: for what a host directory cannot have, such as a device; names the path.
    """
    writer = _Writer(root, objects)
    for delta in state.deltas:
        if isinstance(delta, PlacedTree):
            writer.apply(placed_entries(delta, lambda digest: directory.decode(objects.read(TREE, digest))))
        else:
            writer.apply(decode(objects.read(DELTA, delta.delta), objects.read(DELTA, delta.times)))
    writer.set_directory_times()
    stamps = {parts: Stamp.of(os.lstat(writer.path(parts))) for parts in writer.entries}
    _wait_for_next_tick(root, stamps.values())
    return Restored(writer.entries, stamps)


class _Writer:
    def __init__(self, root: bytes, objects: Objects) -> None:
        self._root = root
        self._objects = objects
        self.entries: dict[Parts, DeltaEntry] = {}

    def path(self, parts: Parts) -> bytes:
        return b"/".join((self._root, *parts))

    def apply(self, entries: Iterable[DeltaEntry]) -> None:
        for entry in entries:
            if entry.kind is DeltaKind.DIRECTORY and entry.opaque:
                self._remove_below(entry.parts)
            if entry.kind is DeltaKind.DELETED:
                self._remove(entry.parts)
            else:
                self._write(entry)

    def set_directory_times(self) -> None:
        """Last, for writing into a directory changes its time; deepest first."""
        for parts in sorted(self.entries, reverse=True):
            entry = self.entries[parts]
            if entry.kind is DeltaKind.DIRECTORY:
                os.utime(self.path(parts), (entry.mtime_s, entry.mtime_s))

    def _write(self, entry: DeltaEntry) -> None:
        existing = self.entries.get(entry.parts)
        stays = existing is not None and existing.kind is entry.kind is DeltaKind.DIRECTORY
        if not stays:
            self._remove(entry.parts)
        path = self.path(entry.parts)
        match entry.kind:
            case DeltaKind.DIRECTORY:
                if not stays and not os.path.isdir(path):
                    os.mkdir(path)
            case DeltaKind.FILE:
                self._write_file(path, entry)
            case DeltaKind.HARD_LINK:
                assert entry.target is not None, "a hard link has a target"
                os.link(self._root + b"/" + entry.target, path)
            case DeltaKind.SYMLINK:
                assert entry.target is not None, "a symbolic link has a target"
                os.symlink(entry.target, path)
            case DeltaKind.FIFO:
                os.mkfifo(path)
            case _:
                raise InfraError(f"{os.fsdecode(entry.path)} is a device, which a fake sandbox cannot have")
        if entry.kind is not DeltaKind.SYMLINK:
            os.chmod(path, entry.mode)
            os.utime(path, (entry.mtime_s, entry.mtime_s))
        self.entries[entry.parts] = entry

    def _write_file(self, path: bytes, entry: DeltaEntry) -> None:
        with self._objects.open(BLOB, entry.content) as source, open(path, "xb") as target:
            shutil.copyfileobj(source, target, _CHUNK_BYTES)

    def _remove(self, parts: Parts) -> None:
        path = self.path(parts)
        self._remove_below(parts)
        if self.entries.pop(parts, None) is None:
            return
        if os.path.isdir(path) and not os.path.islink(path):
            os.rmdir(path)
        else:
            os.unlink(path)

    def _remove_below(self, above: Parts) -> None:
        below = [parts for parts in self.entries if len(parts) > len(above) and parts[: len(above)] == above]
        for parts in sorted(below, reverse=True):
            entry = self.entries.pop(parts)
            remove = os.rmdir if entry.kind is DeltaKind.DIRECTORY else os.unlink
            remove(self.path(parts))


def _wait_for_next_tick(root: bytes, stamps: Iterable[Stamp]) -> None:
    """Wait until the file system's clock has moved on, so that any later change shows in a stamp."""
    newest = max((stamp.ctime_ns for stamp in stamps), default=0)
    while True:
        os.utime(root)
        if os.stat(root).st_ctime_ns > newest:
            return
        time.sleep(0.001)
