"""Names of one directory that some file systems take for one: they differ in case or in Unicode form only."""

from __future__ import annotations

import unicodedata
from typing import TYPE_CHECKING

from reeval_build.tree.directory import walk

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from reeval_build.digest import Digest
    from reeval_build.paths import Parts
    from reeval_build.tree.directory import Loader

Twins = tuple[bytes, ...]
"""Two names or more, sorted, of which such a file system has one."""


def folded(name: bytes) -> bytes:
    """What is equal for names that are twins; a name that is not UTF-8 has none in another form, but in another case.

    Rule: Unicode's canonical caseless matching (chapter 3.13, D145), which APFS and ext4's casefold do in substance.
    """
    if name.isascii():
        return name.lower()
    text = unicodedata.normalize("NFD", name.decode("utf-8", "surrogateescape"))
    return unicodedata.normalize("NFD", text.casefold()).encode("utf-8", "surrogateescape")


def twins(names: Collection[bytes]) -> list[Twins]:
    """Every group of twins among the names of one directory, sorted."""
    # Nearly every directory has none, and is done with after this.
    joined = b"\0".join(names)
    if joined.isascii() and len(set(joined.lower().split(b"\0"))) == len(names):
        return []
    groups: dict[bytes, list[bytes]] = {}
    for name in names:
        groups.setdefault(folded(name), []).append(name)
    return sorted(tuple(sorted(group)) for group in groups.values() if len(group) > 1)


def twins_below(root: Digest, load: Loader) -> Iterator[tuple[Parts, Twins]]:
    """Every group of twins in a tree, after the names that lead to the directory they are in."""
    names: dict[Parts, list[bytes]] = {}
    for parts, _entry in walk(root, load):
        names.setdefault(parts[:-1], []).append(parts[-1])
    for above in sorted(names):
        yield from ((above, group) for group in twins(names[above]))
