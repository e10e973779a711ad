"""One directory of a Merkle tree, and its encoding."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, Final, Protocol

import attrs

from reeval_build import canon
from reeval_build.digest import DIGEST_BYTES, TREE, Digest
from reeval_build.paths import check_name

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from reeval_build.paths import Parts


class Kind(Enum):
    """What an entry of a directory is; the value is what is encoded."""

    FILE = "f"
    EXECUTABLE = "x"
    DIRECTORY = "d"
    SYMLINK = "l"

    # Enum's own is written in Python, and every entry asks for it.
    __hash__ = object.__hash__


@attrs.frozen
class Entry:
    """An entry of a directory, without its name.

    `digest` names the bytes of a file or the object of a directory and is None for a symbolic link, whose `target`
    is kept as bytes. `size` counts the bytes of a file or of a link's target; it is 0 for a directory.
    """

    kind: Kind
    digest: Digest | None = None
    size: int = 0
    target: bytes | None = None

    @classmethod
    def file(cls, digest: Digest, size: int, *, executable: bool = False) -> Entry:
        """A regular file."""
        return cls(Kind.EXECUTABLE if executable else Kind.FILE, digest, size)

    @classmethod
    def directory(cls, digest: Digest) -> Entry:
        """A directory, by the digest of its own object."""
        return cls(Kind.DIRECTORY, digest)

    @classmethod
    def symlink(cls, target: bytes) -> Entry:
        """A symbolic link, which is never followed."""
        return cls(Kind.SYMLINK, None, len(target), target)

    @property
    def content(self) -> Digest:
        """The digest of a file or a directory; a symbolic link has none."""
        assert self.digest is not None, "a symbolic link has no digest"
        return self.digest


Directory = dict[bytes, Entry]

EMPTY: Final[Directory] = {}


class Loader(Protocol):
    """Reads the object of one directory."""

    def __call__(self, digest: Digest, /) -> Mapping[bytes, Entry]:
        """The directory that `digest` names. Raises what the store raises when it is not there."""


class Saver(Protocol):
    """Keeps the object of one directory."""

    def __call__(self, entries: Mapping[bytes, Entry], /) -> Digest:
        """The digest of the directory that was kept."""


# A list of rows, each of which is a list of four: name, kind, digest or target, size; as `canon` writes them. Written
# and read by hand, for a tree has tens of thousands.
_LENGTH_BYTES: Final = 8
_ROWS: Final = b"l"
_ROW: Final = canon.encode([b"", b"", b"", b""])[: 1 + _LENGTH_BYTES] + b"b"
_LINK: Final = canon.encode(Kind.SYMLINK.value) + b"b"
_HEADS: Final = {
    kind: canon.encode(kind.value) + b"h" + DIGEST_BYTES.to_bytes(_LENGTH_BYTES)
    for kind in (Kind.FILE, Kind.EXECUTABLE, Kind.DIRECTORY)
}
_KINDS: Final = {head: kind for kind, head in _HEADS.items()}
_HEAD_BYTES: Final = len(_HEADS[Kind.FILE])


def encode(entries: Mapping[bytes, Entry]) -> bytes:
    """The object of a directory: its entries sorted by name bytes, so that order of arrival does not matter.

    It is the canonical encoding of a list of rows: name, kind, digest or target, size.
    """
    rows = [_ROWS + len(entries).to_bytes(_LENGTH_BYTES)]
    for name in sorted(entries):
        entry = entries[name]
        size = b"%d" % entry.size
        target = entry.target
        if target is None:
            head, what = _HEADS[entry.kind], entry.content.raw
        else:
            head, what = _LINK + _length(target), target
        rows += (_ROW, _length(check_name(name)), name, head, what, b"i", _length(size), size)
    return b"".join(rows)


def _length(content: bytes) -> bytes:
    return len(content).to_bytes(_LENGTH_BYTES)


def decode(data: bytes) -> Directory:
    """The directory that `encode` wrote. Raises `canon.DecodeError` or `PathError` for anything else."""
    try:
        entries = dict(_read_rows(data))
    except ValueError as error:
        raise canon.DecodeError(f"not the object of a directory: {error}") from error
    if encode(entries) != data:
        raise canon.DecodeError("not the object of a directory: it has a tail, or its entries are not in order")
    return entries


def _read_rows(data: bytes) -> Iterator[tuple[bytes, Entry]]:
    """What the rows say, when they are rows; where one is written otherwise, writing them again shows it."""
    at = len(_ROWS) + _LENGTH_BYTES
    for _ in range(int.from_bytes(data[len(_ROWS) : at])):
        if not data.startswith(_ROW, at):
            raise ValueError("cut, or not an entry")
        name, at = _read_scalar(data, at + len(_ROW))
        kind = _KINDS.get(data[at : at + _HEAD_BYTES])
        if kind is None:
            target, at = _read_scalar(data, at + len(_LINK))
            size, at = _read_scalar(data, at + 1)
            entry = Entry.symlink(target)
        else:
            at += _HEAD_BYTES + DIGEST_BYTES
            digest = Digest(data[at - DIGEST_BYTES : at])
            size, at = _read_scalar(data, at + 1)
            entry = Entry(kind, digest, int(size))
        if int(size) != (0 if entry.kind is Kind.DIRECTORY else entry.size) or entry.size < 0:
            raise ValueError("a size that is none")
        yield name, entry


def _read_scalar(data: bytes, at: int) -> tuple[bytes, int]:
    begin = at + _LENGTH_BYTES
    end = begin + int.from_bytes(data[at:begin])
    return data[begin:end], end


def tree_digest(entries: Mapping[bytes, Entry]) -> Digest:
    """The digest of a directory object."""
    return TREE.digest(encode(entries))


def walk(root: Digest, load: Loader) -> Iterator[tuple[Parts, Entry]]:
    """Every entry below `root` with the names that lead to it: a directory before what is in it, sorted by name."""
    pending: list[tuple[Parts, Digest]] = [((), root)]
    while pending:
        above, digest = pending.pop()
        entries = load(digest)
        below = []
        for name in sorted(entries):
            parts = (*above, name)
            yield parts, entries[name]
            if entries[name].kind is Kind.DIRECTORY:
                below.append((parts, entries[name].content))
        pending.extend(reversed(below))
