"""Which git trees were read into the store before: they are not read again."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Final

import attrs

from reeval_build.content.facts import Fact, NoFacts, question
from reeval_build.digest import DIGEST_BYTES, Digest, Domain

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from reeval_build.content.facts import Facts

# By depth too: whether a link leaves the tree depends on how deep it is.
Place = tuple[bytes, int]

_GIT_TREE: Final = Domain("git-tree", 1)
_AMOUNTS: Final = struct.Struct(">QQ")


@attrs.frozen
class KnownTree:
    """A git tree as one of ours, and how many entries and bytes are in it."""

    digest: Digest
    entries: int
    size: int


def _have_all(digests: Iterable[Digest]) -> set[Digest]:
    return set(digests)


class KnownTrees:
    """Remembers, for each git tree at a depth, the directory that it is; see ADR 0018.

    `present` tells which directories the store has, with all that is below them.
    """

    def __init__(
        self, facts: Facts | None = None, present: Callable[[Iterable[Digest]], set[Digest]] = _have_all
    ) -> None:
        self._facts = NoFacts() if facts is None else facts
        self._present = present

    def find(self, places: Iterable[Place]) -> Iterator[tuple[Place, KnownTree]]:
        """Those git trees that the store has."""
        asked = {_question(place): place for place in places}
        answers = self._facts.known(asked) if asked else {}
        found = {asked[name]: tree for name, answer in answers.items() if (tree := _decode(answer)) is not None}
        kept = self._present({tree.digest for tree in found.values()}) if found else set()
        return ((place, tree) for place, tree in found.items() if tree.digest in kept)

    def keep(self, trees: Iterable[tuple[Place, KnownTree]]) -> None:
        """Remember what was read."""
        self._facts.keep(
            Fact(question=_question(place), about=tree.digest, answer=_encode(tree)) for place, tree in trees
        )


def _question(place: Place) -> Digest:
    return question(_GIT_TREE, *place)


def _encode(tree: KnownTree) -> bytes:
    return tree.digest.raw + _AMOUNTS.pack(tree.entries, tree.size)


def _decode(answer: bytes) -> KnownTree | None:
    if len(answer) != DIGEST_BYTES + _AMOUNTS.size:
        return None
    return KnownTree(Digest(answer[:DIGEST_BYTES]), *_AMOUNTS.unpack(answer[DIGEST_BYTES:]))
