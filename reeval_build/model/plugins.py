"""Where plugins in Claude Code's layout come from."""

from __future__ import annotations

from typing import ClassVar, Final, Literal, TypeAlias

import attrs

PluginPart: TypeAlias = Literal["skills", "agents", "commands", "hooks", "mcp", "rules"]
PLUGIN_PARTS: Final[tuple[PluginPart, ...]] = ("skills", "agents", "commands", "hooks", "mcp", "rules")


@attrs.frozen(kw_only=True)
class PluginBuild:
    """Commands that build a plugin; `cwd` is relative to the root of the source, None the plugin's directory."""

    run: tuple[str, ...]
    cwd: str | None = None


@attrs.frozen(kw_only=True)
class LocalPlugin:
    """A host directory with `.claude-plugin/plugin.json`; `path` is absolute."""

    source: ClassVar[str] = "local"

    path: str
    only: tuple[PluginPart, ...] | None = None
    build: PluginBuild | None = None


@attrs.frozen(kw_only=True)
class GitPlugin:
    """A directory of a git repository; `repo` is what the author wrote, `url` what is fetched."""

    source: ClassVar[str] = "git"

    repo: str
    url: str
    ref: str | None = None
    path: str | None = None
    only: tuple[PluginPart, ...] | None = None
    build: PluginBuild | None = None


@attrs.frozen(kw_only=True)
class NpmPlugin:
    """A directory of an npm package; a local `spec` is `file:` and an absolute path."""

    source: ClassVar[str] = "npm"

    spec: str
    path: str | None = None
    only: tuple[PluginPart, ...] | None = None
    build: PluginBuild | None = None


@attrs.frozen(kw_only=True)
class GitMarketplace:
    """A Claude Code marketplace in a git repository."""

    source: ClassVar[str] = "git"

    repo: str
    url: str
    ref: str | None = None


@attrs.frozen(kw_only=True)
class NpmMarketplace:
    """A Claude Code marketplace in an npm package."""

    source: ClassVar[str] = "npm"

    spec: str


@attrs.frozen(kw_only=True)
class MarketplacePlugin:
    """An entry of a marketplace, by its name there."""

    source: ClassVar[str] = "marketplace"

    name: str
    marketplace: GitMarketplace | NpmMarketplace
    only: tuple[PluginPart, ...] | None = None
    build: PluginBuild | None = None


PluginSource: TypeAlias = LocalPlugin | GitPlugin | NpmPlugin | MarketplacePlugin
