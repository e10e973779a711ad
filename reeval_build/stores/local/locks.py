"""Locks between processes that a dead holder cannot keep."""

from __future__ import annotations

import fcntl
import os
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Final

from reeval_build.errors import CancelledError
from reeval_build.stores.local.database import StoreAccessError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from reeval_build.ports.engine import Cancellation

_ASK_AGAIN_S: Final = 0.05


@contextmanager
def exclusive(path: Path, *, cancel: Cancellation, waiting: Callable[[str], None]) -> Iterator[None]:
    """Hold the file at `path`, made for the purpose and removed afterwards. See `ports.records.Records.exclusive`."""
    descriptor = _acquire(path, cancel, waiting)
    try:
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, this_process().encode(), 0)
        yield
    finally:
        # A file that stays behind is not held, and removed with the other stale ones.
        with suppress(OSError):
            path.unlink(missing_ok=True)
        os.close(descriptor)


def holder_of(path: Path) -> str | None:
    """Who holds the file at `path`, if anybody does."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return _holder(os.pread(descriptor, 200, 0).decode("utf-8", "replace"))
    finally:
        os.close(descriptor)
    return None


def stale_locks(directory: Path) -> Iterator[Path]:
    """The files of holders that died, each held until the next one is asked for."""
    for path in sorted(directory.iterdir()):
        # Others may hold it, remove it meanwhile, or not let us open it.
        with suppress(OSError):
            descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                if _is_still_at(descriptor, path):
                    yield path
            finally:
                os.close(descriptor)


def _acquire(path: Path, cancel: Cancellation, waiting: Callable[[str], None]) -> int:
    said = False
    while True:
        try:
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
        except OSError as error:
            raise StoreAccessError(path.parent.parent, error) from error
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if not said:
                said = True
                waiting(_holder(os.pread(descriptor, 200, 0).decode("utf-8", "replace")))
            os.close(descriptor)
            if cancel.wait(_ASK_AGAIN_S):
                raise CancelledError from None
            continue
        if _is_still_at(descriptor, path):
            return descriptor
        os.close(descriptor)


def this_process() -> str:
    """How others speak of this process."""
    return f"process {os.getpid()} on {os.uname().nodename}"


def _holder(written: str) -> str:
    """Who holds a file, for people; a holder that has not said so yet is some process."""
    return "another node of this build" if written == this_process() else written or "another process"


def _is_still_at(descriptor: int, path: Path) -> bool:
    """Whether the file that was locked is the one that others would lock: a holder removes it as it leaves."""
    try:
        return os.path.samestat(os.fstat(descriptor), path.stat())
    except FileNotFoundError:
        return False
