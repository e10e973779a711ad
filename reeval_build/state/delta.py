"""What a step did to a file system, as an image layer would say it."""

from __future__ import annotations

from enum import Enum
from itertools import pairwise
from typing import TYPE_CHECKING, Final

import attrs

from reeval_build import canon
from reeval_build.digest import Digest
from reeval_build.paths import Parts, PathError, display, split

if TYPE_CHECKING:
    from collections.abc import Iterable


class DeltaKind(Enum):
    """What is at a path after the step; the value is what is encoded."""

    FILE = "f"
    DIRECTORY = "d"
    SYMLINK = "l"
    HARD_LINK = "h"
    FIFO = "p"
    CHARACTER_DEVICE = "c"
    BLOCK_DEVICE = "b"
    DELETED = "-"


# Where the digest is in the row of an entry.
_DIGEST: Final = 5
_KINDS: Final = {kind.value: kind for kind in DeltaKind}


@attrs.frozen(kw_only=True)
class DeltaEntry:
    """One path that a step made, changed or deleted.

    `parts` lead from the root of the file system. `mode` is the permission bits with setuid, setgid and sticky.
    `digest` and `size` name the bytes of a file, and also of a hard link, so that an entry stands on its own;
    `target` is where a symbolic link points, as it is written, or the path of the file a hard link shares its inode
    with, from the root and without a leading slash. `opaque` is for a directory that hides whatever the state
    below has in it. `device` is the major and minor number of a device. `mtime_s` is restored with the entry but is
    not part of what a delta is: two runs of a step that differ in nothing else left the same delta.
    """

    parts: Parts
    kind: DeltaKind
    mode: int = 0
    uid: int = 0
    gid: int = 0
    digest: Digest | None = None
    size: int = 0
    target: bytes | None = None
    opaque: bool = False
    xattrs: tuple[tuple[str, bytes], ...] = ()
    device: tuple[int, int] | None = None

    mtime_s: int = attrs.field(default=0, eq=False)

    @property
    def path(self) -> bytes:
        """The path from the root, without a leading slash."""
        return b"/".join(self.parts)

    @property
    def content(self) -> Digest:
        """The digest of the bytes of a file or a hard link."""
        assert self.digest is not None, "only a file has bytes"
        return self.digest


def in_order(entries: Iterable[DeltaEntry]) -> tuple[DeltaEntry, ...]:
    """The entries as a delta has them: sorted by path, a directory before what is in it."""
    return tuple(sorted(entries, key=lambda entry: entry.parts))


def encode(entries: Iterable[DeltaEntry]) -> tuple[bytes, bytes]:
    """The object of a delta, and the object of its times, which is kept beside it.

    Raises:
        PathError: for an entry below one that is no directory: whoever writes it would be led out of the file system.
    """
    ordered = in_order(entries)
    _check_parents(ordered)
    return canon.encode([_row(entry) for entry in ordered]), canon.encode([entry.mtime_s for entry in ordered])


def _row(entry: DeltaEntry) -> list[canon.Value]:
    return [
        entry.path,
        entry.kind.value,
        entry.mode,
        entry.uid,
        entry.gid,
        entry.digest,
        entry.size,
        entry.target,
        entry.opaque,
        dict(entry.xattrs),
        entry.device,
    ]


def decode(data: bytes, times: bytes) -> tuple[DeltaEntry, ...]:
    """The entries of a delta, with their times. Raises `canon.DecodeError` or `PathError` for anything else."""
    rows, seconds = canon.decode(data), canon.decode(times)
    if not isinstance(rows, list) or not isinstance(seconds, list) or len(rows) != len(seconds):
        raise canon.DecodeError("not the object of a delta and its times")
    entries = tuple(_entry(row, mtime_s) for row, mtime_s in zip(rows, seconds, strict=True))
    if any(entry.parts >= following.parts for entry, following in pairwise(entries)):
        raise canon.DecodeError("the entries of a delta are not in order")
    _check_parents(entries)
    return entries


def blobs_of(data: bytes) -> frozenset[Digest]:
    """The blobs that the object of a delta names, which can be told without its times. Raises as `decode` does."""
    rows = canon.decode(data)
    if not isinstance(rows, list):
        raise canon.DecodeError("not the object of a delta")
    return frozenset(row[_DIGEST] for row in rows if isinstance(row, list) and isinstance(row[_DIGEST], Digest))


def _check_parents(ordered: Iterable[DeltaEntry]) -> None:
    """Refuse what is below something else than a directory, in entries that are in order."""
    leaf: DeltaEntry | None = None
    for entry in ordered:
        if leaf is not None and len(entry.parts) > len(leaf.parts) and entry.parts[: len(leaf.parts)] == leaf.parts:
            raise PathError(entry.path, f"is below {display(leaf.path)!r}, which is no directory in the same delta")
        leaf = None if entry.kind is DeltaKind.DIRECTORY else entry


def _entry(row: canon.Value, mtime_s: canon.Value) -> DeltaEntry:
    match row, mtime_s:
        case (
            [
                bytes(path),
                str(kind),
                int(mode),
                int(uid),
                int(gid),
                (None | Digest()) as digest,
                int(size),
                (None | bytes()) as target,
                bool(opaque),
                dict(xattrs),
                device,
            ],
            int(seconds),
        ) if kind in _KINDS and not any(isinstance(number, bool) for number in (mode, uid, gid, size, seconds)):
            return DeltaEntry(
                parts=split(path),
                kind=_KINDS[kind],
                mode=mode,
                uid=uid,
                gid=gid,
                digest=digest,
                size=size,
                target=_inside(target) if kind == DeltaKind.HARD_LINK.value else target,
                opaque=opaque,
                xattrs=_xattrs(xattrs),
                device=_device(device),
                mtime_s=seconds,
            )
        case _:
            raise canon.DecodeError("not an entry of a delta")


def _inside(target: bytes | None) -> bytes:
    """The path of a hard link's file, which is opened, where a symbolic link's target is only written down."""
    return b"/".join(split(target or b""))


def _xattrs(values: dict[str, canon.Value]) -> tuple[tuple[str, bytes], ...]:
    pairs = tuple((name, value) for name, value in sorted(values.items()) if isinstance(value, bytes))
    if len(pairs) != len(values):
        raise canon.DecodeError("an extended attribute is not bytes")
    return pairs


def _device(value: canon.Value) -> tuple[int, int] | None:
    match value:
        case None:
            return None
        case [int(major), int(minor)] if not isinstance(major, bool) and not isinstance(minor, bool):
            return major, minor
        case _:
            raise canon.DecodeError("not the numbers of a device")
