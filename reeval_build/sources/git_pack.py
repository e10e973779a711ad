"""Writes git packs and index files whose bytes depend on what is in them and on nothing else."""

from __future__ import annotations

import hashlib
import struct
import zlib
from typing import TYPE_CHECKING, BinaryIO, Final

import attrs

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pygit2.enums import ObjectType

_HEADER: Final = struct.Struct(">4sLL")
_LARGE_OFFSET: Final = 1 << 31
_CHUNK_BYTES: Final = 1024 * 1024
_BLOCK_BYTES: Final = 0xFFFF
_MAX_NAME_LENGTH: Final = 0xFFF

GITLINK: Final = 0o160000


@attrs.frozen
class PackedObject:
    """Where an object is in a pack, and the CRC-32 of its bytes there."""

    object_id: bytes
    crc: int
    offset: int


class PackWriter:
    """Writes objects one after the other into a pack (gitformat-pack(5)), each once and whole.

    They are framed for zlib but not compressed: what a compressor makes of its input differs between its versions,
    and the same workspace must have the same bytes on every machine.
    """

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self._objects: dict[bytes, PackedObject] = {}
        self._end = stream.write(_HEADER.pack(b"PACK", 2, 0))

    def add(self, kind: ObjectType, object_id: bytes, data: bytes) -> None:
        """Write an object, unless it was written before."""
        if object_id in self._objects:
            return
        packed = _size_header(kind, len(data)) + _framed(data)
        self._objects[object_id] = PackedObject(object_id, zlib.crc32(packed), self._end)
        self._end += self._stream.write(packed)

    def finish(self) -> tuple[bytes, bytes]:
        """Complete the pack. Returns its checksum, which is its name too, and the index that belongs to it."""
        self._stream.seek(0)
        self._stream.write(_HEADER.pack(b"PACK", 2, len(self._objects)))
        self._stream.seek(0)
        hasher = _sha1(b"")
        while chunk := self._stream.read(_CHUNK_BYTES):
            hasher.update(chunk)
        checksum = hasher.digest()
        self._stream.write(checksum)
        self._stream.seek(0)
        return checksum, pack_index(self._objects.values(), checksum)


def pack_index(objects: Iterable[PackedObject], pack_checksum: bytes) -> bytes:
    """The index of a pack, version 2."""
    rows = sorted(objects, key=lambda row: row.object_id)
    counts = [0] * 256
    for row in rows:
        counts[row.object_id[0]] += 1
    fan_out = [sum(counts[: first + 1]) for first in range(256)]
    large = [row.offset for row in rows if row.offset >= _LARGE_OFFSET]
    places = {offset: _LARGE_OFFSET | at for at, offset in enumerate(large)}
    data = b"".join(
        (
            b"\377tOc\0\0\0\2",
            struct.pack(">256L", *fan_out),
            *(row.object_id for row in rows),
            struct.pack(f">{len(rows)}L", *(row.crc for row in rows)),
            struct.pack(f">{len(rows)}L", *(places.get(row.offset, row.offset) for row in rows)),
            struct.pack(f">{len(large)}Q", *large),
            pack_checksum,
        )
    )
    return data + _sha1(data).digest()


def staging_index(files: Iterable[tuple[bytes, int, bytes]]) -> bytes:
    """The index of a working tree (gitformat-index(5), version 2) of (path, mode, object id), with no stat data.

    So git looks at each file the first time it is asked, and finds it as it should be.
    """
    rows = sorted(files)
    data = bytearray(_HEADER.pack(b"DIRC", 2, len(rows)))
    for path, mode, object_id in rows:
        row = struct.pack(">24xL12x20sH", mode, object_id, min(len(path), _MAX_NAME_LENGTH)) + path
        data += row + bytes(8 - len(row) % 8)
    return bytes(data) + _sha1(data).digest()


def object_id_of(kind: ObjectType, data: bytes) -> bytes:
    """The id of a git object."""
    return _sha1(b"%s %d\0%s" % (kind.name.lower().encode(), len(data), data)).digest()


def _size_header(kind: ObjectType, size: int) -> bytes:
    low, size = size & 0xF, size >> 4
    header = bytearray([kind << 4 | low])
    while size:
        header[-1] |= 0x80
        header.append(size & 0x7F)
        size >>= 7
    return bytes(header)


def _framed(data: bytes) -> bytes:
    """`data` as a zlib stream (RFC 1950) of stored blocks (RFC 1951, 3.2.4)."""
    parts = [b"\x78\x01"]
    last = max(0, (len(data) - 1) // _BLOCK_BYTES)
    for at in range(last + 1):
        block = data[at * _BLOCK_BYTES : (at + 1) * _BLOCK_BYTES]
        parts += struct.pack("<BHH", at == last, len(block), len(block) ^ 0xFFFF), block
    parts.append(struct.pack(">L", zlib.adler32(data)))
    return b"".join(parts)


def _sha1(data: bytes | bytearray) -> hashlib._Hash:
    return hashlib.sha1(data, usedforsecurity=False)
