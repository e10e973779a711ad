"""From cells, and what their sources are now, to the graph that builds them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import attrs

from reeval_build import canon
from reeval_build.digest import BLOB, Digest, Domain
from reeval_build.errors import DefinitionError, InfraError
from reeval_build.model.spec import DockerSandbox, HostFile
from reeval_build.paths import Destination, parse_destination, split
from reeval_build.plan import notices
from reeval_build.plan.content_nodes import plan_mcp, plan_plugins, plan_skills
from reeval_build.plan.contents import contents_of
from reeval_build.plan.dockerfiles import DockerfileWork
from reeval_build.plan.graph import Drawing, Graph, Node, Parent, PlannedCell
from reeval_build.plan.labels import shorten
from reeval_build.plan.resolution import base_name
from reeval_build.plan.secrets import views
from reeval_build.plan.work import (
    BaseWork,
    FilesWork,
    HarnessWork,
    InputsWork,
    InstallWork,
    MergeWork,
    PlacedFile,
    RootWork,
    RulesWork,
    SetupWork,
    SnapshotWork,
    WorkspaceWork,
    canonical,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from reeval_build.model.cells import Cell
    from reeval_build.model.spec import FileContent, GitWorkspace, SetupStep
    from reeval_build.plan.resolution import BaseName, Resolution
    from reeval_build.plan.secrets import SecretView
    from reeval_build.state.state import Layout

START: Final = Domain("start", 1)
CELL: Final = Domain("cell", 4)
_MANY: Final = 3


def plan(cells: Iterable[Cell], resolution: Resolution) -> Graph:
    """The graph of some cells. Nodes that cells have in common are in it once.

    Raises:
        DefinitionError: with everything that cannot be placed in a sandbox for the harness of its cell, when an author
            could have known: plugins that are read from the host, MCP servers, and files in the way of rules.
    """
    drawing = Drawing()
    planned = [_plan_cell(cell, resolution, drawing) for cell in cells]
    if drawing.refused:
        raise DefinitionError(*dict.fromkeys(drawing.refused))
    return Graph(nodes=drawing.nodes, cells=tuple(planned), fetched=drawing.fetched)


def _plan_cell(cell: Cell, resolution: Resolution, drawing: Drawing) -> PlannedCell:
    layout = resolution.layouts[cell.sandbox.kind]
    machine = _plan_machine(cell, resolution, drawing)
    parents = [machine]
    merged = cell.merged
    contents = contents_of(cell, resolution)
    drawing.refused += notices.refused(cell, contents)
    if merged.workspace is not None:
        parents.append(drawing.add(_workspace_node(merged.workspace, resolution), "workspace"))
    if merged.files:
        parents.append(drawing.add(_files_node(merged.files, resolution), "files"))
    if merged.rules is not None:
        parents.append(drawing.add(_rules_node(cell.harness.rules_file, merged.rules, resolution), "rules"))
    parents += plan_plugins(contents.plugins, machine, cell, resolution, drawing)
    top = drawing.add(Node.of(RootWork(layout=layout), parents, label=_root_label(parents)), "state")
    root = attrs.evolve(top, role="root")
    secrets = views(merged.env, resolution.variables)
    for step in merged.setup:
        top = _plan_step(step, top, cell, secrets, layout, drawing)
    skills = plan_skills(contents.skills, cell.harness, drawing)
    placed = [parent for root_name, parent in skills.items() if root_name == "workspace"]
    node = Node.of(SnapshotWork(layout=layout), (top, root, *placed), label=cell.environment.name)
    snapshot = drawing.add(node, "snapshot")
    start = [parent for root_name, parent in skills.items() if root_name == "home"]
    start += plan_mcp(contents.mcp, drawing)
    resolved = None if merged.workspace is None else resolution.workspaces[merged.workspace]
    digest = _cell_digest(cell, snapshot.recipe, start, secrets)
    return PlannedCell(
        cell=cell,
        key=_cell_key(cell, digest),
        digest=digest,
        snapshot=snapshot.recipe,
        start=tuple(parent.recipe for parent in start),
        secrets=secrets,
        variables=resolution.variables,
        workspace=None if isinstance(resolved, InfraError) else resolved,
        contents=contents,
        warnings=tuple(notices.warnings(cell, contents, resolution)),
    )


def _plan_step(
    step: SetupStep, top: Parent, cell: Cell, secrets: tuple[SecretView, ...], layout: Layout, drawing: Drawing
) -> Parent:
    """The nodes of a setup step on the state `top`: its own, between two more when it declares what it reads."""
    work = SetupWork(
        run=step.run,
        cwd=step.cwd,
        env=tuple(sorted(cell.merged.literals.items())),
        secrets=secrets,
        egress=cell.egress,
        timeout_s=step.timeout_s,
        engine=cell.sandbox.kind,
        start=cell.start,
    )
    label = shorten(step.run)
    if step.inputs is None:
        return drawing.add(Node.of(work, (top,), label=label), "state")
    inputs = InputsWork(at=layout.workspace, inputs=step.inputs, run=step.run, engine=cell.sandbox.kind)
    seen = drawing.add(Node.of(inputs, (top,), label=shorten(", ".join(step.inputs)) or "nothing"), "state")
    left = drawing.add(Node.of(work, (seen,), label=label), "left")
    merge = MergeWork(at=layout.workspace, engine=cell.sandbox.kind)
    return drawing.add(Node.of(merge, (top, attrs.evolve(seen, role="seen"), left), label=label), "state")


def _plan_machine(cell: Cell, resolution: Resolution, drawing: Drawing) -> Parent:
    name = base_name(cell.sandbox)
    lowest = _base_node(name, resolution) if name.dockerfile is None else _dockerfile_node(name, resolution, drawing)
    top = drawing.add(lowest, "state")
    if lowest.problem is not None:
        return top
    for step in getattr(cell.sandbox, "install", ()):
        install = InstallWork(run=step.run, timeout_s=step.timeout_s, engine=cell.sandbox.kind)
        top = drawing.add(Node.of(install, (top,), label=shorten(step.run)), "state")
    return _plan_harness(cell, top, resolution, drawing)


def _plan_harness(cell: Cell, top: Parent, resolution: Resolution, drawing: Drawing) -> Parent:
    """The node of the cell's harness on the state `top`, or that itself when its harness is not installed."""
    kind = cell.harness.kind
    install = resolution.harnesses.get(kind) if isinstance(cell.sandbox, DockerSandbox) else None
    if install is None:
        return top
    if isinstance(install, InfraError):
        return drawing.add(Node.broken("harness", install, label=kind), "state")
    work = HarnessWork(install=install, engine=cell.sandbox.kind)
    return drawing.add(Node.of(work, (top,), label=install.label), "state")


