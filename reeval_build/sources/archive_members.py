"""Reads the members of a tar from a stream, one after the other.

`tarfile` is not used: it holds every extended header in memory whatever its size, keeps each member it has seen, and
some of the versions that are in use can be made to loop or to backtrack for ever by a header (CVE-2025-8194,
CVE-2024-6232). An archive of a package comes from strangers.
"""

from __future__ import annotations

import gzip
import io
import zlib
from enum import Enum
from typing import TYPE_CHECKING, BinaryIO, Final, cast

import attrs

from reeval_build.sources.limits import GENEROUS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from typing_extensions import Buffer

    from reeval_build.sources.limits import Limits

_BLOCK_BYTES: Final = 512
_END: Final = bytes(_BLOCK_BYTES)
_CHUNK_BYTES: Final = 1024 * 1024
# As much as npm takes: a path or two, never a file.
_MAX_EXTENSION_BYTES: Final = 1024 * 1024
_MAX_DIGITS: Final = 20
_GZIP_MAGIC: Final = b"\x1f\x8b"
_POSIX_MAGIC: Final = b"ustar\0"
_CHECKSUM: Final = slice(148, 156)
_BASE_256: Final = 0x80
_OWNER_MAY_EXECUTE: Final = 0o100

_CUT: Final = "is cut short, or is no tar archive"
_DAMAGED: Final = "is damaged, or is no tar archive"
_UNREADABLE_EXTENSION: Final = "has an extended header that cannot be read"

_PAX, _PAX_FOR_ALL, _GNU_PATH, _GNU_TARGET, _GNU_SPARSE = b"x", b"g", b"L", b"K", b"S"


class TarError(Exception):
    """Something is wrong with an archive; `reason` is one clause, `path` the member it is about, if it is about one."""

    def __init__(self, reason: str, *, path: bytes | None = None) -> None:
        super().__init__(reason)
        self.reason, self.path = reason, path


class TooMuchError(TarError):
    """An archive has more in it than anything that is meant to be used."""


class MemberKind(Enum):
    """What a member of an archive is."""

    FILE = "file"
    DIRECTORY = "directory"
    SYMLINK = "symbolic link"
    HARD_LINK = "hard link"
    FIFO = "fifo"
    DEVICE = "device"


_KINDS: Final = {
    b"\0": MemberKind.FILE,
    b"0": MemberKind.FILE,
    b"7": MemberKind.FILE,
    b"1": MemberKind.HARD_LINK,
    b"2": MemberKind.SYMLINK,
    b"3": MemberKind.DEVICE,
    b"4": MemberKind.DEVICE,
    b"5": MemberKind.DIRECTORY,
    b"6": MemberKind.FIFO,
}


@attrs.frozen(kw_only=True)
class Member:
    """A member as its archive has it: nothing of it has been checked.

    `executable` is the owner's bit. `target` is where a link leads, and empty for anything else.
    """

    path: bytes
    kind: MemberKind
    size: int
    executable: bool
    target: bytes


def members(archive: BinaryIO, limits: Limits = GENEROUS) -> Iterator[tuple[Member, BinaryIO]]:
    """Every member of a tar, gzip'd or plain, with its bytes, which can be read until the next one is asked for.

    Args:
        archive: a seekable stream, read from where it is.
        limits: how much may be in it.

    Raises:
        TarError: when it is not a tar, is cut or damaged, or has a member of an unknown kind.
        TooMuchError: when it has more in it than `limits` say.
    """
    source = _Source(_unzipped(archive), limits.unpacked_bytes)
    extensions = _Extensions()
    count = 0
    while (header := source.read_exactly(_BLOCK_BYTES)) != _END:
        _check_sum(header)
        count += 1
        if count > limits.members:
            raise TooMuchError(f"has more than {limits.members:,} members")
        kind, size = header[156:157], _number(header[124:136])
        if extensions.take(kind, source, size):
            continue
        member = extensions.apply(header, kind, size)
        content = _Content(source, member.size)
        yield member, cast("BinaryIO", content)
        content.skip()
        extensions = _Extensions()
    source.drain()


def _unzipped(archive: BinaryIO) -> BinaryIO:
    start = archive.tell()
    head = archive.read(len(_GZIP_MAGIC))
    archive.seek(start)
    return cast("BinaryIO", gzip.GzipFile(fileobj=archive)) if head == _GZIP_MAGIC else archive


class _Source:
    """The unpacked bytes of an archive, of which there may only be so many."""

    def __init__(self, stream: BinaryIO, limit: int) -> None:
        self._stream = stream
        self._limit = self._left = limit

    def read(self, size: int) -> bytes:
        try:
            data = self._stream.read(size)
        except EOFError as error:
            raise TarError(_CUT) from error
        except (gzip.BadGzipFile, zlib.error) as error:
            raise TarError(_DAMAGED) from error
        self._left -= len(data)
        if self._left < 0:
            raise TooMuchError(f"unpacks to more than {self._limit:,} bytes")
        return data

    def read_exactly(self, size: int) -> bytes:
        data = self.read(size)
        while len(data) < size:
            more = self.read(size - len(data))
            if not more:
                raise TarError(_CUT)
            data += more
        return data

    def skip(self, size: int) -> None:
        while size > 0:
            size -= len(self.read_exactly(min(size, _CHUNK_BYTES)))

    def drain(self) -> None:
        """Read to the end, where gzip has the checksum of everything."""
        while self.read(_CHUNK_BYTES):
            pass


