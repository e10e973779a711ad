"""What is written down of a cell: the shape of its `record.json`, which `docs/reference/json.md` explains."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal

import attrs

RECORD_FORMAT: Final = 1


@attrs.frozen(kw_only=True)
class HarnessRecord:
    """The harness of a cell: its kind, and what an eval calls it; `installed` is the version that is installed.

    That is None for one that is not installed, or whose version has no name.
    """

    kind: str
    id: str
    installed: str | None = None


@attrs.frozen(kw_only=True)
class SandboxRecord:
    """The machine of a cell: its kind, and what it is called.

    `base` is the image as it was named, `resolved` its content when the cell was planned, and `key` that of the node of
    the machine's state, after its install steps.
    """

    kind: str
    id: str
    base: str
    resolved: str
    platform: str
    key: str


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
class SecretRecord:
    """A secret of a cell, by its names: `variable` is that of the host.

    `status` is `set`, `skipped` for an optional one whose host variable is not set, or `unset` for another of those,
    which nothing needed that ran.
    """

    name: str
    variable: str
    mode: str
    hosts: tuple[str, ...]
    places: tuple[str, ...]
    to: str
    status: Literal["set", "skipped", "unset"]


@attrs.frozen(kw_only=True)
class EnvRecord:
    """The variables of a cell: the text of literals, and the names of secrets."""

    literals: Mapping[str, str]
    secrets: tuple[SecretRecord, ...]


@attrs.frozen(kw_only=True)
class FileRecord:
    """A file that was written: where, and its bytes by their digest."""

    path: str
    digest: str
    executable: bool


@attrs.frozen(kw_only=True)
class SkillRecord:
    """A skill of a cell. `source` is as its author wrote it, `version` the commit or package version that it was."""

    name: str
    source: str
    version: str | None
    tree: str
    placement: str


@attrs.frozen(kw_only=True)
class PluginRecord:
    """A plugin of a cell.

    `version` is the commit or package version of its source, `declared` the version that its manifest says. `tree` is
    what its source has of the kept parts, `build_key` the key of the node of its build.
    """

    name: str
    source: str
    version: str | None
    declared: str | None
    tree: str
    parts: tuple[str, ...]
    build_key: str | None


@attrs.frozen(kw_only=True)
class ServerRecord:
    """An MCP server of a cell: its command, or its URL; `secrets` are the host variables that it needs."""

    transport: str
    command: str | None
    url: str | None
    secrets: tuple[str, ...]


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
class SetupRecord:
    """A step of a cell's setup; `cached` when what it leaves was taken from the store."""

    run: str
    cwd: str
    key: str
    cached: bool
    seconds: float


@attrs.frozen(kw_only=True)
class PhaseRecord:
    """A node of a cell, by its recipe key, and how it ended in the build that wrote this: `hit` or `ran`."""

    phase: str
    key: str
    status: str
    seconds: float


@attrs.frozen(kw_only=True)
class CellRecord:
    """A cell whose snapshot is built: what a reader of results needs to know what it ran in.

    `snapshot` is None when it is not kept: its content is a hash of the value of a secret.

    `digest` says what it starts from and with, whatever it is called; `key` names the cell as well. `overrides` is what
    a layer replaced. `phases` are in the order of the graph. No value of a secret is in it.
    """

    format: int = RECORD_FORMAT
    name: str
    key: str
    digest: str
    environment: str
    layers: tuple[str, ...]
    overrides: tuple[str, ...]
    harness: HarnessRecord
    sandbox: SandboxRecord
    workspace: WorkspaceRecord | None
    env: EnvRecord
    files: tuple[FileRecord, ...]
    rules: FileRecord | None
    plugins: tuple[PluginRecord, ...]
    skills: tuple[SkillRecord, ...]
    mcp: Mapping[str, ServerRecord]
    setup: tuple[SetupRecord, ...]
    egress: EgressRecord
    snapshot: str | None
    phases: tuple[PhaseRecord, ...]
    warnings: tuple[str, ...]
