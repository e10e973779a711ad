"""Writes a state into a directory of the host."""

from __future__ import annotations

import errno
import os
import stat
import time
from functools import partial
from typing import TYPE_CHECKING, Final

import attrs

from reeval_build.digest import BLOB, CHUNK_BYTES, DELTA, TREE
from reeval_build.engines.fake.outline import Outline
from reeval_build.errors import InfraError
from reeval_build.paths import Parts, display, display_apart, display_briefly
from reeval_build.state.delta import DeltaEntry, DeltaKind, decode
from reeval_build.state.placed import PLACED_MTIME_S, placed_entries
from reeval_build.state.state import PlacedTree
from reeval_build.tree import directory
from reeval_build.tree.twins import folded

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from types import TracebackType
    from typing import Self

    from reeval_build.engines.fake.outline import Inode
    from reeval_build.ports.objects import Objects
    from reeval_build.state.state import State

_SMALL_BYTES: Final = 256 * 1024
_WHILE_WRITTEN: Final = 0o700
_NEW_FILE: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


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
    outline = Outline()
    outline.apply(
        DeltaEntry(parts=parts, kind=DeltaKind.DIRECTORY, mode=0o755, mtime_s=PLACED_MTIME_S) for parts in places
    )
    for delta in state.deltas:
        if isinstance(delta, PlacedTree):
            outline.apply(placed_entries(delta, lambda digest: directory.decode(objects.read(TREE, digest))))
        else:
            outline.apply(decode(objects.read(DELTA, delta.delta), objects.read(DELTA, delta.times)))
    stamps = _Writer(root, outline, objects).write()
    _wait_for_next_tick(root, stamps.values())
    return Restored(outline.entries, stamps)


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
    """Writes what an outline has into an empty directory, each thing once; `stamps` has what was written."""

    def __init__(self, root: bytes, outline: Outline, objects: Objects) -> None:
        self._root = root
        self._outline = outline
        self._objects = objects
        self._stamps: dict[Parts, Stamp] = {}

    def write(self) -> dict[Parts, Stamp]:
        entries = self._outline.entries
        directories = sorted(self._outline.names.keys() & entries.keys())
        for parts in directories:
            with _Making(parts, self._root, self._outline):
                os.mkdir(self._path(parts), _WHILE_WRITTEN)
        self._write_files()
        for parts, entry in entries.items():
            if parts not in self._stamps and parts not in self._outline.names:
                self._make(entry)
        # Last, for writing into a directory changes its time, and its mode may forbid it; deepest first, for a mode
        # may also forbid to go to what is below.
        for parts in reversed(directories):
            entry, path = entries[parts], self._path(parts)
            os.utime(path, (entry.mtime_s, entry.mtime_s))
            os.chmod(path, entry.mode)
            self._stamp(parts)
        return self._stamps

    def _write_files(self) -> None:
        """Write every file under the first of its names, small ones as they come from the store together."""
        by_name = sorted(self._outline.inodes.items())
        files = sorted({id(inode): (parts, inode) for parts, inode in reversed(by_name)}.values())
        small = [(parts, inode) for parts, inode in files if inode.size <= _SMALL_BYTES]
        contents = self._objects.read_all(BLOB, (inode.content for _parts, inode in small))
        with _Directories(self._path) as directories:
            for (parts, inode), content in zip(small, contents, strict=True):
                self._write(directories.of(parts), parts, inode, (content,))
            for parts, inode in files:
                if inode.size > _SMALL_BYTES:
                    with self._objects.open(BLOB, inode.content) as source:
                        self._write(directories.of(parts), parts, inode, iter(partial(source.read, CHUNK_BYTES), b""))
        self._link(by_name)

    def _write(self, directory: int, parts: Parts, inode: Inode, chunks: Iterable[bytes]) -> None:
        with _Making(parts, self._root, self._outline):
            descriptor = os.open(parts[-1], _NEW_FILE, inode.mode, dir_fd=directory)
        try:
            for chunk in chunks:
                _write_all(descriptor, chunk)
            os.utime(descriptor, (inode.mtime_s, inode.mtime_s))
            status = os.fstat(descriptor)
            if stat.S_IMODE(status.st_mode) != inode.mode:
                os.fchmod(descriptor, inode.mode)
                status = os.fstat(descriptor)
        finally:
            os.close(descriptor)
        self._stamps[parts] = Stamp.of(status)

    def _link(self, by_name: Iterable[tuple[Parts, Inode]]) -> None:
        """Make the other names of files that have several, which all of them show in their stamps."""
        linked = [(parts, inode) for parts, inode in by_name if inode.names > 1]
        first: dict[int, Parts] = {}
        for parts, inode in linked:
            if first.setdefault(id(inode), parts) != parts:
                with _Making(parts, self._root, self._outline):
                    os.link(self._path(first[id(inode)]), self._path(parts))
        for parts, _inode in linked:
            self._stamp(parts)

    def _make(self, entry: DeltaEntry) -> None:
        path = self._path(entry.parts)
        with _Making(entry.parts, self._root, self._outline):
            if entry.kind is DeltaKind.SYMLINK:
                assert entry.target is not None, "a symbolic link has a target"
                os.symlink(entry.target, path)
            else:
                os.mkfifo(path)
                os.chmod(path, entry.mode)
                os.utime(path, (entry.mtime_s, entry.mtime_s))
        self._stamp(entry.parts)

    def _path(self, parts: Parts) -> bytes:
        return b"/".join((self._root, *parts))

    def _stamp(self, parts: Parts) -> None:
        self._stamps[parts] = Stamp.of(os.lstat(self._path(parts)))


