"""Writes a state into a directory of the host."""

from __future__ import annotations

import errno
import os
import shutil
import time
from typing import TYPE_CHECKING, Final

import attrs

from reeval_build.digest import BLOB, DELTA, TREE
from reeval_build.errors import InfraError
from reeval_build.paths import Parts, display, display_apart, display_briefly, split
from reeval_build.state.delta import DeltaEntry, DeltaKind, decode
from reeval_build.state.placed import PLACED_MTIME_S, placed_entries
from reeval_build.state.state import PlacedTree
from reeval_build.tree import directory
from reeval_build.tree.twins import folded

if TYPE_CHECKING:
    from collections.abc import Iterable

    from reeval_build.ports.objects import Objects
    from reeval_build.state.state import State

_CHUNK_BYTES: Final = 1024 * 1024
_WHILE_WRITTEN: Final = 0o700


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


def restore(state: State, root: bytes, places: Iterable[Parts], objects: Objects) -> Restored:
    """Write `state` below the directory `root`, on top of an empty directory at each of `places`.

    Raises:
        LostObjectError: when the store lacks a piece.
        InfraError: for what a host directory cannot have, such as a device, and for what is in no directory of the
            state; names the path.
        TwinNamesError: when the file system does not tell two names apart.
    """
    writer = _Writer(root, objects)
    writer.apply(
        DeltaEntry(parts=parts, kind=DeltaKind.DIRECTORY, mode=0o755, mtime_s=PLACED_MTIME_S) for parts in places
    )
    for delta in state.deltas:
        if isinstance(delta, PlacedTree):
            writer.apply(placed_entries(delta, lambda digest: directory.decode(objects.read(TREE, digest))))
        else:
            writer.apply(decode(objects.read(DELTA, delta.delta), objects.read(DELTA, delta.times)))
    stamps = writer.finish()
    _wait_for_next_tick(root, stamps.values())
    return Restored(writer.entries, stamps)


class TwinNamesError(InfraError):
    """Names that differ in case or Unicode form only, on a file system that does not tell them apart."""

    def __init__(self, paths: tuple[Parts, Parts], root: str) -> None:
        one, other = display_apart(paths)
        super().__init__(
            f'"{one}" and "{other}" are one name on the file system of {root}',
            hint="rename one of them, or put the store, or the `dir` of the sandbox, where they are told apart",
        )
        self.paths = paths


class _Writer:
    """Writes entries, and knows what is there: only what it wrote itself, and nothing without its directory."""

    def __init__(self, root: bytes, objects: Objects) -> None:
        self._root = root
        self._objects = objects
        self._names: dict[Parts, set[bytes]] = {(): set()}
        self.entries: dict[Parts, DeltaEntry] = {}

    def apply(self, entries: Iterable[DeltaEntry]) -> None:
        for entry in entries:
            if entry.kind is DeltaKind.DELETED:
                self._remove(entry.parts)
            elif entry.kind is DeltaKind.DIRECTORY and entry.parts in self._names:
                if entry.opaque:
                    self._remove_below(entry.parts)
                self.entries[entry.parts] = entry
            else:
                self._remove(entry.parts)
                self._write(entry)

    def finish(self) -> dict[Parts, Stamp]:
        """Give directories their times and modes; every path's stamp.

        Last, for writing into a directory changes its time, and its mode may forbid it; deepest first, for a mode may
        also forbid to go to what is below.
        """
        directories = sorted(self._names.keys() & self.entries.keys(), reverse=True)
        stamps = {parts: self._stamp(parts) for parts in self.entries if parts not in self._names}
        for parts in directories:
            entry, path = self.entries[parts], self._path(parts)
            os.utime(path, (entry.mtime_s, entry.mtime_s))
            os.chmod(path, entry.mode)
            stamps[parts] = self._stamp(parts)
        return stamps

    def _path(self, parts: Parts) -> bytes:
        return b"/".join((self._root, *parts))

    def _stamp(self, parts: Parts) -> Stamp:
        return Stamp.of(os.lstat(self._path(parts)))

    def _write(self, entry: DeltaEntry) -> None:
        names = self._names.get(entry.parts[:-1])
        if names is None:
            # Never through what may be a symbolic link that leads to the user's own files.
            raise InfraError(f"{display(entry.path)} cannot be restored: what it is in is no directory of the state")
        try:
            self._make(self._path(entry.parts), entry)
        except FileExistsError as error:
            twin = next((name for name in names if folded(name) == folded(entry.parts[-1])), None)
            if twin is None:
                raise
            raise TwinNamesError(((*entry.parts[:-1], twin), entry.parts), display(self._root)) from error
        except OSError as error:
            if error.errno != errno.ENAMETOOLONG:
                raise
            reason = (error.strerror or str(error)).lower()
            raise InfraError(f"{display_briefly(entry.path)} cannot be restored: {reason}") from error
        names.add(entry.parts[-1])
        self.entries[entry.parts] = entry

    def _make(self, path: bytes, entry: DeltaEntry) -> None:
        match entry.kind:
            case DeltaKind.DIRECTORY:
                os.mkdir(path, _WHILE_WRITTEN)
                self._names[entry.parts] = set()
            case DeltaKind.FILE:
                self._write_file(path, entry)
            case DeltaKind.HARD_LINK:
                os.link(self._path(self._linked(entry)), path)
            case DeltaKind.SYMLINK:
                assert entry.target is not None, "a symbolic link has a target"
                os.symlink(entry.target, path)
            case DeltaKind.FIFO:
                os.mkfifo(path)
            case _:
                raise InfraError(f"{display(entry.path)} is a device, which a fake sandbox cannot have")
        if entry.kind not in {DeltaKind.SYMLINK, DeltaKind.DIRECTORY}:
            os.chmod(path, entry.mode)
            os.utime(path, (entry.mtime_s, entry.mtime_s))

    def _write_file(self, path: bytes, entry: DeltaEntry) -> None:
        with self._objects.open(BLOB, entry.content) as source, open(path, "xb") as target:
            shutil.copyfileobj(source, target, _CHUNK_BYTES)

    def _linked(self, entry: DeltaEntry) -> Parts:
        assert entry.target is not None, "a hard link has a target"
        parts = split(entry.target)
        linked = self.entries.get(parts)
        if linked is None or linked.kind not in {DeltaKind.FILE, DeltaKind.HARD_LINK}:
            raise InfraError(f"{display(entry.path)} cannot be restored: it is a link to no file of the state")
        return parts

    def _remove(self, parts: Parts) -> None:
        if parts in self.entries:
            self._remove_below(parts)
            self._remove_one(parts)

    def _remove_below(self, above: Parts) -> None:
        below = [above]
        for parts in below:
            below += [(*parts, name) for name in self._names.get(parts, ())]
        for parts in reversed(below[1:]):
            self._remove_one(parts)

    def _remove_one(self, parts: Parts) -> None:
        remove = os.unlink if self._names.pop(parts, None) is None else os.rmdir
        remove(self._path(parts))
        self._names[parts[:-1]].remove(parts[-1])
        del self.entries[parts]


def _wait_for_next_tick(root: bytes, stamps: Iterable[Stamp]) -> None:
    """Wait until the file system's clock has moved on, so that any later change shows in a stamp."""
    newest = max((stamp.ctime_ns for stamp in stamps), default=0)
    while True:
        os.utime(root)
        if os.stat(root).st_ctime_ns > newest:
            return
        time.sleep(0.001)
