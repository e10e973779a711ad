"""What is written down of a cell."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import attrs

from reeval_build.model.egress import AllowHosts
from reeval_build.plan.outputs import content_of
from reeval_build.plan.resolution import base_name

if TYPE_CHECKING:
    from reeval_build.plan.graph import Graph, PlannedCell
    from reeval_build.plan.outputs import Output
    from reeval_build.plan.secrets import SecretView


@attrs.frozen(kw_only=True)
class WorkspaceRecord:
    """The code a cell's workspace started as: what was asked for, and what it was."""

    repo: str
    ref: str | None
    path: str | None
    init: bool
    commit: str
    tree: str


@attrs.frozen(kw_only=True)
class EgressRecord:
    """Where a cell's sandbox may connect. Nothing enforces it yet.

    `policy` is one of reeval's, or `allow` for the hosts in `allow`. `automatic` are those that any policy allows, but
    for the harness's own.
    """

    policy: str
    allow: tuple[str, ...]
    automatic: tuple[str, ...]


@attrs.frozen(kw_only=True)
class SecretRecord:
    """A secret of a cell, by its names: `variable` is that of the host; it was skipped when it is not `present`."""

    name: str
    variable: str
    mode: str
    hosts: tuple[str, ...]
    places: tuple[str, ...]
    to: str
    present: bool


@attrs.frozen(kw_only=True)
class CellRecord:
    """A cell whose snapshot is built: what a reader of results needs to know what it ran in.

    `sandbox` is a kind, and `sandbox_id` what the sandbox is called. `phase_keys` are the recipe keys of its nodes, in
    the order of the graph; `overrides` is what a layer replaced.
    """

    name: str
    key: str
    environment: str
    layers: tuple[str, ...]
    overrides: tuple[str, ...]
    harness: str
    sandbox: str
    base: str
    workspace: WorkspaceRecord | None
    env: Mapping[str, str]
    secrets: tuple[SecretRecord, ...]
    setup: tuple[str, ...]
    egress: EgressRecord
    snapshot: str
    phase_keys: tuple[tuple[str, str], ...]
    warnings: tuple[str, ...]
    # Records of before it was there have none.
    sandbox_id: str = ""


def cell_record(planned: PlannedCell, graph: Graph, snapshot: Output) -> CellRecord:
    """The record of a cell whose snapshot is `snapshot`."""
    cell = planned.cell
    above = [graph.nodes[recipe] for recipe in graph.above(*planned.tops)]
    return CellRecord(
        name=cell.name,
        key=planned.key.hex,
        environment=cell.environment.name,
        layers=tuple(layer.name for layer in cell.environment.layers),
        overrides=planned.contents.overrides,
        harness=cell.harness.kind,
        sandbox=cell.sandbox.kind,
        base=str(base_name(cell.sandbox)),
        workspace=_workspace(planned),
        env=dict(cell.merged.literals),
        secrets=tuple(map(_secret, planned.secrets)),
        setup=tuple(step.run for step in cell.merged.setup),
        egress=_egress(planned),
        snapshot=content_of(snapshot).hex,
        phase_keys=tuple((node.phase, node.recipe.hex) for node in above),
        warnings=planned.warnings,
        sandbox_id=cell.sandbox_id,
    )


def _secret(view: SecretView) -> SecretRecord:
    return SecretRecord(
        name=view.name,
        variable=view.variables[0],
        mode=view.mode,
        hosts=view.hosts,
        places=view.in_,
        to=view.to,
        present=view.present,
    )


def _egress(planned: PlannedCell) -> EgressRecord:
    cell = planned.cell
    policy, allow = ("allow", cell.egress.hosts) if isinstance(cell.egress, AllowHosts) else (cell.egress, ())
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
