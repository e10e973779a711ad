"""Cells, and a world in which everything they name is found, to plan with."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from reeval_build.content.docker_ignore import DockerIgnore
from reeval_build.digest import BLOB, Domain
from reeval_build.model.cells import Cell
from reeval_build.model.harnesses import HARNESSES
from reeval_build.model.merge import merge
from reeval_build.model.spec import FakeSandbox, HostFile
from reeval_build.plan.dockerfiles import FromImage, ResolvedDockerfile
from reeval_build.plan.planner import plan
from reeval_build.plan.resolution import Base, BaseName, Resolution, ResolvedFile, ResolvedTree, base_name
from reeval_build.state.state import Layout
from reeval_build.tree.directory import tree_digest

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from reeval_build.errors import InfraError
    from reeval_build.model.environment import Environment
    from reeval_build.model.plugins import PluginSource
    from reeval_build.model.skills import SkillSource
    from reeval_build.model.spec import GitWorkspace
    from reeval_build.plan.graph import Graph, Node
    from reeval_build.plan.harnesses import HarnessInstall
    from reeval_build.plan.resolution import ResolvedPlugin, ResolvedSkills

BASES = Domain("test base", 1)
LAYOUTS = {
    "fake": Layout(workspace=(b"workspace",), home=(b"home",)),
    "docker": Layout(workspace=(b"workspace",), home=(b"root",)),
}


def cell(environment: Environment, harness: str = "fake", *, file: str = "env.py") -> Cell:
    """A cell, on the fake sandbox when the environment names none."""
    merged = merge(environment.layers)
    return Cell(
        environment=environment,
        harness=HARNESSES[harness],
        merged=merged,
        sandbox=merged.sandbox or FakeSandbox(),
        file=file,
    )


def graph_of(
    *cells: Cell,
    bases: Mapping[str | None, Base | InfraError] | None = None,
    workspaces: Mapping[str, ResolvedTree | InfraError] | None = None,
    files: Mapping[str, ResolvedFile | InfraError] | None = None,
    skills: Mapping[SkillSource, ResolvedSkills | InfraError] | None = None,
    plugins: Mapping[tuple[PluginSource, str], ResolvedPlugin | InfraError] | None = None,
    harnesses: Mapping[str, HarnessInstall | InfraError] | None = None,
    dockerfiles: Mapping[str, ResolvedDockerfile | InfraError] | None = None,
    variables: Collection[str] = (),
) -> Graph:
    """The graph of some cells; what is not said of an image, a repository or a host file follows from its name.

    `variables` are the host variables that are set.
    """
    contents = [content for one in cells for content in (*one.merged.files.values(), one.merged.rules)]
    hosted = {content.path for content in contents if isinstance(content, HostFile)}
    built = [path for one in cells if (path := getattr(one.sandbox, "dockerfile", None)) is not None]
    repositories = [one.merged.workspace for one in cells if one.merged.workspace is not None]
    return plan(
        cells,
        Resolution(
            bases={name: base(str(name)) for name in map(base_name, (one.sandbox for one in cells))}
            | {BaseName(image): found for image, found in (bases or {}).items()},
            layouts=LAYOUTS,
            workspaces={one: (workspaces or {}).get(one.repo) or tree(one) for one in repositories},
            files={path: host_file(path.encode()) for path in hosted} | dict(files or {}),
            skills=skills or {},
            plugins=plugins or {},
            harnesses=harnesses or {},
            dockerfiles={path: dockerfile(path) for path in built} | dict(dockerfiles or {}),
            variables=frozenset(variables),
        ),
    )


def base(content: str, *, platform: str = "linux/x86_64") -> Base:
    """The base of an image, by its content."""
    return Base(identity=BASES.digest(content.encode()), platform=platform)


def dockerfile(path: str) -> ResolvedDockerfile:
    """A Dockerfile, and what is beside it, by its path."""
    image = FromImage(name="x", named_platform=None, content=base(path).identity, platform="linux/x86_64", locked=None)
    return ResolvedDockerfile(
        path=path,
        dockerfile=BLOB.digest(path.encode()),
        context=tree_digest({}),
        images=(image,),
        base=image,
        selection=DockerIgnore(b""),
    )


def tree(workspace: GitWorkspace) -> ResolvedTree:
    """The tree of a workspace."""
    said = f"{workspace.url} {workspace.ref} {workspace.path}".encode()
    return ResolvedTree(tree=_git_id(b"tree " + said), commit=_git_id(b"commit " + said))


def host_file(data: bytes, *, executable: bool = False) -> ResolvedFile:
    """A host file with these bytes."""
    return ResolvedFile(digest=BLOB.digest(data), size=len(data), executable=executable)


def nodes(graph: Graph, phase: str) -> list[Node]:
    """The nodes of a phase, in the order of the graph."""
    return [node for node in graph.nodes.values() if node.phase == phase]


def node(graph: Graph, phase: str) -> Node:
    """The one node of a phase."""
    (found,) = nodes(graph, phase)
    return found


def _git_id(said: bytes) -> str:
    return hashlib.sha1(said, usedforsecurity=False).hexdigest()
