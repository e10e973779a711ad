"""Trees without what is excluded. A directory that was looked at once is not read for that again."""

from __future__ import annotations

from typing import Final

import attrs

from reeval_build.content.exclude import Exclusion
from reeval_build.content.facts import Fact, question
from reeval_build.content.material import Material, check_link_in
from reeval_build.digest import Digest, Domain
from reeval_build.paths import Parts
from reeval_build.tree.directory import Directory, Entry, Kind

NARROWED: Final = Domain("fact narrowed", 1)
"""Its number changes when the rules of what is left out, or of which links are refused, do."""


@attrs.frozen(kw_only=True)
class Narrowing:
    """Leaves out of trees what `exclusion` says.

    `at` is where the trees are in the source that messages call `where`.
    """

    exclusion: Exclusion
    material: Material
    where: str
    at: str

    def known(self, tree: Digest) -> Digest | None:
        """What is left of `tree`, if that is remembered; it may be in no store."""
        return self._remembered([_At((), tree)]).get(())

    def of(self, tree: Digest) -> Digest:
        """What is left of `tree`; directories that differ are saved, and what was found out is remembered.

        Raises:
            ContentError: when a symbolic link in what is left leads out of `tree`.
        """
        open_ = [self._open(_At((), tree))]
        found: list[Fact] = []
        while True:
            directory = open_[-1]
            if directory.left:
                open_.append(self._open(directory.left.pop()))
                continue
            open_.pop()
            place = directory.place
            result = self.material.save(directory.entries) if directory.is_changed else place.tree
            found.append(Fact(question=self._question(place), about=place.tree, answer=result.raw))
            if not open_:
                self.material.facts.keep(found)
                return result
            open_[-1].replace(place.parts[-1], result)

    def _open(self, place: _At) -> _Open:
        """Read a directory: what of it stays, without looking into what is remembered."""
        loaded = self.material.load(place.tree)
        kept: dict[bytes, Entry] = {}
        below: list[_At] = []
        for name, entry in sorted(loaded.items()):
            parts = (*place.parts, name)
            if self.exclusion.leaves_out(parts, entry.kind):
                continue
            if entry.target is not None:
                check_link_in(parts, entry.target, self.at, where=self.where)
            kept[name] = entry
            if entry.kind is Kind.DIRECTORY:
                below.append(_At(parts, entry.content))
        directory = _Open(place, kept, is_changed=len(kept) != len(loaded))
        remembered = self._remembered(below)
        for one in below:
            if one.parts in remembered:
                directory.replace(one.parts[-1], remembered[one.parts])
            else:
                directory.left.append(one)
        return directory

    def _remembered(self, places: list[_At]) -> dict[Parts, Digest]:
        questions = {place.parts: self._question(place) for place in places}
        answers = self.material.facts.known(questions.values())
        return {parts: Digest(answers[one]) for parts, one in questions.items() if one in answers}

    def _question(self, place: _At) -> Digest:
        """Patterns can say where something is, and a link leads out or not depending on that, so the path is in it."""
        patterns = [text.encode("utf-8", "surrogatepass") for text in self.exclusion.patterns]
        return question(NARROWED, place.tree, patterns, place.parts)


@attrs.frozen
class _At:
    """A directory, and where it is in the tree."""

    parts: Parts
    tree: Digest


@attrs.define
class _Open:
    """A directory that is being looked at: what stays of it, and which of its directories are `left` to look at."""

    place: _At
    entries: Directory
    is_changed: bool = attrs.field(kw_only=True)
    left: list[_At] = attrs.field(init=False, factory=list)

    def replace(self, name: bytes, tree: Digest) -> None:
        """Put what is left of one of its directories in the place of that."""
        if self.entries[name].content != tree:
            self.entries[name] = Entry.directory(tree)
            self.is_changed = True