class _Making:
    """While something is made at a path of an outline: says what the matter is when it cannot be."""

    def __init__(self, parts: Parts, root: bytes, outline: Outline) -> None:
        self._parts = parts
        self._root = root
        self._outline = outline

    def __enter__(self) -> None:
        """Begin."""

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Raise what names the path, or the twin that is there."""
        if isinstance(error, FileExistsError):
            above, own = self._parts[:-1], self._parts[-1]
            alike = (name for name in self._outline.names[above] if name != own and folded(name) == folded(own))
            twin = next(alike, None)
            if twin is not None:
                raise TwinNamesError(((*above, twin), self._parts), display(self._root)) from error
        if isinstance(error, OSError) and error.errno == errno.ENAMETOOLONG:
            path, reason = display_briefly(b"/".join(self._parts)), (error.strerror or str(error)).lower()
            raise InfraError(f"{path} cannot be restored: {reason}") from error


class _Directories:
    """Opens the directory that a file is in, and keeps it open for the next one."""

    def __init__(self, path_of: Callable[[Parts], bytes]) -> None:
        self._path_of = path_of
        self._parts: Parts | None = None
        self._descriptor = -1

    def of(self, parts: Parts) -> int:
        """The directory of what is at `parts`."""
        if self._parts != parts[:-1]:
            self._close()
            self._descriptor = os.open(self._path_of(parts[:-1]), os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            self._parts = parts[:-1]
        return self._descriptor

    def _close(self) -> None:
        if self._parts is not None:
            self._parts = None
            os.close(self._descriptor)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._close()


def _write_all(descriptor: int, data: bytes) -> None:
    written = os.write(descriptor, data)
    while written < len(data):
        written += os.write(descriptor, memoryview(data)[written:])


def _wait_for_next_tick(root: bytes, stamps: Iterable[Stamp]) -> None:
    """Wait until the file system's clock has moved on, so that any later change shows in a stamp."""
    newest = max((stamp.ctime_ns for stamp in stamps), default=0)
    while True:
        os.utime(root)
        if os.stat(root).st_ctime_ns > newest:
            return
        time.sleep(0.001)
