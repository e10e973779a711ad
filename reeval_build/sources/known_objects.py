"""Which objects of a directory are known, and were not added to a batch."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reeval_build.digest import DIGEST_BYTES, Digest

if TYPE_CHECKING:
    from collections.abc import Iterable

    from reeval_build.ports.objects import Objects


class KnownObjects:
    """All of them, and those that stand for the others: a directory that a store has, it has with all below.

    Directories are entered and left as they are walked. Raw digests, of which there are tens of thousands.
    """

    def __init__(self) -> None:
        self._all: list[bytes] = []
        # What is in directories that are not known themselves, or that were not left yet.
        self._files: list[bytes] = []
        self._trees: list[bytes] = []
        self._entered: list[tuple[int, int]] = []

    def enter(self, files: bytes) -> None:
        """Go into a directory, of which these files are known, one digest after the other."""
        self._entered.append((len(self._files), len(self._trees)))
        self._files.append(files)
        self._all.append(files)

    def leave(self, known: Digest | None) -> None:
        """Go out of the directory that was entered last, with its own object if that is known."""
        files, trees = self._entered.pop()
        if known is not None:
            del self._files[files:]
            self._trees[trees:] = [known.raw]
            self._all.append(known.raw)

    def are_in(self, objects: Objects) -> bool:
        """Whether a store has them, unless it has lost one below a directory that it has."""
        files, trees = _digests(self._files), _digests(self._trees)
        return objects.present_trees(trees) == trees and objects.present(files) == files

    def are_all_in(self, objects: Objects) -> bool:
        """Whether a store has each of them."""
        wanted = _digests(self._all)
        return objects.present(wanted) == wanted


def _digests(parts: Iterable[bytes]) -> set[Digest]:
    raw = b"".join(parts)
    return {Digest(raw[start : start + DIGEST_BYTES]) for start in range(0, len(raw), DIGEST_BYTES)}
