"""Checks `skills`, `plugins` and `mcp`: what an agent is given."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from reeval_build.model.helpers.mcp import SERVERS
from reeval_build.model.helpers.plugins import PLUGINS
from reeval_build.model.helpers.skills import SKILLS
from reeval_build.model.mcp import McpServer, RemoteServer, StdioServer
from reeval_build.model.options import is_list, is_said
from reeval_build.model.plugins import GitPlugin, LocalPlugin, MarketplacePlugin, NpmPlugin, PluginSource
from reeval_build.model.shown import got, shown
from reeval_build.model.skills import GitSkills, InlineSkill, LocalSkills, NpmSkills, RegistrySkill, SkillSource

if TYPE_CHECKING:
    from reeval_build.model.checks.definition import Definition
    from reeval_build.model.reading import Shape

_SKILL_SOURCES: Final = (LocalSkills, GitSkills, NpmSkills, RegistrySkill, InlineSkill)
_PLUGIN_SOURCES: Final = (LocalPlugin, GitPlugin, NpmPlugin, MarketplacePlugin)


def check_skills(value: object, definition: Definition) -> tuple[SkillSource, ...] | None:
    """What the `skill` helper returns, or dictionaries of it."""
    found = _sources(value, definition, "skill", _SKILL_SOURCES, SKILLS)
    names = [source.name for source in found or () if isinstance(source, InlineSkill)]
    for name in dict.fromkeys(name for name in names if names.count(name) > 1):
        definition.add(f"skills in {definition.where} has more than one skill {shown(name)}")
    return found


def check_plugins(value: object, definition: Definition) -> tuple[PluginSource, ...] | None:
    """What the `plugin` helper returns, or dictionaries of it."""
    return _sources(value, definition, "plugin", _PLUGIN_SOURCES, PLUGINS)


def _sources(
    value: object,
    definition: Definition,
    kind: str,
    sources: tuple[type, ...],
    shapes: Mapping[str, Shape[Any]],
) -> tuple[Any, ...] | None:
    if not is_list(value):
        _refuse_source(value, definition, kind)
        return None
    found = []
    for at, item in enumerate(value):
        source = item.get("source") if isinstance(item, Mapping) and item.get("kind") == kind else None
        if isinstance(item, sources):
            found.append(item)
        elif isinstance(item, Mapping) and isinstance(source, str) and source in shapes:
            options = {key: option for key, option in item.items() if key not in {"kind", "source"}}
            found.append(definition.read(f"{kind}s[{at}]", shapes[source], options))
        else:
            _refuse_source(item, definition, kind)
    return tuple(source for source in found if source is not None)


def _refuse_source(value: object, definition: Definition, kind: str) -> None:
    example = f"{kind}s: [{kind}.local('{'./skills' if kind == 'skill' else './plugins/review'}')]"
    definition.add(f"{kind}s in {definition.where} must come from the {kind} helper, e.g. {example} {got(value)}")


def check_mcp(value: object, definition: Definition) -> dict[str, McpServer] | None:
    """Servers by name."""
    if not isinstance(value, Mapping):
        definition.add(f"mcp in {definition.where} must be a mapping of names to servers {got(value)}")
        return None
    checked: dict[str, McpServer] = {}
    for name, written in value.items():
        if not is_said(name):
            definition.add(f"mcp in {definition.where} must have text as names {got(name)}")
            continue
        server = _server(name, written, definition)
        if server is not None:
            checked[name] = server
    return checked


def _server(name: str, value: object, definition: Definition) -> McpServer | None:
    if isinstance(value, (StdioServer, RemoteServer)):
        return value
    transport = value.get("transport") if isinstance(value, Mapping) and value.get("kind") == "mcp" else None
    if isinstance(value, Mapping) and isinstance(transport, str) and transport in SERVERS:
        options = {key: option for key, option in value.items() if key not in {"kind", "transport"}}
        return definition.read(f"mcp.{name}", SERVERS[transport], options)
    definition.add(
        f"mcp.{name} in {definition.where} must come from the mcp helper, "
        f"e.g. mcp.stdio('npx', ['-y', 'server']) {got(value)}"
    )
    return None
