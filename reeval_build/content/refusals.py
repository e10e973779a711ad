"""Why the plugins of an environment cannot be placed for a harness."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from itertools import pairwise
from typing import TYPE_CHECKING, Final, Literal

import attrs

from reeval_build.content.problems import listed, shown
from reeval_build.content.registries import Registries
from reeval_build.content.runners import may_fetch, server_runner, text_runner
from reeval_build.model.egress import Egress
from reeval_build.model.harness_facts import Harness
from reeval_build.model.mcp import McpServer, RemoteServer, StdioServer

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from reeval_build.content.plugins import PluginContents
    from reeval_build.model.plugins import PluginPart

_VARIABLE: Final = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-[^}]*)?\}")
_GIVEN: Final = frozenset({"CLAUDE_PLUGIN_ROOT", "CLAUDE_PLUGIN_DATA", "CLAUDE_PROJECT_DIR"})


@attrs.frozen(kw_only=True)
class Refusal:
    """Why a plugin cannot be placed; `rule` is its number among those of the documentation, from 1."""

    plugin: str
    rule: int
    sentence: str


@attrs.frozen(kw_only=True)
class Surroundings:
    """What plugins are placed into: `servers` are the environment's own, `automatic_hosts` those always allowed."""

    harness: Harness
    sandbox: Literal["docker", "fake"]
    servers: Mapping[str, McpServer]
    egress: Egress | None
    registries: Registries
    automatic_hosts: Collection[str] = ()


def refusals(plugins: Sequence[PluginContents], around: Surroundings) -> tuple[Refusal, ...]:
    """Every reason why `plugins` cannot be placed together: plugin by plugin, by rule.

    A missing manifest (rule 8) and a part that `only` names and the plugin lacks (rule 9) are found when a plugin is
    read. The caller decides whether a plugin's refusals stop the plan (a local one) or the attempt (a fetched one).
    """
    found = [refusal for plugin in plugins for refusal in _of_one(plugin, around)]
    found += _shared_server_names(plugins, around)
    found += _clashes(plugins, around)
    order = {plugin.name: index for index, plugin in enumerate(plugins)}
    return tuple(sorted(found, key=lambda refusal: (order[refusal.plugin], refusal.rule)))


def _of_one(plugin: PluginContents, around: Surroundings) -> Iterator[Refusal]:
    yield from _parts(plugin, around)
    yield from _host_variables(plugin, around)
    yield from _hooks(plugin, around)
    yield from _own_manifest(plugin, around)
    if plugin.is_built and around.sandbox == "fake":
        yield _refusal(plugin, 10, f"has a `build`, which the fake sandbox of {around.harness.kind} cannot run")
    yield from _runners(plugin, around)


def _refusal(plugin: PluginContents, rule: int, reason: str) -> Refusal:
    return Refusal(plugin=plugin.name, rule=rule, sentence=f'the plugin "{plugin.name}" {reason}')


def _parts(plugin: PluginContents, around: Surroundings) -> Iterator[Refusal]:
    loads = around.harness.plugin_parts
    refused = [part for part in plugin.parts if part not in loads]
    if refused:
        way_out = _keep_others(plugin, around)
        yield _refusal(plugin, 1, f"has {listed(refused)}, which {around.harness.kind} does not load; {way_out}")


def _keep_others(plugin: PluginContents, around: Surroundings, *, but: PluginPart | None = None) -> str:
    """What to do about a part: keep those that the harness loads, and not the part `but`."""
    kept = [part for part in plugin.parts if part in around.harness.plugin_parts and part != but]
    return f"keep the others with only: {listed(kept)}" if kept else "it has nothing else"


def _host_variables(plugin: PluginContents, around: Surroundings) -> Iterator[Refusal]:
    if around.harness.takes_plugin_variables:
        return
    for name, server in plugin.servers.items():
        variables = host_variables(server)
        if variables:
            which = "the host variable" if len(variables) == 1 else "the host variables"
            yield _refusal(
                plugin,
                2,
                f'has the MCP server "{shown(name)}", which reads {which} {listed(variables)}; '
                f"on {around.harness.kind} a plugin's server cannot, but one of the environment's `mcp` can; "
                f"{_keep_others(plugin, around, but='mcp')}",
            )


