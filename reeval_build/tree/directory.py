"""One directory of a Merkle tree, and its encoding."""

from __future__ import annotations

from enum import Enum
from itertools import pairwise
from typing import TYPE_CHECKING, Final, Protocol

import attrs

from reeval_build import canon
from reeval_build.digest import TREE, Digest
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


def encode(entries: Mapping[bytes, Entry]) -> bytes:
    """The object of a directory: its entries sorted by name bytes, so that order of arrival does not matter."""
    return canon.encode([_row(name, entries[name]) for name in sorted(entries)])


def _row(name: bytes, entry: Entry) -> list[canon.Value]:
    return [check_name(name), entry.kind.value, entry.digest or entry.target, entry.size]


def decode(data: bytes) -> Directory:
    """The directory that `encode` wrote. Raises `canon.DecodeError` or `PathError` for anything else."""
    rows = canon.decode(data)
    if not isinstance(rows, list):
        raise canon.DecodeError("not the object of a directory")
    entries = [_entry(row) for row in rows]
    if any(name >= following for (name, _), (following, _) in pairwise(entries)):
        raise canon.DecodeError("the entries of a directory are not in order")
    return dict(entries)


def _entry(row: canon.Value) -> tuple[bytes, Entry]:
    match row:
        case [bytes(name), ("f" | "x") as kind, Digest() as digest, int(size)] if _is_count(size):
            return check_name(name), Entry(Kind(kind), digest, size)
        case [bytes(name), "d", Digest() as digest, int(size)] if _is_count(size) and size == 0:
            return check_name(name), Entry.directory(digest)
        case [bytes(name), "l", bytes(target), int(size)] if _is_count(size) and size == len(target):
            return check_name(name), Entry.symlink(target)
        case _:
            raise canon.DecodeError("not an entry of a directory")


def _is_count(value: int) -> bool:
    return value >= 0 and not isinstance(value, bool)


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
