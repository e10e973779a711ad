"""Writes down a cell that is built."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import attrs

from reeval_build.content.called import called_plugin, called_skills
from reeval_build.errors import InfraError
from reeval_build.model.egress import AllowHosts
from reeval_build.model.mcp import McpServer, StdioServer
from reeval_build.plan.dockerfiles import DockerfileWork
from reeval_build.plan.outputs import content_of
from reeval_build.plan.record import (
    CellRecord,
    EgressRecord,
    EnvRecord,
    FileRecord,
    HarnessRecord,
    PhaseRecord,
    PluginRecord,
    SandboxRecord,
    SecretRecord,
    ServerRecord,
    SetupRecord,
    SkillRecord,
    WorkspaceRecord,
)
from reeval_build.plan.resolution import base_name
from reeval_build.plan.work import BaseWork, FilesWork, HarnessWork, InstallWork, PluginWork, RulesWork, SetupWork

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from reeval_build.digest import Digest
    from reeval_build.model.named import NamesMerged
    from reeval_build.plan.contents import NamedSkill
    from reeval_build.plan.graph import Graph, Node, PlannedCell
    from reeval_build.plan.outputs import Output
    from reeval_build.plan.secrets import SecretView
    from reeval_build.plan.work import PlacedFile, Work


@attrs.frozen(kw_only=True)
class NodeEnd:
    """How a node ended: `hit` or `ran`."""

    status: str
    seconds: float


def cell_record(
    planned: PlannedCell, graph: Graph, snapshot: Output | None, ends: Mapping[Digest, NodeEnd]
) -> CellRecord:
    """The record of a cell whose snapshot is `snapshot`, None for one that is not kept.

    `ends` says how each of its nodes ended.
    """
    return _Recording(planned, graph, ends).record(snapshot)


class _Recording:
    """Reads one cell of a graph."""

    def __init__(self, planned: PlannedCell, graph: Graph, ends: Mapping[Digest, NodeEnd]) -> None:
        self._planned = planned
        self._cell = planned.cell
        self._ends = ends
        self._nodes = [graph.nodes[recipe] for recipe in graph.nodes_of(planned)]
        self._works: dict[Digest, Work] = {node.recipe: node.work for node in self._nodes if node.work is not None}

    def record(self, snapshot: Output | None) -> CellRecord:
        cell, contents = self._cell, self._planned.contents
        rules = next((work.file for work in self._works.values() if isinstance(work, RulesWork)), None)
        return CellRecord(
            name=cell.name,
            key=self._planned.key.hex,
            digest=self._planned.digest.hex,
            environment=cell.environment.name,
            layers=tuple(layer.name for layer in cell.environment.layers),
            overrides=contents.overrides,
            harness=self._harness(),
            sandbox=self._sandbox(),
            workspace=_workspace(self._planned),
            env=EnvRecord(literals=dict(cell.merged.literals), secrets=tuple(map(self._secret, self._planned.secrets))),
            files=tuple(
                _file(file) for work in self._works.values() if isinstance(work, FilesWork) for file in work.files
            ),
            rules=None if rules is None else _file(rules),
            plugins=tuple(self._plugins()),
            skills=tuple(_skills(contents.skills)),
            mcp={name: _server(name, server, self._planned) for name, server in sorted(contents.servers.items())},
            setup=tuple(self._setup()),
            egress=_egress(self._planned),
            snapshot=None if snapshot is None else content_of(snapshot).hex,
            phases=tuple(self._phase(node) for node in self._nodes),
            warnings=self._planned.warnings,
        )

    def _harness(self) -> HarnessRecord:
        installed = (work.install.version for work in self._works.values() if isinstance(work, HarnessWork))
        cell = self._cell
        return HarnessRecord(kind=cell.harness.kind, id=cell.harness_name, installed=next(installed, None))

    def _sandbox(self) -> SandboxRecord:
        machine = [item for item in self._works.items() if isinstance(item[1], (BaseWork, DockerfileWork, InstallWork))]
        built = next((work for _, work in machine if isinstance(work, DockerfileWork)), None)
        base = machine[0][1]
        assert isinstance(base, BaseWork), "every cell stands on a base, which is before what stands on it"
        return SandboxRecord(
            kind=self._cell.sandbox.kind,
            id=self._cell.sandbox_id,
            base=str(base_name(self._cell.sandbox)),
            resolved=(base.identity if built is None else built.source.base.content).hex,
            platform=base.platform if built is None else built.platform,
            key=machine[-1][0].hex,
        )

    def _setup(self) -> Iterator[SetupRecord]:
        for recipe, work in self._works.items():
            if isinstance(work, SetupWork):
                end = self._ends[recipe]
                yield SetupRecord(
                    run=work.run, cwd=work.cwd, key=recipe.hex, cached=end.status == "hit", seconds=end.seconds
                )

    def _plugins(self) -> Iterator[PluginRecord]:
        for node in self._nodes:
            if isinstance(node.work, PluginWork):
                contents, (parent,) = node.work.resolved.contents, node.parents
                yield PluginRecord(
                    name=contents.name,
                    source=called_plugin(node.work.source),
                    version=node.work.resolved.fetched.source.version,
                    declared=contents.version,
                    tree=contents.tree.hex,
                    parts=contents.parts,
                    build_key=None if node.work.built is None else parent.recipe.hex,
                )

    def _secret(self, view: SecretView) -> SecretRecord:
        is_set = any(variable in self._planned.variables for variable in view.variables)
        missing: Literal["unset", "skipped"] = "unset" if view.present else "skipped"
        return SecretRecord(
            name=view.name,
            variable=view.variables[0],
            mode=view.mode,
            hosts=view.hosts,
            places=view.in_,
            to=view.to,
            status="set" if is_set else missing,
        )

    def _phase(self, node: Node) -> PhaseRecord:
        end = self._ends[node.recipe]
        return PhaseRecord(phase=node.phase, key=node.recipe.hex, status=end.status, seconds=end.seconds)


def _skills(skills: NamesMerged[NamedSkill] | InfraError) -> Iterator[SkillRecord]:
    assert not isinstance(skills, InfraError), "a cell that is built has what it names"
    for name, one in sorted(skills.values.items()):
        fetched = one.resolved.fetched
        yield SkillRecord(
            name=name,
            source=called_skills(one.source),
            version=None if fetched is None else fetched.source.version,
            tree=one.skill.tree.hex,
            placement=one.source.placement,
        )


def _file(file: PlacedFile) -> FileRecord:
    return FileRecord(path=file.destination.text, digest=file.digest.hex, executable=file.executable)


def _server(name: str, server: McpServer, planned: PlannedCell) -> ServerRecord:
    secrets = (secret for secret in planned.contents.server_secrets if secret.server == name)
    variables = sorted({variable for secret in secrets for variable in secret.variables})
    if isinstance(server, StdioServer):
        return ServerRecord(transport="stdio", command=server.command, url=None, secrets=tuple(variables))
    return ServerRecord(transport=server.transport, command=None, url=server.url, secrets=tuple(variables))


def _egress(planned: PlannedCell) -> EgressRecord:
    egress = planned.cell.egress
    policy, allow = ("allow", egress.hosts) if isinstance(egress, AllowHosts) else (egress, ())
    return EgressRecord(policy=policy, allow=allow, automatic=planned.contents.automatic_hosts)


def _workspace(planned: PlannedCell) -> WorkspaceRecord | None:
    workspace, resolved = planned.cell.merged.workspace, planned.workspace
    if workspace is None or resolved is None:
        return None
    return WorkspaceRecord(
        repo=workspace.repo,
        ref=workspace.ref,
        path=workspace.path,
        init=workspace.init,
        commit=resolved.commit,
        tree=resolved.tree,
    )
