"""What both ways of reading a container's changes have in common."""

from __future__ import annotations

from typing import TYPE_CHECKING, BinaryIO, Final, cast

from reeval_build.digest import BLOB
from reeval_build.errors import InfraError
from reeval_build.paths import PathError, check_name, display

if TYPE_CHECKING:
    from typing import IO

    from reeval_build.digest import Digest
    from reeval_build.paths import Parts
    from reeval_build.ports.objects import Batch

CAPABILITY: Final = "security.capability"
"""The one extended attribute that is kept, as in every image that Docker makes."""

RESERVED_NAME: Final = 'starts with ".wh.", which image layers use for deletions'

_SMALL_BYTES: Final = 256 * 1024


class UnkeepableChangeError(InfraError):
    """A step left something that no layer can hold."""

    def __init__(self, path: bytes, reason: str) -> None:
        super().__init__(f"/{display(path)} cannot be kept: it {reason}", hint="have the step remove it")
        self.path, self.reason = path, reason


def checked(parts: Parts) -> Parts:
    """`parts`, whose last name comes from the container. Raises UnkeepableChangeError when it may not be used."""
    try:
        check_name(parts[-1])
    except PathError as error:
        raise UnkeepableChangeError(b"/".join(parts), error.reason) from error
    return parts


def add_bytes(batch: Batch, source: IO[bytes], size: int) -> tuple[Digest, int]:
    """Add the bytes of a file of `size` bytes; their digest, and how many there were."""
    if size > _SMALL_BYTES:
        return batch.add_stream(BLOB, cast("BinaryIO", source))
    data = source.read()
    return batch.add(BLOB, data), len(data)
