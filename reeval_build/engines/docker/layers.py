"""Deltas as layers of an image: tars, byte for byte the same whenever they are written."""

from __future__ import annotations

import hashlib
import tarfile
import tempfile
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, BinaryIO, Final

import attrs

from reeval_build.digest import BLOB, DELTA, TREE
from reeval_build.errors import InfraError
from reeval_build.state.delta import DeltaEntry, DeltaKind, decode
from reeval_build.state.placed import changed_entries, placed_entries
from reeval_build.state.state import PlacedTree
from reeval_build.tree import directory

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from reeval_build.digest import Digest
    from reeval_build.paths import Parts
    from reeval_build.ports.objects import Objects
    from reeval_build.state.state import Delta

WHITEOUT: Final = b".wh."
OPAQUE: Final = b".wh..wh..opq"
XATTR_RECORD: Final = "SCHILY.xattr."

_TYPES: Final = {
    DeltaKind.FILE: tarfile.REGTYPE,
    DeltaKind.DIRECTORY: tarfile.DIRTYPE,
    DeltaKind.SYMLINK: tarfile.SYMTYPE,
    DeltaKind.HARD_LINK: tarfile.LNKTYPE,
    DeltaKind.FIFO: tarfile.FIFOTYPE,
    DeltaKind.CHARACTER_DEVICE: tarfile.CHRTYPE,
    DeltaKind.BLOCK_DEVICE: tarfile.BLKTYPE,
}
_WHITEOUT_MODE: Final = 0o600
_LARGE_BYTES: Final = 256 * 1024
_CHUNK_BYTES: Final = 1024 * 1024


class ScratchError(InfraError):
    """A layer cannot be written to a temporary file."""

    def __init__(self, scratch: Path, error: OSError) -> None:
        super().__init__(f"no layer can be written in {scratch}: {(error.strerror or str(error)).lower()}")
        self.scratch = scratch


@attrs.frozen(kw_only=True)
class Layer:
    """A layer in a temporary file. `diff_id` is how images name it: the SHA-256 of the tar."""

    diff_id: str
    size: int
    stream: BinaryIO = attrs.field(eq=False, repr=False)

    def chunks(self) -> Iterator[bytes]:
        """The bytes of the tar."""
        self.stream.seek(0)
        while chunk := self.stream.read(_CHUNK_BYTES):
            yield chunk


@contextmanager
def written(delta: Delta, objects: Objects, *, scratch: Path, over: Digest | None = None) -> Iterator[Layer]:
    """The layer of a delta, gone when the block ends.

    `over` is the tree that is below the layer where a placed tree is to be: then only what changes is written.

    Raises:
        LostObjectError: when the store lacks a piece of it.
        ScratchError: when it cannot be written.
    """
    entries = _entries(delta, over, objects)
    with ExitStack() as open_files:
        try:
            stream = open_files.enter_context(tempfile.TemporaryFile(dir=scratch))
            tar = _Tar(stream)
            for entry in entries:
                _write(entry, tar, objects)
            tar.end()
        except OSError as error:
            raise ScratchError(scratch, error) from error
        yield Layer(diff_id=f"sha256:{tar.sha256.hexdigest()}", size=tar.size, stream=stream)


def _entries(delta: Delta, over: Digest | None, objects: Objects) -> Iterable[DeltaEntry]:
    if not isinstance(delta, PlacedTree):
        return load_entries(delta.delta, delta.times, objects)

    def load(tree: Digest) -> directory.Directory:
        return directory.decode(objects.read(TREE, tree))

    return placed_entries(delta, load) if over is None else changed_entries(over, delta, load)


def load_entries(delta: Digest, times: Digest, objects: Objects) -> tuple[DeltaEntry, ...]:
    """What a step left. Raises LostObjectError when the store lacks it."""
    return decode(objects.read(DELTA, delta), objects.read(DELTA, times))


class _Tar:
    """A tar on its way into a file; only the headers are tarfile's, whose own way of adding files is slow."""

    def __init__(self, target: BinaryIO) -> None:
        self._target = target
        self.sha256 = hashlib.sha256()
        self.size = 0

    def add(self, info: tarfile.TarInfo, content: Iterable[bytes] = ()) -> None:
        self._put(info.tobuf(tarfile.PAX_FORMAT, "utf-8", "surrogateescape"))
        for chunk in content:
            self._put(chunk)
        self._put(bytes(-self.size % tarfile.BLOCKSIZE))

    def end(self) -> None:
        self._put(bytes(2 * tarfile.BLOCKSIZE))

    def _put(self, data: bytes) -> None:
        self._target.write(data)
        self.sha256.update(data)
        self.size += len(data)


def _write(entry: DeltaEntry, tar: _Tar, objects: Objects) -> None:
    if entry.kind is DeltaKind.DELETED:
        tar.add(_whiteout((*entry.parts[:-1], WHITEOUT + entry.parts[-1])))
        return
    info = _header(entry)
    if entry.kind is not DeltaKind.FILE:
        tar.add(info)
    elif entry.size <= _LARGE_BYTES:
        tar.add(info, [objects.read(BLOB, entry.content)])
    else:
        with objects.open(BLOB, entry.content) as stream:
            tar.add(info, iter(lambda: stream.read(_CHUNK_BYTES), b""))
    if entry.opaque:
        tar.add(_whiteout((*entry.parts, OPAQUE)))


def _whiteout(parts: Parts) -> tarfile.TarInfo:
    info = tarfile.TarInfo(_text(b"/".join(parts)))
    info.mode = _WHITEOUT_MODE
    return info


def _header(entry: DeltaEntry) -> tarfile.TarInfo:
    info = tarfile.TarInfo(_text(entry.path))
    info.type = _TYPES[entry.kind]
    info.mode, info.uid, info.gid, info.mtime = entry.mode, entry.uid, entry.gid, entry.mtime_s
    info.size = entry.size if entry.kind is DeltaKind.FILE else 0
    info.linkname = _text(entry.target or b"")
    info.devmajor, info.devminor = entry.device or (0, 0)
    info.pax_headers = {XATTR_RECORD + name: _text(value) for name, value in entry.xattrs}
    return info


def _text(data: bytes) -> str:
    """How tarfile wants bytes; it writes them back as they are."""
    return data.decode("utf-8", "surrogateescape")
