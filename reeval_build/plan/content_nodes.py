"""The nodes of a cell's skills, plugins and MCP servers."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

import attrs

from reeval_build.content.called import called_plugin
from reeval_build.digest import BLOB
from reeval_build.errors import InfraError
from reeval_build.model.mcp import RemoteServer, StdioServer
from reeval_build.model.plugins import LocalPlugin, PluginSource
from reeval_build.paths import Destination, parse_destination
from reeval_build.plan.graph import Node, Parent
from reeval_build.plan.labels import shorten, shorten_path
from reeval_build.plan.resolution import home_of
from reeval_build.plan.work import (
    BuiltPlugin,
    McpWork,
    PlacedFile,
    PlacedSkill,
    PluginBuildWork,
    PluginWork,
    SkillsWork,
    SourceWork,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from reeval_build.content.mcp_file_set import McpFiles
    from reeval_build.content.plugins import PluginContents
    from reeval_build.model.cells import Cell
    from reeval_build.model.harness_facts import Harness
    from reeval_build.model.named import NamesMerged
    from reeval_build.plan.contents import NamedPlugin, NamedSkill
    from reeval_build.plan.graph import Drawing
    from reeval_build.plan.resolution import FetchedSource, Resolution

_PLUGINS: Final = (b".reeval", b"plugins")


def plan_skills(skills: NamesMerged[NamedSkill] | InfraError, harness: Harness, drawing: Drawing) -> dict[str, Parent]:
    """The nodes of a cell's skills: those placed in the `workspace`, and those placed in the `home` directory.

    Skills that cannot be had are a broken node in the workspace, and so fail the cell before it starts.
    """
    if isinstance(skills, InfraError):
        return {"workspace": drawing.add(Node.broken("skills", skills, label="skills"), "skills")}
    placed: dict[str, list[PlacedSkill]] = {}
    sources: dict[str, dict[str, Parent]] = {}
    for name, one in skills.values.items():
        above = parse_destination(harness.skill_directory(one.source.placement))
        role = None
        if one.resolved.fetched is not None:
            role = f"source {one.resolved.fetched.source.identity}"
            parent = _source(one.resolved.fetched, role, drawing)
            sources.setdefault(above.root, {})[role] = parent
        placed.setdefault(above.root, []).append(
            PlacedSkill(
                destination=Destination(above.root, (*above.parts, name.encode("ascii"))),
                tree=one.skill.tree,
                origin=one.source,
                role=role,
            )
        )
    nodes = {}
    for root, those in placed.items():
        label = shorten(", ".join(sorted(display_name(skill) for skill in those)))
        work = SkillsWork(skills=tuple(sorted(those)))
        nodes[root] = drawing.add(Node.of(work, tuple(sources.get(root, {}).values()), label=label), "skills")
    return nodes


def display_name(skill: PlacedSkill) -> str:
    """What a skill is called."""
    return skill.destination.parts[-1].decode("ascii")


def _source(fetched: FetchedSource, role: str, drawing: Drawing) -> Parent:
    source = fetched.source
    label = shorten_path(source.label) if source.kind == "local" else shorten(source.label)
    node = Node.of(SourceWork.of(source), label=label)
    if fetched.seconds is not None:
        drawing.fetched[node.recipe] = fetched.seconds
    return attrs.evolve(drawing.add(node, role), keyed=False)


def plan_plugins(
    plugins: NamesMerged[NamedPlugin] | InfraError,
    machine: Parent,
    cell: Cell,
    resolution: Resolution,
    drawing: Drawing,
) -> Iterator[Parent]:
    """The nodes of a cell's plugins, each a parent of its root."""
    if isinstance(plugins, InfraError):
        yield drawing.add(Node.broken("plugin", plugins, label="plugins"), "plugin")
        return
    layout = resolution.layouts[cell.sandbox.kind]
    for name, plugin in sorted(plugins.values.items()):
        contents, resolved = plugin.resolved.contents, plugin.resolved
        source = _source(resolved.fetched, "source", drawing)
        place = Destination("home", (*_PLUGINS, name.encode("ascii")))
        if plugin.source.build is None:
            tree, built, parent = contents.tree, None, source
        else:
            cwd = plugin.source.build.cwd
            work = PluginBuildWork(
                run=plugin.source.build.run,
                cwd=b"/".join(resolved.path).decode() or "." if cwd is None else cwd,
                path=resolved.path,
                layout=layout,
                engine=cell.sandbox.kind,
            )
            parents = (machine, attrs.evolve(source, keyed=True))
            parent = drawing.add(Node.of(work, parents, label=f"{name}: {shorten(' && '.join(work.run))}"), "source")
            tree, built = None, _built(plugin, home_of(layout))
        node = Node.of(
            PluginWork(
                place=place,
                tree=tree,
                built=built,
                source=plugin.source,
                resolved=resolved,
                home=home_of(layout),
            ),
            (parent,),
            label=f"{name} from {_origin(plugin.source)}",
        )
        yield drawing.add(node, f"plugin {name}")


def _origin(source: PluginSource) -> str:
    if isinstance(source, LocalPlugin):
        return f'plugin.local("{shorten_path(source.path)}")'
    return shorten(called_plugin(source))


def _built(plugin: NamedPlugin, home: str) -> BuiltPlugin:
    entry = plugin.resolved.entry
    selection = {
        "only": None if plugin.source.only is None else sorted(plugin.source.only),
        "manifest": None if entry is None else entry.manifest,
        "components": None if entry is None else entry.components,
        "home": home,
    }
    return BuiltPlugin(selection=_json(selection), planned=planned_text(plugin.resolved.contents))


def planned_text(contents: PluginContents) -> str:
    """All of a plugin that a plan was made from, as text: two plugins of one text are planned alike."""
    return _json(
        {
            "name": contents.name,
            "parts": contents.parts,
            "hooks": [[hook.event, hook.type, hook.command] for hook in contents.hooks],
            "servers": {name: _server(server) for name, server in contents.servers.items()},
        }
    )


def _server(server: StdioServer | RemoteServer) -> dict[str, Any]:
    if isinstance(server, StdioServer):
        return {"command": server.command, "args": server.args, "env": dict(server.env)}
    return {"transport": server.transport, "url": server.url, "headers": dict(server.headers)}


def _json(value: object) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"))


def plan_mcp(files: McpFiles | InfraError, drawing: Drawing) -> Iterator[Parent]:
    """The node of the files that a cell's harness reads its MCP servers from, if there are any."""
    if isinstance(files, InfraError):
        yield drawing.add(Node.broken("mcp", files, label="MCP servers"), "mcp")
    elif files.files:
        work = McpWork(
            files=tuple(
                PlacedFile(
                    destination=destination,
                    digest=BLOB.digest(data),
                    size=len(data),
                    executable=False,
                    source=data.decode("utf-8"),
                )
                for destination, data in sorted(files.files.items())
            )
        )
        label = ", ".join(destination.text for destination in sorted(files.files))
        yield drawing.add(Node.of(work, label=shorten(label)), "mcp")
