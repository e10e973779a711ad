"""Temporary files of one process in a store, and those that killed processes left."""

from __future__ import annotations

import fcntl
import os
import secrets
from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


class Scratch:
    """A directory below `above` for the temporary files of this process, which holds it locked while it is open.

    The kernel drops the lock when the process ends, however it ends, so a directory that can be locked is one that
    nobody uses: that holds for processes of other containers, and after a reboot, where process ids say nothing.
    """

    def __init__(self, above: Path) -> None:
        self._above = above
        self.path, self._descriptor = self._make()

    def leftovers(self) -> Iterator[Path]:
        """The directories of processes that have ended, each held until the next one is asked for."""
        for path in sorted(self._above.iterdir()):
            descriptor = None if path == self.path else _lock(path)
            if descriptor is not None:
                try:
                    yield path
                finally:
                    os.close(descriptor)

    def close(self) -> None:
        """Give the directory up; what is still in it becomes a leftover."""
        with suppress(OSError):
            self.path.rmdir()
        os.close(self._descriptor)

    def _make(self) -> tuple[Path, int]:
        while True:
            path = self._above / f"{os.getpid()}-{secrets.token_hex(4)}"
            path.mkdir(mode=0o700)
            descriptor = _lock(path)
            if descriptor is not None:
                return path, descriptor


def _lock(path: Path) -> int | None:
    """A descriptor that holds the directory at `path`, or None when another process does, or it is not ours."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if os.path.samestat(os.fstat(descriptor), path.stat()):
            return descriptor
    except (BlockingIOError, FileNotFoundError):
        # Somebody holds it, or removed it meanwhile.
        pass
    os.close(descriptor)
    return None
