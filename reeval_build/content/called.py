"""Sources of skills and plugins as their authors wrote them."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from reeval_build.content.problems import shown
from reeval_build.model.plugins import GitPlugin, LocalPlugin, MarketplacePlugin, NpmMarketplace, NpmPlugin
from reeval_build.model.skills import GitSkills, InlineSkill, LocalSkills, NpmSkills, RegistrySkill

if TYPE_CHECKING:
    from reeval_build.model.plugins import PluginSource
    from reeval_build.model.skills import SkillSource

FetchedSkills: TypeAlias = LocalSkills | GitSkills | NpmSkills | RegistrySkill


def called_skills(source: SkillSource) -> str:
    """A source as its author wrote it."""
    match source:
        case InlineSkill():
            written = source.name
        case LocalSkills():
            written = source.path
        case GitSkills():
            written = source.repo
        case NpmSkills():
            written = source.spec
        case RegistrySkill():
            written = source.id
    return f'skill.{source.source}("{shown(written)}")'


def called_plugin(source: PluginSource) -> str:
    """A source as its author wrote it."""
    match source:
        case LocalPlugin():
            written = source.path
        case GitPlugin():
            written = source.repo
        case NpmPlugin():
            written = source.spec
        case MarketplacePlugin():
            place = source.marketplace
            written = f"{source.name}@" + (f"npm:{place.spec}" if isinstance(place, NpmMarketplace) else place.repo)
    return f'plugin.{source.source}("{shown(written)}")'
