"""`skill.local`, `skill.git`, `skill.npm`, `skill.registry`, `skill.inline`: what the agent knows how to do."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from reeval_build.model.helpers.packages import package
from reeval_build.model.helpers.repositories import Repository, path_of, remote_repository
from reeval_build.model.options import (
    content,
    directory_inside,
    directory_or_root,
    files_inside,
    host_path,
    many,
    one_of,
    text,
)
from reeval_build.model.patterns import Pattern
from reeval_build.model.reading import Mistake, Option, Refused, Shape, make
from reeval_build.model.shown import got, is_text
from reeval_build.model.skills import (
    PLACEMENTS,
    GitSkills,
    InlineSkill,
    LocalSkills,
    NpmSkills,
    Placement,
    RegistrySkill,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from reeval_build.model.site import Site

_ID: Final = re.compile(r"[\w.-]+/[\w.-]+@[^\s@/\\]+")


class SkillHelper:
    """`skill.local(…)`, `skill.git(…)`, `skill.npm(…)`, `skill.registry(…)` and `skill.inline(…)`."""

    def local(
        self,
        path: str,
        *,
        only: Sequence[str] | None = None,
        exclude: Sequence[str] | None = None,
        placement: Placement = "harness",
    ) -> LocalSkills:
        """Skills of a directory of this machine.

        Args:
            path: a directory with a `SKILL.md`, or one whose immediate children have one; relative to the calling
                file, or absolute.
            only: the names of the skills to keep; by default all are.
            exclude: what to leave out of each skill, instead of `DEFAULT_SKILL_EXCLUDE`: gitignore-style patterns.
            placement: `harness` puts them where the harness reads skills, `workspace` into the repository.

        Raises:
            DefinitionError: with every option that is not as above. What is not there is found later.
        """
        return make(LOCAL, {"path": path, "placement": placement}, {"only": only, "exclude": exclude})

    def git(
        self,
        repo: str,
        *,
        ref: str | None = None,
        path: str | None = None,
        only: Sequence[str] | None = None,
        exclude: Sequence[str] | None = None,
        placement: Placement = "harness",
    ) -> GitSkills:
        """Skills of a git repository.

        Args:
            repo: a clone URL, `github:owner/repo`, or a GitHub `/tree/REF/PATH` URL, which sets `ref` and `path` when
                they are not given.
            ref: a branch, tag or commit; the default is the repository's HEAD.
            path: one skill, or a directory of them; by default `skills/` where the root has no `SKILL.md`, else the
                root.
            only: as for `local`.
            exclude: as for `local`.
            placement: as for `local`.

        Raises:
            DefinitionError: with every option that is not as above, and for a password or token in the URL.
        """
        optional = {"ref": ref, "path": path, "only": only, "exclude": exclude}
        return make(GIT, {"repo": repo, "placement": placement}, optional)

    def npm(
        self,
        spec: str,
        *,
        path: str = "skills",
        only: Sequence[str] | None = None,
        exclude: Sequence[str] | None = None,
        placement: Placement = "harness",
    ) -> NpmSkills:
        """Skills of an npm package.

        Args:
            spec: a package, pinned to a version, such as `@acme/skills@1.2.0`; or the path of one, relative to the
                calling file.
            path: the directory of the package that has them; `.` is the package itself.
            only: as for `local`.
            exclude: as for `local`.
            placement: as for `local`.

        Raises:
            DefinitionError: with every option that is not as above.
        """
        written = {"spec": spec, "path": path, "placement": placement}
        return make(NPM, written, {"only": only, "exclude": exclude})

    def registry(self, id: str, *, version: str | None = None, placement: Placement = "harness") -> RegistrySkill:  # noqa: A002 - reeval's name
        """One skill of skills.sh.

        Args:
            id: `owner/repo@skill`.
            version: a git ref of the skill's repository.
            placement: as for `local`.

        Raises:
            DefinitionError: with every option that is not as above.
        """
        return make(REGISTRY, {"id": id, "placement": placement}, {"version": version})

    def inline(
        self,
        *,
        name: str,
        description: str,
        content: str,
        files: Mapping[str, str] | None = None,
        placement: Placement = "harness",
    ) -> InlineSkill:
        """A skill that is written here.

        Args:
            name: its name, in kebab-case.
            description: what it is for.
            content: the body of its `SKILL.md`.
            files: more files of it, by relative path.
            placement: as for `local`.

        Raises:
            DefinitionError: with every option that is not text, and for files that cannot be where they are to be.
        """
        written = {"name": name, "description": description, "content": content, "placement": placement}
        return make(INLINE, written, {"files": files})


def _exclude(value: object, _site: Site) -> str:
    pattern = Pattern.parse(value)
    if pattern.excludes:
        raise Refused(f"must not begin with !: what it matches is left out as it is {got(value)}")
    return str(value)


def _id(value: object, _site: Site) -> str:
    if not is_text(value) or not _ID.fullmatch(value):
        raise Refused(f"must be 'owner/repo@skill' {got(value)}")
    return value


def _build_git(*, repo: Repository, ref: str | None = None, path: str | None = None, **options: Any) -> GitSkills:  # noqa: ANN401 - they were read by name
    return GitSkills(
        repo=repo.written,
        url=repo.url,
        ref=repo.ref if ref is None else ref,
        path=path_of(repo) if path is None else path,
        **options,
    )


def _build_inline(*, files: Mapping[str, str] | None = None, **options: Any) -> InlineSkill:  # noqa: ANN401 - they were read by name
    if files and "SKILL.md" in files:
        raise Refused(Mistake("has SKILL.md, which is made of name, description and content", "files"))
    return InlineSkill(files=files or {}, **options)


_PLACEMENT: Final = {"placement": Option("placement", one_of(*PLACEMENTS))}
_CHOICE: Final = {
    "only": Option("only", many(text, "names")),
    "exclude": Option("exclude", many(_exclude, "patterns")),
} | _PLACEMENT

LOCAL: Final = Shape(
    called="skill.local()",
    options={"path": Option("path", host_path, required=True)} | _CHOICE,
    build=LocalSkills,
    instead=LocalSkills(path="/"),
)
GIT: Final = Shape(
    called="skill.git()",
    options={
        "repo": Option("repo", remote_repository, required=True),
        "ref": Option("ref", text),
        "path": Option("path", directory_inside),
    }
    | _CHOICE,
    build=_build_git,
    instead=GitSkills(repo="", url=""),
)
NPM: Final = Shape(
    called="skill.npm()",
    options={"spec": Option("spec", package, required=True), "path": Option("path", directory_or_root)} | _CHOICE,
    build=NpmSkills,
    instead=NpmSkills(spec=""),
)
REGISTRY: Final = Shape(
    called="skill.registry()",
    options={"id": Option("id", _id, required=True), "version": Option("version", text)} | _PLACEMENT,
    build=RegistrySkill,
    instead=RegistrySkill(id=""),
)
INLINE: Final = Shape(
    called="skill.inline()",
    options={
        "name": Option("name", content, required=True),
        "description": Option("description", content, required=True),
        "content": Option("content", content, required=True),
        "files": Option("files", files_inside),
    }
    | _PLACEMENT,
    build=_build_inline,
    instead=InlineSkill(name="", description="", content=""),
)
SKILLS: Final[dict[str, Shape[Any]]] = {
    "local": LOCAL,
    "git": GIT,
    "npm": NPM,
    "registry": REGISTRY,
    "inline": INLINE,
}
assert {shape.instead.source for shape in SKILLS.values()} == set(SKILLS)

skill: Final = SkillHelper()
