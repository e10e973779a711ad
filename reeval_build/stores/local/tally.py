"""How many bytes a store has, as those who write to it add them up."""

from __future__ import annotations

import fcntl
import os
import threading
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Final

import attrs

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

_COLLECTED: Final = ("packs", "objects", "git", "npm", "logs")
_NUMBER_BYTES: Final = 8
_MOST: Final = (1 << 8 * _NUMBER_BYTES) - 1


class Tally:
    """One number for all processes that use a store, in a file that is locked for each change.

    A process that is killed leaves it too high, and what other programs do to the directory is not in it: so it is
    measured again by whoever acts on it. It is never more than a hint, and a disk that does not take it is no matter.
    """

    def __init__(self, root: Path) -> None:
        self._root = root
        self._guard = threading.Lock()
        self._descriptor = -1
        self.watch: Callable[[int], None] | None = None
        """Called with how many bytes are to be written, so that room can be made for them."""
        self.is_sure = False
        """Whether this process has measured since something was written that nobody tallied."""

    @property
    def total(self) -> int:
        """How many bytes there are. 0 when nobody has counted yet."""
        return self._change(0)

    def take(self, count: int) -> None:
        """Add bytes that are about to be written; not in `taking()`, for it may be necessary to collect first."""
        if self.watch is not None:
            self.watch(count)
        self._change(count)

    def give_back(self, count: int) -> None:
        """Take off bytes that were not written after all, or removed."""
        self._change(-count)

    def measure(self) -> Measured:
        """Look at every file, and go on from what they have."""
        self.is_sure = True
        before = self.total
        measured = measure(self._root)
        # What was written meanwhile may count twice, but is not left out.
        self._change(measured.bytes - before)
        return measured

    def close(self) -> None:
        """Close the file."""
        with self._guard:
            if self._descriptor != -1:
                os.close(self._descriptor)
                self._descriptor = -1

    def _change(self, count: int) -> int:
        with self._guard, suppress(OSError):
            if self._descriptor == -1:
                self._descriptor = os.open(self._root / "tally", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
            with _locked(self._descriptor):
                total = int.from_bytes(os.pread(self._descriptor, _NUMBER_BYTES, 0), "little")
                if count:
                    # A file that was damaged can say anything, until it is measured again.
                    total = min(max(0, total + count), _MOST)
                    os.pwrite(self._descriptor, total.to_bytes(_NUMBER_BYTES, "little"), 0)
                return total
        return 0


@attrs.frozen(kw_only=True)
class Measured:
    """What the files of a store have: of objects, of what was fetched, and of what is only on its way or written by.

    `fixed_bytes` are those of logs, of objects on their way, and of the index, which is not collected by itself.
    """

    object_bytes: int
    fetched_bytes: int
    fixed_bytes: int

    @property
    def bytes(self) -> int:
        """All of them."""
        return self.object_bytes + self.fetched_bytes + self.fixed_bytes


def measure(root: Path) -> Measured:
    """Look at every file of a store but for those in sandboxes."""
    # First: what is published meanwhile is then seen twice, which its number tells, and not missed.
    coming = _files_on_their_way(root)
    sizes_of = {name: dict(_sizes_below(root / name)) for name in _COLLECTED}
    for sizes in sizes_of.values():
        for number in coming.keys() & sizes.keys():
            del coming[number]
    bytes_of = {name: sum(sizes.values()) for name, sizes in sizes_of.items()}
    index = 0
    for path in root.glob("store.sqlite*"):
        with suppress(FileNotFoundError):
            index += path.stat().st_size
    return Measured(
        object_bytes=bytes_of["packs"] + bytes_of["objects"],
        fetched_bytes=bytes_of["git"] + bytes_of["npm"],
        fixed_bytes=bytes_of["logs"] + index + sum(coming.values()),
    )


def bytes_below(directory: Path) -> int:
    """What the files below a directory have; what is removed meanwhile has nothing."""
    return sum(size for _number, size in _sizes_below(directory))


def _sizes_below(directory: Path) -> Iterator[tuple[int, int]]:
    """The number and the size of each file below a directory."""
    for above, _directories, files in os.walk(directory):
        for file in files:
            with suppress(FileNotFoundError):
                status = os.lstat(f"{above}/{file}")
                yield status.st_ino, status.st_size


def _files_on_their_way(root: Path) -> dict[int, int]:
    """Files right in the temporary directories are objects that are not published yet; what is below is sandboxes."""
    sizes = {}
    for directory in (root / "tmp").iterdir():
        with suppress(OSError):
            for entry in os.scandir(directory):
                with suppress(FileNotFoundError):
                    if entry.is_file(follow_symlinks=False):
                        status = entry.stat(follow_symlinks=False)
                        sizes[status.st_ino] = status.st_size
    return sizes


@contextmanager
def _locked(descriptor: int) -> Iterator[None]:
    fcntl.flock(descriptor, fcntl.LOCK_EX)
    try:
        yield
    finally:
        fcntl.flock(descriptor, fcntl.LOCK_UN)
