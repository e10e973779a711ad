"""Temporary files of one process in a store, and those that killed processes left."""

from __future__ import annotations

import fcntl
import os
import threading
from contextlib import suppress
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


_ELSEWHERE: Final = "reeval-build-"


class Scratch:
    """A directory below `above` for the temporary files of this process, which holds it locked while it is open.

    The kernel drops the lock when the process ends, however it ends, so a directory that can be locked is one that
    nobody uses: that holds for processes of other containers, and after a reboot, where process ids say nothing.

    It has a link to each directory that `elsewhere` made, so that whoever finds it finds those.
    """

    def __init__(self, above: Path) -> None:
        self._above = above
        self.path, self._descriptor = self._make()
        self._elsewhere: dict[Path, tuple[Path, int]] = {}
        self._guard = threading.Lock()

    def elsewhere(self, above: Path) -> Path:
        """A directory below `above`, which is made when it is not there, for more temporary files of this process.

        Raises:
            OSError: when it cannot be made.
        """
        with self._guard:
            if above not in self._elsewhere:
                above.mkdir(parents=True, exist_ok=True)
                path = above.absolute() / f"{_ELSEWHERE}{os.getpid()}-{os.urandom(8).hex()}"
                (self.path / path.name).symlink_to(path)
                path.mkdir(mode=0o700)
                descriptor = _lock(path)
                assert descriptor is not None, "nobody else has heard of it"
                self._elsewhere[above] = path, descriptor
            return self._elsewhere[above][0]

    def close(self) -> None:
        """Give the directory up; what is still in it, or in one elsewhere, becomes a leftover."""
        for path, descriptor in self._elsewhere.values():
            with suppress(OSError):
                path.rmdir()
                (self.path / path.name).unlink()
            os.close(descriptor)
        with suppress(OSError):
            self.path.rmdir()
        os.close(self._descriptor)

    def _make(self) -> tuple[Path, int]:
        while True:
            path = self._above / f"{os.getpid()}-{os.urandom(4).hex()}"
            path.mkdir(mode=0o700)
            descriptor = _lock(path)
            if descriptor is not None:
                return path, descriptor


def leftover_directories(above: Path) -> Iterator[Path]:
    """The scratch directories of processes that have ended, each held until the next one is asked for."""
    for path in sorted(above.iterdir()):
        descriptor = _lock(path)
        if descriptor is not None:
            try:
                yield from _linked_from(path)
                yield path
            finally:
                os.close(descriptor)


def _linked_from(path: Path) -> Iterator[Path]:
    """The directories elsewhere that a scratch directory has links to, each held until the next one is asked for."""
    targets: list[Path] = []
    with suppress(OSError):
        links = [link for link in sorted(path.iterdir()) if link.name.startswith(_ELSEWHERE) and link.is_symlink()]
        # A name that is ours at both ends: no other link may have a directory removed.
        targets = [link.readlink() for link in links if link.readlink().name == link.name]
    for target in targets:
        descriptor = _lock(target)
        if descriptor is not None:
            try:
                yield target
            finally:
                os.close(descriptor)


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
