"""Trees and bytes that are in the store already, and a way to add to them; never a path of the host."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import attrs

from reeval_build.content.facts import Facts, NoFacts
from reeval_build.content.problems import ContentError
from reeval_build.paths import PathError, check_link, display, split
from reeval_build.tree.directory import Entry, Kind, Loader, Saver

if TYPE_CHECKING:
    from reeval_build.digest import Digest
    from reeval_build.paths import Parts

# What a person writes is far smaller; what is larger is refused before it is read.
MAX_DOCUMENT_BYTES = 8 * 1024 * 1024


class Reader(Protocol):
    """Reads the bytes of one file."""

    def __call__(self, digest: Digest, /) -> bytes:
        """The bytes that `digest` names. Raises what the store raises when they are not there."""


class Adder(Protocol):
    """Keeps the bytes of one file."""

    def __call__(self, data: bytes, /) -> Digest:
        """The digest of the bytes that were kept."""


@attrs.frozen(kw_only=True)
class Material:
    """Reads what is stored, and adds to it; `facts` has what need not be read again.

    What is added need not be readable through `load` and `read` at once: nothing here reads what it has just added.
    """

    load: Loader
    read: Reader
    save: Saver
    add: Adder
    facts: Facts = attrs.field(factory=NoFacts)

    def file(self, data: bytes, *, executable: bool = False) -> Entry:
        """The entry of a file that has `data`."""
        return Entry.file(self.add(data), len(data), executable=executable)


def is_file(entry: Entry | None) -> bool:
    """Whether there is a regular file."""
    return entry is not None and entry.kind in {Kind.FILE, Kind.EXECUTABLE}


def is_directory(entry: Entry | None) -> bool:
    """Whether there is a directory."""
    return entry is not None and entry.kind is Kind.DIRECTORY


def find(tree: Digest, parts: Parts, load: Loader) -> Entry | None:
    """What `tree` has at `parts`, or None; links are not followed."""
    entry: Entry | None = Entry.directory(tree)
    for name in parts:
        if entry is None or entry.kind is not Kind.DIRECTORY:
            return None
        entry = load(entry.content).get(name)
    return entry


def read_document(entry: Entry, path: str, material: Material, *, where: str) -> bytes:
    """The bytes of a file that a person wrote.

    Raises:
        ContentError: when `entry` is not a regular file or is too large to be one that a person wrote.
    """
    check_document(entry, path, where=where)
    return material.read(entry.content)


def check_document(entry: Entry, path: str, *, where: str) -> None:
    """Make sure that there is a file that a person can have written. Raises ContentError when there is not."""
    if entry.kind is Kind.SYMLINK:
        raise ContentError(where, path, "is a symbolic link, which is not followed")
    if entry.kind is Kind.DIRECTORY:
        raise ContentError(where, path, "is a directory, not a file")
    if entry.size > MAX_DOCUMENT_BYTES:
        raise ContentError(where, path, f"has {entry.size} bytes, more than the {MAX_DOCUMENT_BYTES} that are read")


def relative_parts(text: str, *, where: str) -> Parts:
    """The names of a directory an author wrote, relative to the root of a source; `.` and a trailing `/` are allowed.

    Raises:
        ContentError: for a path that leaves the source or has no single meaning.
    """
    if "\\" in text:
        raise ContentError(where, text, "has a backslash; use forward slashes")
    trimmed = text.removeprefix("./").removesuffix("/")
    if trimmed in {"", "."} and not text.startswith("/"):
        return ()
    try:
        return split(trimmed.encode("utf-8"))
    except UnicodeEncodeError as error:
        raise ContentError(where, text, "is not valid Unicode text") from error
    except PathError as error:
        raise ContentError(where, text, error.reason) from error


def directory_at(tree: Digest, parts: Parts, load: Loader, *, where: str) -> Digest:
    """The directory that `tree` has at `parts`.

    Raises:
        ContentError: when nothing is there, or something else is.
    """
    entry = find(tree, parts, load)
    path = display(b"/".join(parts))
    if entry is None:
        raise ContentError(where, path, "is not there")
    if entry.kind is Kind.SYMLINK:
        raise ContentError(where, path, "is a symbolic link, which is not followed")
    if entry.kind is not Kind.DIRECTORY:
        raise ContentError(where, path, "is not a directory")
    return entry.content


def check_link_in(parts: Parts, target: bytes, at: str, *, where: str) -> None:
    """Make sure that the link at `parts` below `at` does not lead out of `at`. Raises ContentError when it does."""
    try:
        check_link(parts, target)
    except PathError as error:
        path = "/".join(piece for piece in (at, error.path) if piece)
        raise ContentError(where, path, error.reason) from error
