"""What skills, plugins and MCP servers a cell has, once their sources were read: merged by name, and refused."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, Literal, TypeVar

import attrs

from reeval_build.content.called import called_plugin, called_skills
from reeval_build.content.mcp_file_set import McpFiles
from reeval_build.content.problems import ContentError, shown
from reeval_build.errors import InfraError
from reeval_build.model.egress import automatic_hosts
from reeval_build.model.mcp import McpServer
from reeval_build.model.merge import overrides
from reeval_build.model.named import Named, NamesMerged, SameNameError, merge_by_name
from reeval_build.model.plugins import LocalPlugin, PluginSource
from reeval_build.model.secrets import Secret
from reeval_build.model.skills import SkillSource
from reeval_build.plan.resolution import ResolvedPlugin, ResolvedSkills, home_of
from reeval_build.plan.servers import ServerSecret, settle_servers

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from reeval_build.content.plugins import PluginContents
    from reeval_build.content.skill_file import FoundSkill
    from reeval_build.model.cells import Cell
    from reeval_build.plan.resolution import Resolution

Value = TypeVar("Value")
Source = TypeVar("Source")


@attrs.frozen(kw_only=True)
class NamedSkill:
    """A skill of a cell: what it is, and where it is from."""

    skill: FoundSkill
    source: SkillSource
    resolved: ResolvedSkills


@attrs.frozen(kw_only=True)
class NamedPlugin:
    """A plugin of a cell: what it is, and where it is from."""

    source: PluginSource
    resolved: ResolvedPlugin


NO_MCP: Final = McpFiles(files={})


@attrs.frozen(kw_only=True)
class Contents:
    """What a cell has by name; in place of what cannot be had, why.

    `servers` are the environment's own and those of its plugins, as they are written; `automatic_hosts` are those that
    every egress policy allows, besides the harness's own. `overrides` are those of all fields, as far as the names are
    known. `refused` are the sentences that stop the whole plan.
    """

    skills: NamesMerged[NamedSkill] | InfraError
    plugins: NamesMerged[NamedPlugin] | InfraError
    servers: Mapping[str, McpServer]
    server_secrets: tuple[ServerSecret, ...]
    automatic_hosts: tuple[str, ...]
    mcp: McpFiles | InfraError
    overrides: tuple[str, ...]
    warnings: tuple[str, ...]
    refused: tuple[str, ...]


def contents_of(cell: Cell, resolution: Resolution) -> Contents:
    """What `cell` has, from what its sources are.

    Rules: reeval's documentation, "Errors": what is wrong with a local plugin stops the plan, what is wrong with a
    fetched one fails the cells that use it.
    """
    return _Reader(cell, resolution).read()


class _Reader:
    """Reads the contents of one cell."""

    def __init__(self, cell: Cell, resolution: Resolution) -> None:
        self._cell = cell
        self._resolution = resolution
        self._home = home_of(resolution.layouts[cell.sandbox.kind])
        self._refused: list[str] = []
        self._skill_names: list[list[str]] = []
        self._plugin_names: list[list[str]] = []

    def read(self) -> Contents:
        skills = self._skills()
        plugins = self._plugins()
        servers = dict(self._cell.merged.mcp)
        if not isinstance(plugins, InfraError):
            for plugin in plugins.values.values():
                servers.update(plugin.resolved.contents.servers)
            plugins = self._refuse(plugins, servers)
        settled = settle_servers(servers, self._resolution.variables)
        return Contents(
            skills=skills,
            plugins=plugins,
            servers=MappingProxyType(servers),
            server_secrets=settled.secrets,
            automatic_hosts=automatic_hosts(self._cell.merged.env.values(), servers.values()),
            mcp=self._mcp(settled.servers),
            overrides=overrides(self._cell.environment.layers, skills=self._skill_names, plugins=self._plugin_names),
            warnings=tuple(dict.fromkeys(self._warnings())),
            refused=tuple(self._refused),
        )

    def _skills(self) -> NamesMerged[NamedSkill] | InfraError:
        def named(source: SkillSource) -> list[Named[NamedSkill]] | InfraError:
            resolved = self._resolution.skills[source]
            if isinstance(resolved, InfraError):
                return resolved
            called = called_skills(source)
            return [
                Named(name=one.name, value=NamedSkill(skill=one, source=source, resolved=resolved), source=called)
                for one in resolved.found.skills
            ]

        return _merged("skills", self._cell.merged.skills, named, self._skill_names)

    def _plugins(self) -> NamesMerged[NamedPlugin] | InfraError:
        def named(source: PluginSource) -> list[Named[NamedPlugin]] | InfraError:
            resolved = self._resolution.plugins[source, self._home]
            if isinstance(resolved, InfraError):
                if isinstance(source, LocalPlugin) and isinstance(resolved, ContentError):
                    self._refused.append(str(resolved))
                return resolved
            value = NamedPlugin(source=source, resolved=resolved)
            return [Named(name=resolved.contents.name, value=value, source=called_plugin(source))]

        return _merged("plugins", self._cell.merged.plugins, named, self._plugin_names)

    def _refuse(
        self, plugins: NamesMerged[NamedPlugin], servers: Mapping[str, McpServer]
    ) -> NamesMerged[NamedPlugin] | InfraError:
        """The plugins, or why one that was fetched cannot be placed; local ones stop the plan."""
        if not plugins.values:
            return plugins
        from reeval_build.content.refusals import Surroundings, refusals

        around = Surroundings(
            harness=self._cell.harness,
            sandbox=self._cell.sandbox.kind,
            servers=self._cell.merged.mcp,
            egress=self._cell.egress,
            automatic_hosts=automatic_hosts(self._cell.merged.env.values(), servers.values()),
            registries=self._resolution.registries,
        )
        found = refusals([plugin.resolved.contents for plugin in plugins.values.values()], around)
        of_fetched: list[str] = []
        for refusal in found:
            is_local = isinstance(plugins.values[refusal.plugin].source, LocalPlugin)
            (self._refused if is_local else of_fetched).append(refusal.sentence)
        return InfraError("; and ".join(of_fetched)) if of_fetched else plugins

    def _mcp(self, servers: Mapping[str, McpServer]) -> McpFiles | InfraError:
        """The files of the servers. A harness reads their variables from its own, which are those of the cell, too."""
        if not servers:
            return NO_MCP
        from reeval_build.content.mcp_files import mcp_files
        from reeval_build.content.mcp_secrets import McpConfigurationError

        try:
            files = mcp_files(servers, self._cell.harness)
        except McpConfigurationError as error:
            if self._cell.merged.mcp and (error.server is None or error.server in self._cell.merged.mcp):
                self._refused.append(str(error))
                return NO_MCP
            return InfraError(str(error))
        for variable in files.variables:
            own = self._cell.merged.env.get(variable)
            # Whether it may be missing is for each to say: when it is not, both have its value.
            if own is not None and not (isinstance(own, Secret) and _is_passed_on(own, variable)):
                self._refused.append(
                    f"an MCP server reads the host variable {variable}, but env.{variable} is something else"
                )
        return files

    def _warnings(self) -> Iterable[str]:
        for _, sources in self._cell.merged.skills:
            for source in sources:
                skills = self._resolution.skills[source]
                if not isinstance(skills, InfraError):
                    yield from skills.fetched.source.warnings if skills.fetched else ()
                    yield from skills.found.warnings
        for _, plugins in self._cell.merged.plugins:
            for plugin in plugins:
                resolved = self._resolution.plugins[plugin, self._home]
                if not isinstance(resolved, InfraError):
                    yield from resolved.warnings
                    yield from self._changed(plugin, resolved.contents)

    def _changed(self, source: PluginSource, contents: PluginContents) -> Iterable[str]:
        """Other content under one version, which is likely to be a mistake."""
        record = self._resolution.earlier.get(self._cell.name)
        for earlier in () if record is None else record.plugins:
            is_same = (earlier.name, earlier.source, earlier.parts) == (contents.name, contents.source, contents.parts)
            if is_same and contents.version == earlier.declared is not None and earlier.tree != contents.tree.hex:
                yield (
                    f'the plugin "{contents.name}" of {called_plugin(source)} has other content than before, '
                    f'and the same version, "{shown(contents.version or "")}"'
                )


def _merged(
    field: Literal["skills", "plugins"],
    layers: Iterable[tuple[str, Iterable[Source]]],
    named: Callable[[Source], list[Named[Value]] | InfraError],
    names: list[list[str]],
) -> NamesMerged[Value] | InfraError:
    """What the sources of all layers give, by name, or why not all of it can be had.

    `names` gets those of each layer, as far as they are known.
    """
    found: list[tuple[str, list[Named[Value]]]] = []
    problems: list[InfraError] = []
    for layer, sources in layers:
        own: list[Named[Value]] = []
        for source in sources:
            given = named(source)
            if isinstance(given, InfraError):
                problems.append(given)
            else:
                own += given
        names.append([one.name for one in own])
        found.append((layer, own))
    if problems:
        return problems[0]
    try:
        return merge_by_name(field, found)
    except SameNameError as error:
        return error


def _is_passed_on(secret: Secret, variable: str) -> bool:
    """Whether an agent has in its variable what the host has in its variable of the same name."""
    return attrs.evolve(secret, optional=False) in {Secret(), Secret(name=variable)}
