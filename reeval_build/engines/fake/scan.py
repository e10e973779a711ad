"""Reads what differs in a directory from the state that was written into it."""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING, Final

import attrs

from reeval_build.digest import BLOB
from reeval_build.engines.fake.restore import Restored, Stamp
from reeval_build.errors import InfraError
from reeval_build.paths import PathError, check_name, display_briefly
from reeval_build.state.delta import DeltaEntry, DeltaKind, in_order

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from reeval_build.paths import Parts
    from reeval_build.ports.objects import Batch

_PERMISSIONS: Final = 0o7777


def scan(root: bytes, places: Iterable[Parts], restored: Restored, batch: Batch) -> tuple[DeltaEntry, ...]:
    """What was made, changed or deleted below `places` since `restored` was written.

    Owners are not looked at, for a fake sandbox has none. A file that was touched and is the same is left out.

    Raises:
        InfraError: for a name that cannot stand in a tree, or a file that cannot be read; names the path.
    """
    seen: dict[Parts, os.stat_result] = {}
    try:
        for place in places:
            seen.update(_walk(root, place))
        changed = list(_Reader(root, restored, seen, batch).read())
    except OSError as error:
        path = os.fsencode(error.filename or root).removeprefix(root + b"/")
        raise InfraError(f"{display_briefly(path)} in the sandbox cannot be read: {error.strerror}") from error
    directories = {(), *(parts for parts, status in seen.items() if stat.S_ISDIR(status.st_mode))}
    topmost = (parts for parts in restored.entries if parts not in seen and parts[:-1] in directories)
    return in_order([*changed, *(DeltaEntry(parts=parts, kind=DeltaKind.DELETED) for parts in topmost)])


def _walk(root: bytes, place: Parts) -> Iterator[tuple[Parts, os.stat_result]]:
    """What there is at a place, and below it when it still is a directory and no link to one."""
    try:
        status = os.lstat(b"/".join((root, *place)))
    except FileNotFoundError:
        return
    yield place, status
    pending = [place] if stat.S_ISDIR(status.st_mode) else []
    while pending:
        above = pending.pop()
        with os.scandir(b"/".join((root, *above))) as entries:
            for entry in entries:
                parts = (*above, _checked(above, entry.name))
                status = entry.stat(follow_symlinks=False)
                yield parts, status
                if stat.S_ISDIR(status.st_mode):
                    pending.append(parts)


def _checked(above: Parts, name: bytes) -> bytes:
    try:
        return check_name(name)
    except PathError as error:
        path = b"/".join((*above, name))
        raise InfraError(f"{display_briefly(path)} in the sandbox cannot be kept: it {error.reason}") from error


class _Reader:
    def __init__(self, root: bytes, restored: Restored, seen: dict[Parts, os.stat_result], batch: Batch) -> None:
        self._root = root
        self._restored = restored
        self._seen = seen
        self._batch = batch
        self._by_inode: dict[tuple[int, int], DeltaEntry] = {}

    def read(self) -> Iterator[DeltaEntry]:
        for parts in sorted(self._seen):
            status = self._seen[parts]
            if self._restored.stamps.get(parts) == Stamp.of(status):
                self._note_inode(self._restored.entries[parts], status)
                continue
            entry = self._entry(parts, status)
            if entry is None:
                if parts in self._restored.entries:
                    yield DeltaEntry(parts=parts, kind=DeltaKind.DELETED)
            elif not self._is_same(entry):
                yield entry

    def _is_same(self, entry: DeltaEntry) -> bool:
        """Whether the entry says nothing new. Times are no difference."""
        before = self._restored.entries.get(entry.parts)
        return before is not None and attrs.evolve(before, uid=0, gid=0, xattrs=(), opaque=False) == entry

    def _entry(self, parts: Parts, status: os.stat_result) -> DeltaEntry | None:
        """What is at a path now, or None for what is not kept: a socket or a device."""
        path = b"/".join((self._root, *parts))
        mode, mtime_s = status.st_mode & _PERMISSIONS, int(status.st_mtime)
        if stat.S_ISDIR(status.st_mode):
            return DeltaEntry(parts=parts, kind=DeltaKind.DIRECTORY, mode=mode, mtime_s=mtime_s)
        if stat.S_ISLNK(status.st_mode):
            target = os.readlink(path)
            return DeltaEntry(
                parts=parts, kind=DeltaKind.SYMLINK, mode=0o777, size=len(target), target=target, mtime_s=mtime_s
            )
        if stat.S_ISFIFO(status.st_mode):
            return DeltaEntry(parts=parts, kind=DeltaKind.FIFO, mode=mode, mtime_s=mtime_s)
        if stat.S_ISREG(status.st_mode):
            return self._file(parts, path, status)
        return None

    def _file(self, parts: Parts, path: bytes, status: os.stat_result) -> DeltaEntry:
        first = self._by_inode.get((status.st_dev, status.st_ino)) if status.st_nlink > 1 else None
        if first is not None:
            return attrs.evolve(first, parts=parts, kind=DeltaKind.HARD_LINK, target=first.path)
        with open(path, "rb") as source:
            digest, size = self._batch.add_stream(BLOB, source)
        entry = DeltaEntry(
            parts=parts,
            kind=DeltaKind.FILE,
            mode=status.st_mode & _PERMISSIONS,
            digest=digest,
            size=size,
            mtime_s=int(status.st_mtime),
        )
        self._note_inode(entry, status)
        return entry

    def _note_inode(self, entry: DeltaEntry, status: os.stat_result) -> None:
        """Remember the first path of an inode that has several: the others become hard links to it."""
        if status.st_nlink > 1 and entry.kind is DeltaKind.FILE:
            self._by_inode.setdefault((status.st_dev, status.st_ino), entry)
