"""The changes that the tar of an image's layer says."""

from __future__ import annotations

import math
import tarfile
from typing import TYPE_CHECKING, Final

import attrs

from reeval_build.engines.docker.changes import CAPABILITY, RESERVED_NAME, UnkeepableChangeError, add_bytes
from reeval_build.engines.docker.connection import EngineRefusalError
from reeval_build.engines.docker.layers import OPAQUE, WHITEOUT, XATTR_RECORD
from reeval_build.paths import PathError, split
from reeval_build.state.delta import DeltaEntry, DeltaKind, in_order

if TYPE_CHECKING:
    from typing import IO

    from reeval_build.paths import Parts
    from reeval_build.ports.objects import Batch

_KINDS: Final = {
    tarfile.REGTYPE: DeltaKind.FILE,
    tarfile.DIRTYPE: DeltaKind.DIRECTORY,
    tarfile.SYMTYPE: DeltaKind.SYMLINK,
    tarfile.LNKTYPE: DeltaKind.HARD_LINK,
    tarfile.FIFOTYPE: DeltaKind.FIFO,
    tarfile.CHRTYPE: DeltaKind.CHARACTER_DEVICE,
    tarfile.BLKTYPE: DeltaKind.BLOCK_DEVICE,
}
_DEVICES: Final = {DeltaKind.CHARACTER_DEVICE, DeltaKind.BLOCK_DEVICE}
_MODE_BITS: Final = 0o7777
_READ_BYTES: Final = 1024 * 1024


def read_layer(layer: IO[bytes], batch: Batch) -> tuple[DeltaEntry, ...]:
    """The changes in a layer, which is read once from its beginning; the bytes of files are added to `batch`.

    Raises:
        UnkeepableChangeError: for a name that no layer can have.
        tarfile.TarError: when it is not a tar.
    """
    changes: dict[Parts, DeltaEntry] = {}
    opaque: list[Parts] = []
    # Not the encoding of the locale, which is tarfile's default: names are bytes, and come back as they were.
    with tarfile.open(fileobj=layer, mode="r|", bufsize=_READ_BYTES, encoding="utf-8", errors="surrogateescape") as tar:
        for member in tar:
            path = _bytes(member.name)
            directory, _, name = path.rpartition(b"/")
            if name == OPAQUE:
                opaque.append(_checked(directory))
            elif name.startswith(WHITEOUT):
                entry = _deletion(path, directory, name, member)
                changes[entry.parts] = entry
            elif path not in {b"", b"."}:
                entry = _entry(_checked(path), member, tar, changes, batch)
                changes[entry.parts] = entry
    for parts in opaque:
        changes[parts] = attrs.evolve(changes[parts], opaque=True)
    return in_order(changes.values())


def _deletion(path: bytes, directory: bytes, name: bytes, member: tarfile.TarInfo) -> DeltaEntry:
    deleted = name.removeprefix(WHITEOUT)
    if member.size or deleted.startswith(WHITEOUT):
        raise UnkeepableChangeError(path, RESERVED_NAME)
    return DeltaEntry(parts=_checked(b"/".join(filter(None, (directory, deleted)))), kind=DeltaKind.DELETED)


def _entry(
    parts: Parts, member: tarfile.TarInfo, tar: tarfile.TarFile, changes: dict[Parts, DeltaEntry], batch: Batch
) -> DeltaEntry:
    kind = _KINDS.get(member.type)
    if kind is None:
        raise UnkeepableChangeError(b"/".join(parts), f"is of the unknown type {member.type!r}")
    entry = DeltaEntry(
        parts=parts,
        kind=kind,
        mode=member.mode & _MODE_BITS,
        uid=member.uid,
        gid=member.gid,
        target=_bytes(member.linkname) if kind in {DeltaKind.SYMLINK, DeltaKind.HARD_LINK} else None,
        xattrs=_xattrs(member),
        device=(member.devmajor, member.devminor) if kind in _DEVICES else None,
        mtime_s=math.floor(member.mtime),
    )
    if kind is DeltaKind.FILE:
        source = tar.extractfile(member)
        assert source is not None, "it is a file"
        digest, size = add_bytes(batch, source, member.size)
        return attrs.evolve(entry, digest=digest, size=size)
    return _linked(entry, changes) if kind is DeltaKind.HARD_LINK else entry


def _linked(entry: DeltaEntry, changes: dict[Parts, DeltaEntry]) -> DeltaEntry:
    assert entry.target is not None, "a hard link has a target"
    first = changes.get(_checked(entry.target))
    if first is None:
        raise EngineRefusalError("read what a container changed", "a hard link leads out of the layer")
    if first.kind is DeltaKind.FILE:
        return attrs.evolve(entry, digest=first.digest, size=first.size)
    # Two names of one symbolic link, fifo or device are as good as two of them.
    return attrs.evolve(first, parts=entry.parts)


def _xattrs(member: tarfile.TarInfo) -> tuple[tuple[str, bytes], ...]:
    value = member.pax_headers.get(XATTR_RECORD + CAPABILITY)
    return () if value is None else ((CAPABILITY, _bytes(value)),)


def _checked(path: bytes) -> Parts:
    try:
        return split(path)
    except PathError as error:
        raise UnkeepableChangeError(path, error.reason) from error


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")
