"""What is to be fetched for skills and plugins."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypeAlias

import attrs

from reeval_build.model.plugins import (
    GitMarketplace,
    GitPlugin,
    LocalPlugin,
    MarketplacePlugin,
    NpmMarketplace,
    NpmPlugin,
    PluginSource,
)
from reeval_build.model.skills import GitSkills, LocalSkills, NpmSkills, RegistrySkill
from reeval_build.model.spec import GitWorkspace

if TYPE_CHECKING:
    from reeval_build.content.called import FetchedSkills
    from reeval_build.content.marketplaces import MarketplaceEntry

SourceKind: TypeAlias = Literal["git", "npm", "local"]


@attrs.frozen
class LocalDirectory:
    """A directory of the host, by absolute path."""

    path: str


@attrs.frozen(kw_only=True)
class Package:
    """An npm package; `registry` is a URL when it is not the user's own."""

    spec: str
    registry: str | None = None


SourceRequest: TypeAlias = LocalDirectory | Package | GitWorkspace


def skills_request(source: FetchedSkills) -> SourceRequest:
    """What is fetched for some skills: always all of it, so that sources that differ in what they take are one."""
    match source:
        case LocalSkills():
            return LocalDirectory(source.path)
        case GitSkills():
            return GitWorkspace(repo=source.repo, url=source.url, ref=source.ref, helper="skill.git")
        case NpmSkills():
            return Package(spec=source.spec)
        case RegistrySkill():
            from reeval_build.content.skills import registry_address

            url = registry_address(source.id).url
            return GitWorkspace(repo=source.id, url=url, ref=source.version, helper="skill.registry")


def plugin_request(source: PluginSource) -> SourceRequest:
    """What is fetched for a plugin: for an entry of a marketplace, the marketplace."""
    match source:
        case LocalPlugin():
            return LocalDirectory(source.path)
        case GitPlugin():
            return GitWorkspace(repo=source.repo, url=source.url, ref=source.ref, helper="plugin.git")
        case NpmPlugin():
            return Package(spec=source.spec)
        case MarketplacePlugin(marketplace=GitMarketplace() as place):
            return GitWorkspace(repo=place.repo, url=place.url, ref=place.ref, helper="plugin.marketplace")
        case MarketplacePlugin(marketplace=NpmMarketplace() as place):
            return Package(spec=place.spec)
        case _:
            raise AssertionError(f"{source!r} is no source of a plugin")


def entry_request(entry: MarketplaceEntry) -> SourceRequest | None:
    """What is fetched for the plugin of an entry; None when it is in the marketplace itself."""
    from reeval_build.content.marketplaces import InPackage, InRepository

    match entry.source:
        case InPackage(spec=spec, registry=registry):
            return Package(spec=spec, registry=registry)
        case InRepository(url=url, ref=ref):
            return GitWorkspace(repo=url, url=url, ref=ref, helper="plugin.marketplace")
        case _:
            return None
