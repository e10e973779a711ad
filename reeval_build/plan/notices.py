"""What a plan says of a cell besides its nodes: what its author should know, and what cannot be placed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reeval_build.errors import InfraError
from reeval_build.model.egress import is_restricted
from reeval_build.model.mcp import RemoteServer
from reeval_build.model.shown import names_secret
from reeval_build.plan.resolution import base_name

if TYPE_CHECKING:
    from collections.abc import Iterable

    from reeval_build.model.cells import Cell
    from reeval_build.plan.contents import Contents
    from reeval_build.plan.resolution import Resolution


def refused(cell: Cell, contents: Contents) -> Iterable[str]:
    """What cannot be placed in a sandbox for the cell's harness, when an author could have known."""
    yield from (f"{cell.file}: {cell.name}: {sentence}" for sentence in contents.refused)
    rules_file = cell.harness.rules_file
    below = [path for path in cell.merged.files if path.startswith(f"{rules_file}/")]
    if cell.merged.rules is not None:
        yield from (
            f'{cell.file}: {cell.name}: files["{path}"] and rules cannot both be there: '
            f'"{rules_file}", from which {cell.harness.kind} reads rules, would be a file and a directory'
            for path in below
        )


def warnings(cell: Cell, contents: Contents, resolution: Resolution) -> Iterable[str]:
    """What its author should know of a cell that can be built."""
    yield from (f"{cell.file}: {warning}" for warning in contents.warnings)
    name = base_name(cell.sandbox)
    base = resolution.bases[name] if name.dockerfile is None else resolution.dockerfiles[name.dockerfile]
    if not isinstance(base, InfraError):
        yield from (f"{cell.file}: {warning}" for warning in base.warnings)
    merged, environment = cell.merged, f'the environment "{cell.environment.name}"'
    if is_restricted(cell.egress):
        yield (
            f"{cell.file}: egress of {environment} is recorded, not enforced: "
            "steps and `run` have the engine's own network"
        )
    yield from (
        f'{cell.file}: mcp.{name} of {environment} has the header "{header}" as a literal string; '
        "pass secrets with secret.from_env(), so that they are redacted and never recorded"
        for name, header in _literal_secrets(cell)
    )
    if getattr(cell.sandbox, "start_timeout_s", None) is not None:
        yield (
            f"{cell.file}: start_timeout of the sandbox of {environment} is ignored: an "
            "engine that does not answer in time is a failure anyway"
        )
    if merged.workspace is not None:
        found = resolution.workspaces[merged.workspace]
        if not isinstance(found, InfraError):
            yield from (f"{cell.file}: {warning}" for warning in found.warnings)
    if merged.rules is not None and cell.harness.rules_file in merged.files:
        yield (
            f'{cell.file}: files["{cell.harness.rules_file}"] of {cell.name} is replaced by its rules, '
            "which are written later"
        )


def _literal_secrets(cell: Cell) -> Iterable[tuple[str, str]]:
    """The headers of servers that are text under the name of a secret."""
    for name, server in cell.merged.mcp.items():
        if isinstance(server, RemoteServer):
            yield from (
                (name, header)
                for header, value in server.headers.items()
                if isinstance(value, str) and names_secret(header)
            )