def host_variables(server: McpServer) -> tuple[str, ...]:
    """The variables of the host that a plugin's server reads, in order; only the braced forms are read."""
    texts: list[object] = []
    match server:
        case StdioServer():
            texts += [server.command, *server.args, *server.env.values()]
        case RemoteServer():
            texts += [server.url, *server.headers.values()]
    names = [name for text in texts if isinstance(text, str) for name in _VARIABLE.findall(text)]
    return tuple(sorted(set(names) - _GIVEN))


def _hooks(plugin: PluginContents, around: Surroundings) -> Iterator[Refusal]:
    support = around.harness.hooks
    if support is None:
        return
    events = sorted({hook.event for hook in plugin.hooks} - support.events)
    types = sorted({hook.type for hook in plugin.hooks} - support.types)
    does_not = f"which {around.harness.kind} does not run; {_keep_others(plugin, around, but='hooks')}"
    if events:
        yield _refusal(plugin, 4, f"has hooks for {listed(events)}, {does_not}")
    if types:
        yield _refusal(plugin, 4, f"has hooks of the type {listed(types)}, {does_not}")


def _own_manifest(plugin: PluginContents, around: Surroundings) -> Iterator[Refusal]:
    kind, manifest = around.harness.kind, around.harness.own_manifest
    if around.harness.offers_apps and plugin.has_apps:
        yield _refusal(plugin, 5, f"has ChatGPT apps, which {kind} would offer in an attempt")
    if manifest in plugin.other_manifests:
        way_out = "; its skills can be given in `skills`" if "skills" in plugin.parts else ""
        yield _refusal(
            plugin,
            6,
            f'has the manifest "{manifest}", which {kind} reads in place of .claude-plugin/plugin.json{way_out}',
        )


def _runners(plugin: PluginContents, around: Surroundings) -> Iterator[Refusal]:
    users = [(f'MCP server "{shown(name)}"', server_runner(server)) for name, server in plugin.servers.items()]
    users += [(f"hook for {shown(hook.event)}", text_runner(hook.command or "")) for hook in plugin.hooks]
    for user, runner in dict.fromkeys(users):
        if runner is None:
            continue
        hosts = around.registries.needed(runner)
        if not may_fetch(around.egress, hosts, automatic=around.automatic_hosts):
            policy = f'"{around.egress}"' if isinstance(around.egress, str) else "this allow list"
            yield _refusal(
                plugin,
                11,
                f"has the {user}, which runs {runner} on {around.harness.kind}; "
                f"the egress policy {policy} does not allow its registry ({listed(hosts, none='not known')})",
            )


def _shared_server_names(plugins: Sequence[PluginContents], around: Surroundings) -> Iterator[Refusal]:
    """Harnesses that do not put a plugin's name before its servers' take one server of a name."""
    if around.harness.server_names_may_repeat:
        return
    owners = dict.fromkeys(around.servers, "the environment")
    for plugin in plugins:
        for name in plugin.servers:
            bare = name.removeprefix(f"{plugin.name}:")
            if bare in owners:
                yield _refusal(
                    plugin,
                    3,
                    f'has the MCP server "{shown(bare)}", and so has {owners[bare]}; '
                    f"{around.harness.kind} takes one of a name",
                )
            owners.setdefault(bare, f'the plugin "{plugin.name}"')


def _clashes(plugins: Sequence[PluginContents], around: Surroundings) -> Iterator[Refusal]:
    """Some harnesses have one skill, agent, command or rule of a name, whichever plugin it is from."""
    if around.harness.item_names_may_repeat:
        return
    items = sorted(
        ((item.part, item.name, index) for index, plugin in enumerate(plugins) for item in plugin.items),
    )
    for (part, name, first), (other_part, other_name, second) in pairwise(items):
        if (part, name) == (other_part, other_name):
            other = "twice" if first == second else f'and so has the plugin "{plugins[first].name}"'
            yield _refusal(
                plugins[second],
                7,
                f'has "{shown(name)}" among its {part}, {other}; {around.harness.kind} takes one of a name',
            )
