"""One directory with a SKILL.md: what it says, and what is wrong with it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

import attrs

from reeval_build import canon
from reeval_build.content.facts import Fact, question
from reeval_build.content.material import Material, check_document
from reeval_build.content.narrowed import Narrowing
from reeval_build.content.problems import ContentError, shown
from reeval_build.digest import Digest, Domain
from reeval_build.tree.directory import Kind

if TYPE_CHECKING:
    from collections.abc import Iterator

    from reeval_build.content.exclude import Exclusion

SKILL_FILE: Final = b"SKILL.md"
HEAD: Final = Domain("fact skill", 1)
"""Its number changes when what a SKILL.md says is read in another way."""
_KEBAB: Final = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
_MAX_NAME: Final = 255
# Rule: the Agent Skills specification; reeval's documentation names no limit, so beyond these is a warning.
_LONG_NAME: Final = 64
_LONG_DESCRIPTION: Final = 1024


@attrs.frozen(kw_only=True)
class FoundSkill:
    """A skill and its files, after `exclude`; it is installed in a directory of its own name."""

    name: str
    description: str
    tree: Digest


@attrs.frozen(kw_only=True)
class SkillDirectory:
    """A directory of a source that has a SKILL.md.

    `path` is where it is in the source, `directory` what it is called or None when that says nothing, and `fallback`
    the name of a skill that does not say its own.
    """

    where: str
    path: str
    directory: str | None
    fallback: str
    tree: Digest

    @property
    def file(self) -> str:
        """The path of its SKILL.md."""
        return "/".join(piece for piece in (self.path, "SKILL.md") if piece)

    def read(self, material: Material) -> ReadSkill | ContentError:
        """What its SKILL.md says, or what is wrong with it."""
        try:
            entry = material.load(self.tree)[SKILL_FILE]
            check_document(entry, self.file, where=self.where)
            known = _known_head(entry.content, material)
            name, description = known or self._read_head(entry.content, material)
            if name is None:
                name = check_name(self.fallback, self.file, where=self.where)
        except ContentError as error:
            return error
        return ReadSkill(directory=self, name=name, description=description)

    def _read_head(self, file: Digest, material: Material) -> tuple[str | None, str]:
        """The name, if there is one, and the description in a SKILL.md, which are remembered."""
        from reeval_build.content.frontmatter import read_frontmatter  # noqa: PLC0415 - YAML is for who has new skills

        fields = read_frontmatter(material.read(file), self.file, where=self.where)
        name = check_name(fields["name"], self.file, where=self.where) if "name" in fields else None
        description = check_description(fields.get("description"), self.file, where=self.where)
        answer = canon.encode([name, description])
        material.facts.keep([Fact(question=question(HEAD, file), about=file, answer=answer)])
        return name, description


@attrs.frozen(kw_only=True)
class ReadSkill:
    """A skill whose SKILL.md was read."""

    directory: SkillDirectory
    name: str
    description: str

    def without(self, exclusion: Exclusion, material: Material) -> FoundSkill:
        """The skill without what is excluded.

        Raises:
            ContentError: when its SKILL.md is, or when a symbolic link in what is left leads out of the skill.
        """
        at = self.directory
        narrowing = Narrowing(exclusion=exclusion, material=material, where=at.where, at=at.path)
        tree = narrowing.known(at.tree)
        if tree is None:
            tree = self._narrowed(narrowing)
        return FoundSkill(name=self.name, description=self.description, tree=tree)

    def _narrowed(self, narrowing: Narrowing) -> Digest:
        at = self.directory
        if narrowing.exclusion.leaves_out((SKILL_FILE,), Kind.FILE):
            raise ContentError(at.where, at.file, "is left out by `exclude`, and a skill needs it")
        return narrowing.of(at.tree)

    def warnings(self) -> Iterator[str]:
        """What works, and may not be what the author meant."""
        at = self.directory
        return length_warnings(self.name, self.description, f'"{shown(at.file)}" in {at.where}')


def _known_head(file: Digest, material: Material) -> tuple[str | None, str] | None:
    """What is remembered of a SKILL.md."""
    about = question(HEAD, file)
    answer = material.facts.known([about]).get(about)
    match None if answer is None else canon.decode(answer):
        case [None | str() as name, str(description)]:
            return name, description
        case _:
            return None


def check_name(name: object, path: str, *, where: str) -> str:
    """`name`, if a skill may be called that. Raises ContentError when it is not kebab-case."""
    if not isinstance(name, str):
        raise ContentError(where, path, f"has a name that is not text: {shown(str(name)[:80])}")
    if not _KEBAB.fullmatch(name):
        raise ContentError(
            where, path, f'has the name "{name[:80]}", which is not kebab-case: a-z, 0-9 and single hyphens between'
        )
    if len(name) > _MAX_NAME:
        raise ContentError(where, path, f"has a name longer than {_MAX_NAME} characters, which no directory can have")
    return name


def check_description(description: object, path: str, *, where: str) -> str:
    """`description`, if it is text that says something. Raises ContentError when it is not."""
    if description is None:
        raise ContentError(where, path, "has no description")
    if not isinstance(description, str):
        raise ContentError(where, path, "has a description that is not text")
    if not description.strip():
        raise ContentError(where, path, "has an empty description")
    try:
        description.encode("utf-8")
    except UnicodeEncodeError as error:
        raise ContentError(where, path, "has a description that is not valid Unicode text") from error
    return description


def length_warnings(name: str, description: str, which: str) -> Iterator[str]:
    """What goes beyond the limits of the Agent Skills specification."""
    if len(name) > _LONG_NAME:
        yield f"{which} has a name longer than {_LONG_NAME} characters"
    if len(description) > _LONG_DESCRIPTION:
        yield f"{which} has a description longer than {_LONG_DESCRIPTION} characters"
