"""Changes a lock file, whole or not at all, also beside others who do."""

from __future__ import annotations

import fcntl
import os
import stat
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from reeval_build.loading.lock_file import lock_text, read_locks

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from reeval_build.plan.locks import Locks


def change_locks(path: Path, change: Callable[[Locks], Locks]) -> None:
    """Have a lock file say what `change` makes of what it says then; nothing is written when that is the same.

    Raises:
        LockFileError: when what is there cannot be read.
        OSError: when the directory or its file system does not take it.
    """
    # A link is followed: what it leads to is what the project shares.
    path = Path(os.path.realpath(path))
    with _alone_in(path.parent) as is_alone:
        if is_alone:
            # What a killed process left: all others wait.
            for left in path.parent.glob(f".{path.name}.*"):
                left.unlink(missing_ok=True)
        before = read_locks(path)
        after = change(before)
        if after != before:
            _replace(path, lock_text(after).encode())


@contextmanager
def _alone_in(directory: Path) -> Iterator[bool]:
    """Hold the directory itself, so that nothing else is left in the project, and say whether that can be done.

    Some network file systems lock no directories: what is written is whole there, too, and the last one counts.
    """
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        yield _is_held(descriptor)
    finally:
        os.close(descriptor)


def _is_held(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
    except OSError:
        return False
    return True


def _replace(path: Path, data: bytes) -> None:
    made = path.with_name(f".{path.name}.{os.urandom(8).hex()}")
    try:
        with made.open("xb") as stream:
            if path.exists():
                os.fchmod(stream.fileno(), stat.S_IMODE(path.stat().st_mode))
            stream.write(data)
            stream.flush()
            os.fsync(stream.fileno())
        made.replace(path)
    except BaseException:
        made.unlink(missing_ok=True)
        raise
