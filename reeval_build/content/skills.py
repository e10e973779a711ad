"""Which skills a source tree has."""

from __future__ import annotations

import re
from pathlib import PurePath
from typing import TYPE_CHECKING, Final

import attrs

from reeval_build.content.called import FetchedSkills, called_skills
from reeval_build.content.exclude import Exclusion
from reeval_build.content.material import Material, directory_at, find, is_directory, is_file, relative_parts
from reeval_build.content.problems import ContentError, listed, shown
from reeval_build.content.skill_file import SKILL_FILE, FoundSkill, ReadSkill, SkillDirectory
from reeval_build.digest import Digest
from reeval_build.errors import PlanError
from reeval_build.model.skills import DEFAULT_SKILL_EXCLUDE, GitSkills, LocalSkills, NpmSkills, RegistrySkill
from reeval_build.paths import Parts, display
from reeval_build.tree.directory import Kind, walk

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_SKILLS: Final = (b"skills",)
_REGISTRY_ID: Final = re.compile(r"([A-Za-z0-9][A-Za-z0-9-]*)/([A-Za-z0-9._-]+)@([^\s@/]+)")


@attrs.frozen(kw_only=True)
class FoundSkills:
    """The skills a source gives, by name, and what its author should know about them."""

    skills: tuple[FoundSkill, ...]
    warnings: tuple[str, ...] = attrs.field(default=(), eq=False)


@attrs.frozen(kw_only=True)
class RegistryAddress:
    """Where the skill of a registry id is: a repository, and the skill's name there."""

    owner: str
    repository: str
    skill: str

    @property
    def url(self) -> str:
        """What is cloned."""
        return f"https://github.com/{self.owner}/{self.repository}.git"


def registry_address(identifier: str) -> RegistryAddress:
    """What `owner/repo@skill` stands for.

    Raises:
        PlanError: for any other form.
    """
    match = _REGISTRY_ID.fullmatch(identifier)
    if match is None or match[2] in {".", ".."}:
        raise PlanError(f'skill.registry("{shown(identifier)}") needs an id of the form owner/repo@skill')
    return RegistryAddress(owner=match[1], repository=match[2].removesuffix(".git"), skill=match[3])


def find_skills(
    source: FetchedSkills, tree: Digest, material: Material, *, directory_name: str | None = None
) -> FoundSkills:
    """The skills that `source` gives, out of `tree`, all that was fetched for it.

    `directory_name` is what the root of a local tree is called, when that is not the last name of its path.

    Raises:
        ContentError: when the directory is missing or has no skill, a skill is malformed, or `only` names one that
            is not there. A malformed skill that `only` leaves out is no error.
        PlanError: for a registry id of the wrong form.
    """
    where = called_skills(source)
    try:
        place, directories = _searched(source, tree, material, where, directory_name)
    except ContentError as error:
        raise ContentError(where, error.path, error.reason, hint=_elsewhere(source, tree, material)) from error
    chosen = _chosen(source, directories, place, material)
    exclusion = _exclusion(source)
    return FoundSkills(
        skills=tuple(sorted((one.without(exclusion, material) for one in chosen), key=lambda skill: skill.name)),
        warnings=(
            *place.warnings(material),
            *(warning for one in chosen for warning in one.warnings()),
            *_named_otherwise(chosen, where),
        ),
    )


def _searched(
    source: FetchedSkills, tree: Digest, material: Material, where: str, directory_name: str | None
) -> tuple[_Place, list[SkillDirectory]]:
    """Where `source` has its skills, and their directories. Raises ContentError when there are none."""
    place = _place(source, tree, material, where, directory_name)
    directories = list(place.skill_directories(material))
    if not directories:
        raise ContentError(where, place.path, "has no SKILL.md, and no directory in it has one")
    return place, directories


def _elsewhere(source: FetchedSkills, tree: Digest, material: Material) -> str | None:
    """Where else in all of the source there are skills: many repositories sort theirs into directories."""
    above = {
        display(b"/".join(parts[:-2] or parts[:-1])) or "."
        for parts, entry in walk(tree, material.load)
        if parts[-1] == SKILL_FILE and is_file(entry) and b".git" not in parts
    }
    if not above:
        return None
    advice = "; name one as `path`" if isinstance(source, GitSkills | NpmSkills) else ""
    return f"it has skills in: {listed(above)}{advice}"


def _named_otherwise(chosen: Iterable[ReadSkill], where: str) -> Iterator[str]:
    """One sentence for all of a source: many repositories have directories that are named for people."""
    named = [
        f"{one.name} (in {shown(one.directory.directory)})"
        for one in chosen
        if one.directory.directory not in {None, one.name}
    ]
    if named:
        yield f"{where} has skills with another name than their directory, and they go by it: {listed(named)}"


