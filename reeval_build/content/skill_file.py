"""One directory with a SKILL.md: what it says, and what is wrong with it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

import attrs

from reeval_build.content.material import Material, check_link_in, read_document
from reeval_build.content.problems import ContentError, shown
from reeval_build.digest import Digest
from reeval_build.tree.directory import Kind
from reeval_build.tree.draft import Draft

if TYPE_CHECKING:
    from collections.abc import Iterator

    from reeval_build.content.exclude import Exclusion

SKILL_FILE: Final = b"SKILL.md"
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
        from reeval_build.content.frontmatter import read_frontmatter  # noqa: PLC0415 - YAML is for who has skills

        try:
            data = read_document(material.load(self.tree)[SKILL_FILE], self.file, material, where=self.where)
            fields = read_frontmatter(data, self.file, where=self.where)
            name = check_name(fields.get("name", self.fallback), self.file, where=self.where)
            description = check_description(fields.get("description"), self.file, where=self.where)
        except ContentError as error:
            return error
        return ReadSkill(directory=self, name=name, description=description)


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
        if exclusion.leaves_out((SKILL_FILE,), Kind.FILE):
            raise ContentError(at.where, at.file, "is left out by `exclude`, and a skill needs it")
        kept, left_out = exclusion.split(at.tree, material.load)
        for parts, entry in kept:
            if entry.target is not None:
                check_link_in(parts, entry.target, at.path, where=at.where)
        draft = Draft(material.load, at.tree)
        for parts in left_out:
            draft.remove(parts)
        return FoundSkill(name=self.name, description=self.description, tree=draft.save(material.save))

    def warnings(self) -> Iterator[str]:
        """What works, and may not be what the author meant."""
        at = self.directory
        return length_warnings(self.name, self.description, f'"{shown(at.file)}" in {at.where}')


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
