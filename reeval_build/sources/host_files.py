"""Reads files of the host into the store."""

from __future__ import annotations

import io
import os
import stat
from contextlib import contextmanager
from typing import TYPE_CHECKING, BinaryIO, Final

from reeval_build.digest import BLOB, CHUNK_BYTES, Digest
from reeval_build.errors import InfraError
from reeval_build.plan.resolution import ResolvedFile
from reeval_build.sources.known_host_files import KnownHostFiles
from reeval_build.sources.steady import ChangedError, read_steadily, version

if TYPE_CHECKING:
    from collections.abc import Iterator

    from reeval_build.ports.objects import Objects
    from reeval_build.sources.freshness import Freshness

MAX_FILE_BYTES: Final = 64 * 1024**3
"""How large a file may be: more than anything that is meant to be in a sandbox."""

_SMALL_BYTES: Final = 1024 * 1024


class HostFileError(InfraError):
    """A file of the host cannot be read."""

    def __init__(self, path: str, reason: str, *, hint: str) -> None:
        super().__init__(f'file("{path}") {reason}', hint=hint)
        self.path, self.reason = path, reason


class HostFileReader:
    """See `ports.sources.HostFiles`. A file of more than `max_bytes` is refused unread.

    A file that `freshness` knows, and the store has, is opened and not read. What is learned is remembered for the
    next process by `close`.
    """

    def __init__(self, objects: Objects, freshness: Freshness, *, max_bytes: int = MAX_FILE_BYTES) -> None:
        self._objects = objects
        self._max_bytes = max_bytes
        self._directories = KnownHostFiles(freshness)

    def read(self, path: str) -> ResolvedFile:
        """See `ports.sources.HostFiles.read`."""
        try:
            return read_steadily(lambda: self._read_once(path))
        except ChangedError as error:
            hint = "stop what writes to it, or copy it first"
            raise HostFileError(path, "changed each time it was read", hint=hint) from error

    def close(self) -> None:
        """Remember what was read."""
        self._directories.save()

    def _read_once(self, path: str) -> ResolvedFile:
        with _opened(path) as stream:
            return self._keep(path, stream)

    def _keep(self, path: str, stream: BinaryIO) -> ResolvedFile:
        before = os.fstat(stream.fileno())
        if before.st_size > self._max_bytes:
            reason = f"has {before.st_size:,} bytes, more than the {self._max_bytes:,} that are read"
            raise HostFileError(path, reason, hint="place what makes or fetches it instead, as a setup step")
        known = self._directories.find(path, before, stream.fileno())
        if known is not None and self._objects.present([known]):
            return _resolved(known, before)
        small = before.st_size <= _SMALL_BYTES
        # One byte more, so that a file that has grown, or has no end, is seen at once.
        source = io.BytesIO(_read(path, stream, _SMALL_BYTES + 1)) if small else stream
        digest, size = _digest(path, source, limit=max(before.st_size, _SMALL_BYTES))
        if version(os.fstat(stream.fileno())) != version(before):
            raise ChangedError
        if not self._objects.present([digest]):
            source.seek(0)
            with self._objects.batch() as batch:
                if batch.add_stream(BLOB, source) != (digest, size):
                    raise ChangedError
        self._directories.add(path, before, stream.fileno(), digest)
        return _resolved(digest, before)


def _resolved(digest: Digest, status: os.stat_result) -> ResolvedFile:
    return ResolvedFile(digest=digest, size=status.st_size, executable=bool(status.st_mode & stat.S_IXUSR))


@contextmanager
def _opened(path: str) -> Iterator[BinaryIO]:
    try:
        # Not blocking, or a pipe that nobody writes to would hold us for ever.
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY)
    except FileNotFoundError as error:
        raise HostFileError(path, "does not exist", hint="check its spelling") from error
    except OSError as error:
        raise _unreadable(path, error) from error
    except ValueError as error:
        # A NUL, or what no encoding of names has.
        raise HostFileError(path, "is no path that a file can have", hint="check its spelling") from error
    try:
        _check_kind(path, os.fstat(descriptor).st_mode)
        with os.fdopen(descriptor, "rb", closefd=False) as stream:
            yield stream
    finally:
        os.close(descriptor)


def _check_kind(path: str, mode: int) -> None:
    if stat.S_ISDIR(mode):
        raise HostFileError(path, "is a directory", hint="name one of the files in it")
    if not stat.S_ISREG(mode):
        raise HostFileError(path, "is not a regular file", hint="only bytes that stay the same can be kept")


def _read(path: str, stream: BinaryIO, size: int) -> bytes:
    try:
        return stream.read(size)
    except OSError as error:
        raise _unreadable(path, error) from error


def _digest(path: str, stream: BinaryIO, *, limit: int) -> tuple[Digest, int]:
    hasher, size = BLOB.wide_hasher(), 0
    while chunk := _read(path, stream, CHUNK_BYTES):
        hasher.update(chunk)
        size += len(chunk)
        if size > limit:
            raise ChangedError
    return Digest(hasher.digest()), size


def _unreadable(path: str, error: OSError) -> HostFileError:
    reason = (error.strerror or str(error)).lower()
    return HostFileError(path, f"cannot be read: {reason}", hint="give yourself read access to it")
