"""The entry of a directory of the host that is being read, and what is said of it when it cannot be."""

from __future__ import annotations

import errno
import io
import os
from typing import TYPE_CHECKING, Final

from reeval_build.errors import InfraError
from reeval_build.paths import display
from reeval_build.ports.sources import NoSuchDirectoryError
from reeval_build.sources.steady import ChangedError

if TYPE_CHECKING:
    from types import TracebackType

    from typing_extensions import Buffer

    from reeval_build.paths import Parts

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


class Place:
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
        """What says that it must not be placed."""
        return LocalEntryError(self.root, self.parts, reason, hint="take it out of the directory")

    def unreadable(self, error: OSError) -> LocalEntryError:
        """What says that the system does not give it."""
        reason = (error.strerror or str(error)).lower()
        return LocalEntryError(
            self.root, self.parts, f"cannot be read: {reason}", hint="give yourself read access to it"
        )


class Content(io.RawIOBase):
    """The bytes of a file of `size`, where errors of reading it are told from those of keeping it."""

    def __init__(self, place: Place, descriptor: int, size: int) -> None:
        self._place = place
        self._descriptor = descriptor
        self._size = self._left = size

    def rewind(self) -> None:
        """Read it again from its beginning."""
        with self._place:
            os.lseek(self._descriptor, 0, os.SEEK_SET)
        self._left = self._size

    def readable(self) -> bool:
        """It is."""
        return True

    def readinto(self, buffer: Buffer) -> int:
        """Read some bytes. Raises ChangedError when there are more than there were."""
        with self._place:
            count = os.readv(self._descriptor, [buffer])
        self._left -= count
        if self._left < 0:
            raise ChangedError
        return count
