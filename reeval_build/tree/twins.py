"""Names of one directory that some file systems take for one: they differ in case or in Unicode form only."""

from __future__ import annotations

import unicodedata
from typing import TYPE_CHECKING

import attrs

from reeval_build.digest import Digest
from reeval_build.paths import Parts
from reeval_build.tree.directory import Kind

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

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


@attrs.frozen(kw_only=True)
class TwinsBelow:
    """What a tree has of twins: each group after the names that lead to its directory, sorted by those.

    `without` are the directories that were looked at and have none, nor anything below them that has.
    """

    groups: tuple[tuple[Parts, Twins], ...]
    without: frozenset[Digest]


def twins_below(
    root: Digest, load: Loader, known: Callable[[Collection[Digest]], Collection[Digest]] = lambda _digests: ()
) -> TwinsBelow:
    """Look for twins everywhere in a tree.

    `known` says of which directories it is known that they have none, nor anything below them: these are not loaded.
    """
    found: list[tuple[Parts, Twins]] = []
    looked_at: dict[Parts, Digest] = {}
    level: list[tuple[Parts, Digest]] = [((), root)]
    while level:
        without = known({digest for _parts, digest in level})
        below = []
        for parts, digest in level:
            if digest in without:
                continue
            looked_at[parts] = digest
            entries = load(digest)
            found += [(parts, group) for group in twins(entries)]
            below += [
                ((*parts, name), entry.content) for name, entry in entries.items() if entry.kind is Kind.DIRECTORY
            ]
        level = below
    having = {looked_at[parts[:depth]] for parts, _group in found for depth in range(len(parts) + 1)}
    return TwinsBelow(groups=tuple(sorted(found)), without=frozenset(looked_at.values()) - having)
