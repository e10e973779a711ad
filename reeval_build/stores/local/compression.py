"""Objects as frames of zstd: which ones, and how they are read back."""

from __future__ import annotations

import io
import threading
from typing import TYPE_CHECKING, BinaryIO, Final

from reeval_build.digest import CHUNK_BYTES

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import zstandard
    from typing_extensions import Buffer

# What higher levels save on source code is a twentieth, for a third more time and more.
_LEVEL: Final = 1
_LEAST_BYTES: Final = 256
_MOST_LEFT: Final = 0.9
_ALIKE: Final = 16
# What a frame may ask for while it is read, whatever it says.
_WINDOW_BYTES: Final = 8 * 1024 * 1024

_of_thread = threading.local()


class GarbledError(Exception):
    """What should be a frame is none, or has another size than it should."""


def compressed(data: bytes) -> bytes | None:
    """A frame that says how long `data` is; None when it saves too little to be worth reading back."""
    if len(data) < _LEAST_BYTES:
        return None
    frame = _compressor().compress(data)
    return frame if len(frame) <= len(data) * _MOST_LEFT else None


def frames(contents: Sequence[bytes]) -> Iterator[bytes | None]:
    """`compressed` of each. Neighbours are alike: where it saves nothing on the longest of them, it is not tried."""
    for start in range(0, len(contents), _ALIKE):
        some = contents[start : start + _ALIKE]
        pays = compressed(max(some, key=len)) is not None
        yield from (compressed(content) if pays else None for content in some)


def decompressed(frame: bytes, size: int) -> bytes:
    """The `size` bytes that `compressed` made a frame of.

    Raises:
        GarbledError: when it is not that frame. No more than `size` bytes are made in finding that out.
    """
    import zstandard  # noqa: PLC0415 - only who has compressed objects pays for it

    try:
        if zstandard.frame_content_size(frame) != size:
            raise GarbledError
        data = _decompressor().decompress(frame, allow_extra_data=False)
    except zstandard.ZstdError as error:
        raise GarbledError from error
    if len(data) != size:
        raise GarbledError
    return data


class Compressing:
    """Makes a frame of what comes in pieces."""

    def __init__(self) -> None:
        self._object = _compressor().compressobj()

    def add(self, data: bytes) -> bytes:
        """What can be written of the frame when there is more to come."""
        return self._object.compress(data)

    def finish(self) -> bytes:
        """The rest of the frame."""
        return self._object.flush()


class Decompressing(io.RawIOBase):
    """The `size` bytes that a frame has which is read from `source`. Reading raises GarbledError when it has not."""

    def __init__(self, source: BinaryIO, size: int) -> None:
        import zstandard  # noqa: PLC0415 - only who has compressed objects pays for it

        decompressor = zstandard.ZstdDecompressor(max_window_size=_WINDOW_BYTES)
        self._reader = decompressor.stream_reader(source, read_size=CHUNK_BYTES, closefd=False)
        self._errors = zstandard.ZstdError
        self._left = size

    def readable(self) -> bool:
        """It is."""
        return True

    def readinto(self, buffer: Buffer) -> int:
        """Read some bytes."""
        try:
            count: int = self._reader.readinto(buffer)
        except self._errors as error:
            raise GarbledError from error
        self._left -= count
        if self._left < 0 or (count == 0 and self._left):
            raise GarbledError
        return count

    def readall(self) -> bytes:
        """All that is left, in pieces: what is there may be more than it should."""
        return b"".join(iter(lambda: self.read(CHUNK_BYTES), b""))


def _compressor() -> zstandard.ZstdCompressor:
    """One a thread, for none serves two at once."""
    import zstandard  # noqa: PLC0415 - only who keeps something pays for it

    found: zstandard.ZstdCompressor | None = getattr(_of_thread, "compressor", None)
    if found is None:
        found = _of_thread.compressor = zstandard.ZstdCompressor(level=_LEVEL)
    return found


def _decompressor() -> zstandard.ZstdDecompressor:
    import zstandard  # noqa: PLC0415 - only who has compressed objects pays for it

    found: zstandard.ZstdDecompressor | None = getattr(_of_thread, "decompressor", None)
    if found is None:
        found = _of_thread.decompressor = zstandard.ZstdDecompressor(max_window_size=_WINDOW_BYTES)
    return found
