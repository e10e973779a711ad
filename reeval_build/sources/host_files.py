"""Reads files of the host into the store."""

from __future__ import annotations

import io
import os
import stat
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, BinaryIO, Final

from reeval_build.digest import BLOB, Digest
from reeval_build.errors import InfraError
from reeval_build.plan.resolution import ResolvedFile

if TYPE_CHECKING:
    from collections.abc import Iterator

    from reeval_build.ports.objects import Objects

_SMALL_BYTES: Final = 1024 * 1024
_CHUNK_BYTES: Final = 1024 * 1024
_PAUSES_S: Final = (0.0, 0.1, 0.2, 0.4)


class HostFileError(InfraError):
    """A file of the host cannot be read."""

    def __init__(self, path: str, reason: str, *, hint: str) -> None:
        super().__init__(f'file("{path}") {reason}', hint=hint)
        self.path, self.reason = path, reason


class _ChangedError(Exception):
    """The file was written to while it was read."""


class HostFileReader:
    """See `ports.sources.HostFiles`."""

    def __init__(self, objects: Objects) -> None:
        self._objects = objects

    def read(self, path: str) -> ResolvedFile:
        """See `ports.sources.HostFiles.read`."""
        for pause_s in _PAUSES_S:
            time.sleep(pause_s)
            try:
                with _opened(path) as stream:
                    return self._keep(path, stream)
            except _ChangedError:
                continue
        raise HostFileError(path, "changed each time it was read", hint="stop what writes to it, or copy it first")

    def _keep(self, path: str, stream: BinaryIO) -> ResolvedFile:
        before = os.fstat(stream.fileno())
        source = io.BytesIO(_read(path, stream, -1)) if before.st_size <= _SMALL_BYTES else stream
        digest, size = _digest(path, source)
        if _version(os.fstat(stream.fileno())) != _version(before):
            raise _ChangedError
        if not self._objects.present([digest]):
            source.seek(0)
            with self._objects.batch() as batch:
                if batch.add_stream(BLOB, source) != (digest, size):
                    raise _ChangedError
        return ResolvedFile(digest=digest, size=size, executable=bool(before.st_mode & stat.S_IXUSR))


@contextmanager
def _opened(path: str) -> Iterator[BinaryIO]:
    try:
        # Not blocking, or a pipe that nobody writes to would hold us for ever.
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY)
    except FileNotFoundError as error:
        raise HostFileError(path, "does not exist", hint="check its spelling") from error
    except OSError as error:
        raise _unreadable(path, error) from error
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


def _digest(path: str, stream: BinaryIO) -> tuple[Digest, int]:
    hasher, size = BLOB.hasher(), 0
    while chunk := _read(path, stream, _CHUNK_BYTES):
        hasher.update(chunk)
        size += len(chunk)
    return Digest(hasher.digest()), size


def _version(status: os.stat_result) -> tuple[int, int, int]:
    """What differs when a file was written to or its permissions were changed."""
    return status.st_size, status.st_mtime_ns, status.st_ctime_ns


def _unreadable(path: str, error: OSError) -> HostFileError:
    reason = (error.strerror or str(error)).lower()
    return HostFileError(path, f"cannot be read: {reason}", hint="give yourself read access to it")
