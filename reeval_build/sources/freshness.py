"""Which files are what they were when they were read; see ADR 0016."""

from __future__ import annotations

import stat
import struct
import time
from typing import TYPE_CHECKING, Final

import attrs

from reeval_build.digest import DIGEST_BYTES, Digest
from reeval_build.ports.stats import KnownDirectory
from reeval_build.sources.file_systems import FileSystems, kind_of
from reeval_build.tree.directory import Entry

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from reeval_build.ports.stats import StatCache

SETTLED_AFTER_NS: Final = 2_000_000_000
"""How old a file's times must be: more than one unit of the coarsest clock of a file system that is trusted."""

# dev, ino, size, mtime, ctime, mode
_ROW: Final = struct.Struct("<QQQqqI")
_NO_ROW: Final = bytes(_ROW.size)
_SIZE: Final = 2
_MODE: Final = 5


def row_of(status: os.stat_result) -> bytes:
    """The integers that change when a file does. Times that do not fit give what no file's row is equal to."""
    try:
        return _ROW.pack(
            status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_mode
        )
    except struct.error:
        return _NO_ROW


def rows_of(statuses: Sequence[os.stat_result]) -> list[bytes]:
    """The integers of many files; each as `row_of` gives it."""
    pack = _ROW.pack
    try:
        return [
            pack(one.st_dev, one.st_ino, one.st_size, one.st_mtime_ns, one.st_ctime_ns, one.st_mode) for one in statuses
        ]
    except struct.error:
        return [row_of(status) for status in statuses]


@attrs.frozen
class KnownFile:
    """What a file was: its row, and what it had in it."""

    row: bytes
    digest: Digest

    @property
    def entry(self) -> Entry:
        """The file's entry in the tree of its directory."""
        fields = _ROW.unpack(self.row)
        return Entry.file(self.digest, fields[_SIZE], executable=bool(fields[_MODE] & stat.S_IXUSR))


def files_of(known: KnownDirectory) -> Iterator[tuple[bytes, KnownFile]]:
    """The files of a directory that are known, by name."""
    names = known.names.split(b"\0") if known.names else []
    for index, name in enumerate(names):
        row = known.stats[index * _ROW.size : (index + 1) * _ROW.size]
        yield name, KnownFile(row, Digest(known.digests[index * DIGEST_BYTES : (index + 1) * DIGEST_BYTES]))


def as_known(files: Mapping[bytes, KnownFile]) -> KnownDirectory:
    """Some files of a directory, as they are remembered."""
    names = sorted(files)
    return KnownDirectory(
        names=b"\0".join(names),
        stats=b"".join(files[name].row for name in names),
        digests=b"".join(files[name].digest.raw for name in names),
    )


class Freshness:
    """Scans of roots with what is known of them.

    `clock` says the time in nanoseconds since 1970, and `kind_of` the kind of file system that a descriptor is on.
    """

    def __init__(
        self,
        cache: StatCache,
        *,
        clock: Callable[[], int] = time.time_ns,
        kind_of: Callable[[int], int | None] = kind_of,
    ) -> None:
        self._cache = cache
        self._clock = clock
        self._file_systems = FileSystems(kind_of)

    def scan(self, root: bytes, *, trusting: bool = True) -> Scan:
        """A scan of a root that begins now; without `trusting` everything is read, and remembered all the same."""
        known = self._cache.load(root) if trusting else {}
        return Scan(self._cache, root, known, self._file_systems, began_ns=self._clock())


class Scan:
    """What is known of a root, and what one scan of it finds."""

    def __init__(
        self,
        cache: StatCache,
        root: bytes,
        known: Mapping[bytes, KnownDirectory],
        file_systems: FileSystems,
        *,
        began_ns: int,
    ) -> None:
        self._cache = cache
        self._root = root
        self._known = known
        self._file_systems = file_systems
        self._settled_before_ns = began_ns - SETTLED_AFTER_NS
        self._found: dict[bytes, KnownDirectory] = {}

    def known(self, path: bytes) -> KnownDirectory | None:
        """What is known of the directory at `path`."""
        return self._known.get(path)

    def trusts(self, device: int, descriptor: int) -> bool:
        """Whether files on `device`, which `descriptor` is on, may be known."""
        return self._file_systems.trusted(device, descriptor)

    def settled(self, status: os.stat_result) -> bytes | None:
        """The row of a file that was just read, if it can no more be written to without its times showing it."""
        if max(status.st_mtime_ns, status.st_ctime_ns) >= self._settled_before_ns:
            return None
        row = row_of(status)
        return None if row == _NO_ROW else row

    def found(self, path: bytes, directory: KnownDirectory) -> None:
        """What the directory at `path` is now."""
        self._found[path] = directory

    def save(self) -> None:
        """Remember what was found."""
        changed = {path: found for path, found in self._found.items() if self._known.get(path) != found}
        gone = self._known.keys() - self._found.keys()
        if changed or gone:
            self._cache.save(self._root, changed, gone=gone)