class _Content(io.RawIOBase):
    """The bytes of one member."""

    def __init__(self, source: _Source, size: int) -> None:
        self._source = source
        self._left = size
        self._padding = -size % _BLOCK_BYTES

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Buffer) -> int:
        view = memoryview(buffer)
        size = min(len(view), self._left)
        view[:size] = self._source.read_exactly(size)
        self._left -= size
        return size

    def skip(self) -> None:
        self._source.skip(self._left + self._padding)
        self._left = self._padding = 0


class _Extensions:
    """What headers of their own say about the member that follows: names that are too long for its header."""

    def __init__(self) -> None:
        self._path: bytes | None = None
        self._target: bytes | None = None
        self._size: int | None = None
        self._sparse = False

    def take(self, kind: bytes, source: _Source, size: int) -> bool:
        """Read such a header, if `kind` is one."""
        if kind not in {_PAX, _PAX_FOR_ALL, _GNU_PATH, _GNU_TARGET}:
            return False
        if size > _MAX_EXTENSION_BYTES:
            raise TarError("has an extended header of more than 1 MiB")
        data = source.read_exactly(size)
        source.skip(-size % _BLOCK_BYTES)
        if kind == _GNU_PATH:
            self._path = data.partition(b"\0")[0]
        elif kind == _GNU_TARGET:
            self._target = data.partition(b"\0")[0]
        elif kind == _PAX:
            self._take_records(_pax_records(data))
        elif {b"path", b"linkpath", b"size"} & _pax_records(data).keys():
            raise TarError("has a header that gives all its members one name")
        return True

    def apply(self, header: bytes, kind: bytes, size: int) -> Member:
        path = _path(header) if self._path is None else self._path
        if self._sparse or kind == _GNU_SPARSE:
            raise TarError("is a sparse file, of which only the pieces are kept", path=path)
        if kind not in _KINDS:
            raise TarError(f"is of the unknown kind {kind.decode('latin-1')!r}", path=path)
        member_kind = _KINDS[kind]
        if kind == b"\0" and path.endswith(b"/"):
            # How tar wrote directories before it had a kind for them.
            member_kind = MemberKind.DIRECTORY
        is_link = member_kind in {MemberKind.SYMLINK, MemberKind.HARD_LINK}
        target = _text(header[157:257]) if self._target is None else self._target
        return Member(
            path=path,
            kind=member_kind,
            # Of the kinds that have no bytes some programs give a size all the same.
            size=(size if self._size is None else self._size) if member_kind is MemberKind.FILE else 0,
            executable=bool(_number(header[100:108]) & _OWNER_MAY_EXECUTE),
            target=target if is_link else b"",
        )

    def _take_records(self, records: dict[bytes, bytes]) -> None:
        self._path = records.get(b"path", self._path)
        self._target = records.get(b"linkpath", self._target)
        if b"size" in records:
            self._size = _decimal(records[b"size"])
        self._sparse = any(key.startswith(b"GNU.sparse.") for key in records)


def _pax_records(data: bytes) -> dict[bytes, bytes]:
    """The records of an extended header, each its own length in decimal, a space, `key=value` and a newline."""
    records = {}
    at = 0
    while at < len(data):
        space = data.find(b" ", at, at + _MAX_DIGITS)
        end = at + _decimal(data[at:space]) if space > at else 0
        record = data[space + 1 : end]
        key, equals, value = record[:-1].partition(b"=")
        if end > len(data) or not record.endswith(b"\n") or not equals:
            raise TarError(_UNREADABLE_EXTENSION)
        records[key] = value
        at = end
    return records


def _check_sum(header: bytes) -> None:
    rest = header[: _CHECKSUM.start] + b" " * 8 + header[_CHECKSUM.stop :]
    unsigned = sum(rest)
    # Some old programs added the bytes up as signed ones.
    if _number(header[_CHECKSUM]) not in {unsigned, unsigned - 256 * sum(byte >= _BASE_256 for byte in rest)}:
        raise TarError(_DAMAGED)


def _path(header: bytes) -> bytes:
    name, prefix = _text(header[:100]), _text(header[345:500])
    return prefix + b"/" + name if prefix and header[257:263] == _POSIX_MAGIC else name


def _text(field: bytes) -> bytes:
    return field.partition(b"\0")[0]


def _number(field: bytes) -> int:
    if field[0] == _BASE_256:
        return int.from_bytes(field[1:])
    digits = _text(field).strip(b" ")
    if not digits:
        return 0
    if digits.strip(b"01234567"):
        raise TarError(_DAMAGED)
    return int(digits, 8)


def _decimal(text: bytes) -> int:
    if not text.isdigit() or len(text) > _MAX_DIGITS:
        raise TarError(_UNREADABLE_EXTENSION)
    return int(text)
