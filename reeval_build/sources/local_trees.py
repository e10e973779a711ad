"""Reads directories of the host into the store."""

from __future__ import annotations

import errno
import io
import os
import stat
from itertools import islice
from typing import TYPE_CHECKING, BinaryIO, Final, cast

from reeval_build.digest import BLOB, TREE, Digest
from reeval_build.errors import InfraError
from reeval_build.paths import PathError, check_link, check_name, display
from reeval_build.ports.sources import NoSuchDirectoryError
from reeval_build.sources.archive_members import GENEROUS, Limits
from reeval_build.sources.archives import MAX_DEPTH
from reeval_build.sources.steady import ChangedError, read_steadily, version
from reeval_build.tree.directory import Directory, Entry, encode

if TYPE_CHECKING:
    from types import TracebackType

    from typing_extensions import Buffer

    from reeval_build.paths import Parts
    from reeval_build.ports.objects import Batch

_LEFT_OUT: Final = b".git"
_SMALL_BYTES: Final = 1024 * 1024
_RUNS_AS_ITS_OWNER: Final = stat.S_ISUID | stat.S_ISGID

_ROOT_FLAGS: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
_DIRECTORY_FLAGS: Final = _ROOT_FLAGS | os.O_NOFOLLOW
# Not blocking, or a pipe that takes the place of a file meanwhile would hold us for ever.
_FILE_FLAGS: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY

_SPECIAL: Final = {
    stat.S_IFIFO: "a fifo",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}

# What the system says of an entry that is not what it was when its directory was listed.
_REPLACED: Final = {errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.EINVAL}


class LocalTreeError(InfraError):
    """A directory of the host cannot be read."""

    def __init__(self, directory: str, problem: str, *, hint: str) -> None:
        super().__init__(f'directory "{directory}" {problem}', hint=hint)
        self.directory, self.problem = directory, problem


class NoLocalTreeError(LocalTreeError, NoSuchDirectoryError):
    """There is no such directory."""


class LocalEntryError(LocalTreeError):
    """A directory has an entry that must not be placed, or cannot be read."""

    def __init__(self, directory: str, parts: Parts, reason: str, *, hint: str) -> None:
        path = b"/".join(parts)
        super().__init__(directory, f'has "{display(path)}", which {reason}' if parts else reason, hint=hint)
        self.path, self.reason = path, reason


class LocalDirectories:
    """See `ports.sources.LocalTrees`.

    What is hashed is what is stored, in one pass. When a file or a directory was written to while it was read, all of
    it is read again, a few times. Each directory is opened from the one above it, so that one that is replaced by a
    link meanwhile cannot lead out of the tree. There may be as much in it as `limits` allow in an archive.
    """

    def __init__(self, limits: Limits = GENEROUS) -> None:
        self._limits = limits

    def read(self, path: str, batch: Batch) -> Digest:
        """See `ports.sources.LocalTrees.read`."""
        place = _Place(path)
        try:
            return read_steadily(lambda: _Walk(path, place, batch, self._limits).read())
        except ChangedError as error:
            hint = "stop what writes to it, or copy the directory first"
            raise LocalEntryError(path, place.parts, "changed each time it was read", hint=hint) from error


