"""Where skills come from."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import ClassVar, Final, Literal, TypeAlias

import attrs

Placement: TypeAlias = Literal["harness", "workspace"]
PLACEMENTS: Final[tuple[Placement, ...]] = ("harness", "workspace")

# Rule: reeval's documentation, `exclude` of `skill.local`.
DEFAULT_SKILL_EXCLUDE: Final = ("/evals/", ".history/", "*.eval.ts")


@attrs.frozen(kw_only=True)
class LocalSkills:
    """A host directory with a `SKILL.md`, or whose immediate children have one; `path` is absolute."""

    source: ClassVar[str] = "local"

    path: str
    placement: Placement = "harness"
    only: tuple[str, ...] | None = None
    exclude: tuple[str, ...] | None = None


@attrs.frozen(kw_only=True)
class GitSkills:
    """A git repository of skills; `repo` is what the author wrote, `url` what is fetched."""

    source: ClassVar[str] = "git"

    repo: str
    url: str
    ref: str | None = None
    path: str | None = None
    placement: Placement = "harness"
    only: tuple[str, ...] | None = None
    exclude: tuple[str, ...] | None = None


@attrs.frozen(kw_only=True)
class NpmSkills:
    """An npm package of skills; a local `spec` is `file:` and an absolute path, `path` a directory of the package."""

    source: ClassVar[str] = "npm"

    spec: str
    path: str = "skills"
    placement: Placement = "harness"
    only: tuple[str, ...] | None = None
    exclude: tuple[str, ...] | None = None


@attrs.frozen(kw_only=True)
class RegistrySkill:
    """One skill of a registry: `id` is `owner/repo@skill`, `version` a git ref."""

    source: ClassVar[str] = "registry"

    id: str
    version: str | None = None
    placement: Placement = "harness"


def _frozen(value: Mapping[str, str]) -> Mapping[str, str]:
    return MappingProxyType(dict(value))


@attrs.frozen(kw_only=True)
class InlineSkill:
    """A skill written in the definition; `files` are relative paths and their text."""

    source: ClassVar[str] = "inline"

    name: str
    description: str
    content: str
    files: Mapping[str, str] = attrs.field(factory=dict, converter=_frozen, hash=False)
    placement: Placement = "harness"


SkillSource: TypeAlias = LocalSkills | GitSkills | NpmSkills | RegistrySkill | InlineSkill