def _exclusion(source: FetchedSkills) -> Exclusion:
    patterns = None if isinstance(source, RegistrySkill) else source.exclude
    return Exclusion.of(DEFAULT_SKILL_EXCLUDE if patterns is None else patterns)


def _chosen(
    source: FetchedSkills, directories: list[SkillDirectory], place: _Place, material: Material
) -> list[ReadSkill]:
    """The skills that are asked for. What is wrong with another is not an error."""
    read = [directory.read(material) for directory in directories]
    sound = [skill for skill in read if isinstance(skill, ReadSkill)]
    wanted = (registry_address(source.id).skill,) if isinstance(source, RegistrySkill) else source.only
    if wanted is None:
        for skill in read:
            if isinstance(skill, ContentError):
                raise skill
        chosen = sound
    else:
        chosen = [skill for skill in sound if skill.name in wanted]
        for name in wanted:
            if all(skill.name != name for skill in chosen):
                raise _missing(name, directories, read, place)
    _no_name_twice(chosen, place.where)
    return chosen


def _missing(
    name: str, directories: list[SkillDirectory], read: list[ReadSkill | ContentError], place: _Place
) -> ContentError:
    """Why there is no skill `name`: the one in the directory of that name is malformed, or there is none."""
    for directory, skill in zip(directories, read, strict=True):
        if isinstance(skill, ContentError) and directory.fallback == name:
            return skill
    names = [skill.name for skill in read if isinstance(skill, ReadSkill)]
    malformed = len(read) - len(names)
    rest = f", and {malformed} that cannot be read" if malformed else ""
    return ContentError(
        place.where, place.path, f'has no skill "{name}"; the skills found are: {listed(names, near=name)}{rest}'
    )


def _no_name_twice(chosen: Iterable[ReadSkill], where: str) -> None:
    paths: dict[str, str] = {}
    for skill in chosen:
        other = paths.setdefault(skill.name, skill.directory.path)
        if other != skill.directory.path:
            raise ContentError(
                where, skill.directory.path, f'has the skill "{skill.name}", and so has "{shown(other)}"'
            )


@attrs.frozen(kw_only=True)
class _Place:
    """The directory of a source that is searched; `name` is None when what it is called says nothing."""

    where: str
    tree: Digest
    parts: Parts
    name: str | None
    fallback: str

    @property
    def path(self) -> str:
        return display(b"/".join(self.parts))

    def skill_directories(self, material: Material) -> Iterator[SkillDirectory]:
        """Itself when it has a SKILL.md, or else those of its children that have one."""
        entries = material.load(self.tree)
        if SKILL_FILE in entries:
            yield SkillDirectory(
                where=self.where, path=self.path, directory=self.name, fallback=self.fallback, tree=self.tree
            )
            return
        for name in sorted(entries):
            entry = entries[name]
            if entry.kind is Kind.DIRECTORY and name != b".git" and SKILL_FILE in material.load(entry.content):
                path = display(b"/".join((*self.parts, name)))
                called_so = display(name)
                yield SkillDirectory(
                    where=self.where, path=path, directory=called_so, fallback=called_so, tree=entry.content
                )

    def warnings(self, material: Material) -> Iterator[str]:
        """A link in place of a skill's directory looks like a skill to a person, and is none."""
        entries = material.load(self.tree)
        if SKILL_FILE not in entries:
            for name in sorted(entries):
                if entries[name].kind is Kind.SYMLINK:
                    path = display(b"/".join((*self.parts, name)))
                    yield f'"{path}" in {self.where} is a symbolic link, which is not followed to look for a skill'


def _place(source: FetchedSkills, tree: Digest, material: Material, where: str, directory_name: str | None) -> _Place:
    match source:
        case LocalSkills():
            parts: Parts = ()
            fallback = directory_name or PurePath(source.path).name
        case GitSkills():
            parts = _git_parts(source, tree, material, where)
            fallback = source.url.rstrip("/").rpartition("/")[2].rpartition(":")[2].removesuffix(".git")
        case NpmSkills():
            parts = relative_parts(source.path, where=where)
            fallback = source.spec.removeprefix("@").rpartition("/")[2].partition("@")[0]
        case RegistrySkill():
            parts = _SKILLS if is_directory(find(tree, _SKILLS, material.load)) else ()
            fallback = registry_address(source.id).repository
    name = display(parts[-1]) if parts else (fallback if isinstance(source, LocalSkills) else None)
    found = directory_at(tree, parts, material.load, where=where)
    return _Place(where=where, tree=found, parts=parts, name=name, fallback=name or fallback)


def _git_parts(source: GitSkills, tree: Digest, material: Material, where: str) -> Parts:
    """Rule: with no `path`, `skills/` when it exists and the root has no SKILL.md, and otherwise the root."""
    if source.path is not None:
        return relative_parts(source.path, where=where)
    has_own = SKILL_FILE in material.load(tree)
    return () if has_own or not is_directory(find(tree, _SKILLS, material.load)) else _SKILLS