def _base_node(name: BaseName, resolution: Resolution) -> Node:
    base = resolution.bases[name]
    if isinstance(base, InfraError):
        return Node.broken("base", base, label=str(name))
    return Node.of(BaseWork(identity=base.identity, platform=base.platform), label=str(name))


def _dockerfile_node(name: BaseName, resolution: Resolution, drawing: Drawing) -> Node:
    """The node of an image that is built, on those of the images it names; what of them is in a key is in its own."""
    assert name.dockerfile is not None, "it is built from one"
    found = resolution.dockerfiles[name.dockerfile]
    if isinstance(found, InfraError):
        return Node.broken("dockerfile", found, label=str(name))
    parents = []
    for image in found.images:
        label = image.name if image.named_platform is None else f"{image.name} ({image.named_platform})"
        base = Node.of(BaseWork(identity=image.content, platform=image.platform), label=label)
        parents.append(attrs.evolve(drawing.add(base, f"from {label}"), keyed=False))
    return Node.of(DockerfileWork.of(found, engine="docker"), parents, label=str(name))


def _workspace_node(workspace: GitWorkspace, resolution: Resolution) -> Node:
    found = resolution.workspaces[workspace]
    label = workspace.repo + (f"@{workspace.ref}" if workspace.ref else "")
    label += f":{workspace.path}" if workspace.path else ""
    if isinstance(found, InfraError):
        return Node.broken("workspace", found, label=label)
    work = WorkspaceWork(tree=found.tree, init=workspace.init, workspace=workspace, resolved=found)
    return Node.of(work, label=label)


def _files_node(files: Mapping[str, FileContent], resolution: Resolution) -> Node:
    label = ", ".join(sorted(files)) if len(files) < _MANY else f"{len(files)} files"
    placed = []
    for path, content in files.items():
        file = _placed(parse_destination(path), content, resolution)
        if isinstance(file, InfraError):
            return Node.broken("files", file, label=label)
        placed.append(file)
    return Node.of(FilesWork(files=tuple(sorted(placed))), label=shorten(label))


def _rules_node(name: str, content: FileContent, resolution: Resolution) -> Node:
    file = _placed(Destination("workspace", split(name.encode())), content, resolution)
    if isinstance(file, InfraError):
        return Node.broken("rules", file, label=name)
    return Node.of(RulesWork(file=attrs.evolve(file, executable=False)), label=name)


def _placed(destination: Destination, content: FileContent, resolution: Resolution) -> PlacedFile | InfraError:
    if isinstance(content, HostFile):
        found = resolution.files[content.path]
        if isinstance(found, InfraError):
            return found
        return PlacedFile(
            destination=destination,
            digest=found.digest,
            size=found.size,
            executable=found.executable,
            source=content,
        )
    data = content.encode("utf-8")
    return PlacedFile(
        destination=destination, digest=BLOB.digest(data), size=len(data), executable=False, source=content
    )


def _root_label(parents: Iterable[Parent]) -> str:
    return " + ".join(parent.role for parent in parents if parent.role != "state") or "empty workspace"


def _cell_digest(cell: Cell, snapshot: Digest, start: Iterable[Parent], secrets: tuple[SecretView, ...]) -> Digest:
    """Says what a cell starts from, and what it starts with."""
    starts_with: dict[str, canon.Value] = {
        "env": dict(cell.merged.literals),
        "secrets": canonical(secrets),
        "egress": canonical(cell.egress),
        "placed": [[parent.role, parent.recipe] for parent in start],
    }
    return START.digest(canon.encode([snapshot, starts_with]))


def _cell_key(cell: Cell, digest: Digest) -> Digest:
    """Names the cell in records: what it is, and what people call it."""
    layers = [layer.name for layer in cell.environment.layers]
    called: list[canon.Value] = [cell.environment.name, layers, cell.harness_name, cell.sandbox.id]
    return CELL.digest(canon.encode([called, digest]))
