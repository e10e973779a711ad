"""Reading a container's changes from the overlay directory that has them: fast, on the engine's own host as root."""

from __future__ import annotations

import errno
import os
import stat
from typing import TYPE_CHECKING, Final

from reeval_build.engines.docker.changes import CAPABILITY, UnkeepableChangeError, add_bytes, checked
from reeval_build.engines.docker.connection import EngineRefusalError
from reeval_build.engines.docker.overlay import attribute, is_opaque, is_visible, is_whiteout
from reeval_build.state.delta import DeltaEntry, DeltaKind

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from reeval_build.digest import Digest
    from reeval_build.paths import Parts
    from reeval_build.ports.objects import Batch

_KINDS: Final = {
    stat.S_IFREG: DeltaKind.FILE,
    stat.S_IFDIR: DeltaKind.DIRECTORY,
    stat.S_IFLNK: DeltaKind.SYMLINK,
    stat.S_IFIFO: DeltaKind.FIFO,
    stat.S_IFCHR: DeltaKind.CHARACTER_DEVICE,
    stat.S_IFBLK: DeltaKind.BLOCK_DEVICE,
}
_DEVICES: Final = {DeltaKind.CHARACTER_DEVICE, DeltaKind.BLOCK_DEVICE}
_OPEN_FLAGS: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC
_NS: Final = 1_000_000_000


def read_upper(upper: Path, lowers: Sequence[Path], batch: Batch) -> tuple[DeltaEntry, ...]:
    """The changes in an upper directory that nobody writes to any more; the bytes of files are added to `batch`.

    `lowers` are the directories that it lies on, the uppermost first.

    Raises:
        UnkeepableChangeError: for a name that no layer can have, or a path that is too long.
        EngineRefusalError: when the directory is being removed.
    """
    return tuple(_Walk(os.fsencode(upper), [os.fsencode(lower) for lower in lowers], batch).entries())


class _Walk:
    def __init__(self, root: bytes, lowers: Sequence[bytes], batch: Batch) -> None:
        self._root = root
        self._lowers = lowers
        self._batch = batch
        self._linked: dict[tuple[int, int], DeltaEntry] = {}

    def entries(self) -> Iterator[DeltaEntry]:
        """Depth first and sorted by name, which is the order of a delta."""
        pending: list[tuple[Parts, os.stat_result]] = self._list(())
        while pending:
            parts, status = pending.pop()
            try:
                entry = self._entry(parts, status)
                if entry is not None:
                    yield entry
                if stat.S_ISDIR(status.st_mode):
                    pending += self._list(parts)
            except OSError as error:
                if error.errno == errno.ENAMETOOLONG:
                    raise UnkeepableChangeError(b"/".join(parts), "has too long a path") from error
                if error.errno == errno.ENOENT:
                    raise EngineRefusalError("keep a container", "it was removed while it was read") from error
                raise

    def _list(self, parts: Parts) -> list[tuple[Parts, os.stat_result]]:
        """What is in a directory, last name first."""
        with os.scandir(self._path(parts)) as found:
            names = sorted(((entry.name, entry.stat(follow_symlinks=False)) for entry in found), reverse=True)
        return [((*parts, name), status) for name, status in names]

    def _entry(self, parts: Parts, status: os.stat_result) -> DeltaEntry | None:
        kind = _KINDS.get(stat.S_IFMT(status.st_mode))
        if kind is None:
            # A socket: of no use to anyone when the process that listened is gone. What it replaced is gone as well.
            return DeltaEntry(parts=parts, kind=DeltaKind.DELETED) if self._is_below(parts) else None
        checked(parts)
        if is_whiteout(status):
            return DeltaEntry(parts=parts, kind=DeltaKind.DELETED)
        if kind is DeltaKind.FILE:
            return self._file(parts, status)
        return self._make(
            parts,
            status,
            kind,
            target=os.readlink(self._path(parts)) if kind is DeltaKind.SYMLINK else None,
            opaque=kind is DeltaKind.DIRECTORY and is_opaque(self._path(parts)),
            device=(os.major(status.st_rdev), os.minor(status.st_rdev)) if kind in _DEVICES else None,
        )

    def _file(self, parts: Parts, status: os.stat_result) -> DeltaEntry:
        inode = (status.st_dev, status.st_ino)
        first = self._linked.get(inode)
        if first is not None:
            return self._make(
                parts, status, DeltaKind.HARD_LINK, digest=first.digest, size=first.size, target=first.path
            )
        with open(os.open(self._path(parts), _OPEN_FLAGS), "rb", buffering=0) as source:
            digest, size = add_bytes(self._batch, source, status.st_size)
        entry = self._make(parts, status, DeltaKind.FILE, digest=digest, size=size)
        if status.st_nlink > 1:
            self._linked[inode] = entry
        return entry

    def _make(
        self,
        parts: Parts,
        status: os.stat_result,
        kind: DeltaKind,
        *,
        digest: Digest | None = None,
        size: int = 0,
        target: bytes | None = None,
        opaque: bool = False,
        device: tuple[int, int] | None = None,
    ) -> DeltaEntry:
        has_bytes = kind in {DeltaKind.FILE, DeltaKind.HARD_LINK}
        capability = attribute(self._path(parts), CAPABILITY) if has_bytes else None
        return DeltaEntry(
            parts=parts,
            kind=kind,
            mode=stat.S_IMODE(status.st_mode),
            uid=status.st_uid,
            gid=status.st_gid,
            digest=digest,
            size=size,
            target=target,
            opaque=opaque,
            xattrs=() if capability is None else ((CAPABILITY, capability),),
            device=device,
            mtime_s=status.st_mtime_ns // _NS,
        )

    def _is_below(self, parts: Parts) -> bool:
        """Whether the state below has something at a path of the upper directory that shows through."""
        above = (self._path(parts[:depth]) for depth in range(1, len(parts)))
        return is_visible(parts, self._lowers) and not any(map(is_opaque, above))

    def _path(self, parts: Parts) -> bytes:
        return b"/".join((self._root, *parts))