class _Place:
    """The entry that is being read, which as a context it names in what the system says of it."""

    def __init__(self, root: str) -> None:
        self.root = root
        self.parts: Parts = ()

    def __enter__(self) -> None:
        """Begin to read; what is done in the block must be nothing else."""

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Raise a LocalEntryError, or a ChangedError, for an error of the system."""
        if isinstance(error, OSError):
            if error.errno in _REPLACED:
                raise ChangedError from error
            raise self.unreadable(error) from error

    def refused(self, reason: str) -> LocalEntryError:
        return LocalEntryError(self.root, self.parts, reason, hint="take it out of the directory")

    def unreadable(self, error: OSError) -> LocalEntryError:
        reason = (error.strerror or str(error)).lower()
        return LocalEntryError(
            self.root, self.parts, f"cannot be read: {reason}", hint="give yourself read access to it"
        )


class _Open:
    """A directory that is being read: what is left to read of it, and what has been read."""

    def __init__(self, parts: Parts, descriptor: int, *, most: int) -> None:
        self.parts = parts
        self.descriptor = descriptor
        self.version = version(os.fstat(descriptor))
        with os.scandir(descriptor) as items:
            found = {os.fsencode(item.name): _kind(item) for item in islice(items, most)}
        found.pop(_LEFT_OUT, None)
        self.left = iter(sorted(found.items()))
        self.entries: Directory = {}


class _Walk:
    """Reads one directory once."""

    def __init__(self, root: str, place: _Place, batch: Batch, limits: Limits) -> None:
        self._root = root
        self._place = place
        self._batch = batch
        self._limits = limits
        self._entries = self._bytes = 0
        self._open: list[_Open] = []

    def read(self) -> Digest:
        try:
            self._enter((), self._open_root())
            while True:
                above = self._open[-1]
                item = next(above.left, None)
                if item is not None:
                    self._take(above, *item)
                    continue
                digest = self._leave()
                if not self._open:
                    return digest
                self._open[-1].entries[above.parts[-1]] = Entry.directory(digest)
        finally:
            for directory in self._open:
                os.close(directory.descriptor)

    def _open_root(self) -> int:
        try:
            return os.open(self._root, _ROOT_FLAGS)
        except FileNotFoundError as error:
            raise NoLocalTreeError(self._root, "does not exist", hint="check its spelling") from error
        except NotADirectoryError as error:
            raise NoLocalTreeError(self._root, "is not a directory", hint="name the directory that has it") from error
        except OSError as error:
            raise self._place.unreadable(error) from error
        except ValueError as error:
            # A NUL, or what no encoding of names has.
            hint = "check its spelling"
            raise NoLocalTreeError(self._root, "is no path that a directory can have", hint=hint) from error

    def _enter(self, parts: Parts, descriptor: int) -> None:
        try:
            with self._place:
                # One more than may be there, and one that may be left out.
                self._open.append(_Open(parts, descriptor, most=self._limits.members + 2))
        except BaseException:
            os.close(descriptor)
            raise

    def _leave(self) -> Digest:
        directory = self._open[-1]
        self._place.parts = directory.parts
        with self._place:
            after = os.fstat(directory.descriptor)
        if version(after) != directory.version:
            raise ChangedError
        os.close(self._open.pop().descriptor)
        return self._batch.add(TREE, encode(directory.entries))

    def _take(self, above: _Open, name: bytes, kind: int) -> None:
        parts = self._place.parts = (*above.parts, name)
        self._entries += 1
        if self._entries > self._limits.members:
            raise self._too_much(f"has more than {self._limits.members:,} files and directories")
        try:
            check_name(name)
            if kind == stat.S_IFLNK:
                above.entries[name] = Entry.symlink(check_link(parts, self._target(above, name)))
        except PathError as error:
            raise self._place.refused(error.reason) from error
        if kind == stat.S_IFDIR:
            if len(parts) > MAX_DEPTH:
                raise self._place.refused(f"is more than {MAX_DEPTH} directories deep")
            self._enter(parts, self._open_below(above, name, _DIRECTORY_FLAGS))
        elif kind == stat.S_IFREG:
            above.entries[name] = self._file(above, name)
        elif kind != stat.S_IFLNK:
            raise self._place.refused(f"is {_SPECIAL.get(kind, 'no file, link or directory')}")

    def _too_much(self, problem: str) -> LocalTreeError:
        here = display(b"/".join(self._place.parts))
        return LocalTreeError(self._root, f'{problem}; the one too many is "{here}"', hint="name a smaller directory")

    def _target(self, above: _Open, name: bytes) -> bytes:
        with self._place:
            return os.readlink(name, dir_fd=above.descriptor)

    def _file(self, above: _Open, name: bytes) -> Entry:
        descriptor = self._open_below(above, name, _FILE_FLAGS)
        try:
            with self._place:
                before = os.fstat(descriptor)
            if not stat.S_ISREG(before.st_mode):
                raise ChangedError
            if before.st_mode & _RUNS_AS_ITS_OWNER:
                raise self._place.refused("runs with the rights of its owner or group (setuid or setgid)")
            self._bytes += before.st_size
            if self._bytes > self._limits.unpacked_bytes:
                raise self._too_much(f"has more than {self._limits.unpacked_bytes:,} bytes in its files")
            digest, size = self._keep(descriptor, before.st_size)
            with self._place:
                after = os.fstat(descriptor)
            if size != before.st_size or version(after) != version(before):
                raise ChangedError
        finally:
            os.close(descriptor)
        return Entry.file(digest, size, executable=bool(before.st_mode & stat.S_IXUSR))

    def _keep(self, descriptor: int, size: int) -> tuple[Digest, int]:
        if size > _SMALL_BYTES:
            return self._batch.add_stream(BLOB, cast("BinaryIO", _Content(self._place, descriptor, size)))
        with self._place:
            # One byte more, so that a file that has grown is seen at once.
            data = os.read(descriptor, size + 1)
            while len(data) < size and (more := os.read(descriptor, size - len(data))):
                data += more
        return self._batch.add(BLOB, data), len(data)

    def _open_below(self, above: _Open, name: bytes, flags: int) -> int:
        with self._place:
            return os.open(name, flags, dir_fd=above.descriptor)


class _Content(io.RawIOBase):
    """The bytes of a file of `size`, where errors of reading it are told from those of keeping it."""

    def __init__(self, place: _Place, descriptor: int, size: int) -> None:
        self._place = place
        self._descriptor = descriptor
        self._left = size

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Buffer) -> int:
        with self._place:
            count = os.readv(self._descriptor, [buffer])
        self._left -= count
        if self._left < 0:
            raise ChangedError
        return count


def _kind(item: os.DirEntry[str]) -> int:
    """The kind of an entry as in its mode, mostly from the listing alone."""
    if item.is_file(follow_symlinks=False):
        return stat.S_IFREG
    if item.is_dir(follow_symlinks=False):
        return stat.S_IFDIR
    if item.is_symlink():
        return stat.S_IFLNK
    return stat.S_IFMT(item.stat(follow_symlinks=False).st_mode)
