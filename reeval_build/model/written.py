"""The types of what authors write: `EnvironmentSpec` and the dictionaries that may stand for what helpers return."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Literal, NotRequired, Required, TypeAlias, TypedDict

from reeval_build.model.egress import AllowHosts, Policy
from reeval_build.model.mcp import RemoteServer, StdioServer
from reeval_build.model.plugins import GitPlugin, LocalPlugin, MarketplacePlugin, NpmPlugin, PluginPart
from reeval_build.model.secrets import Place, Secret, SecretTemplate
from reeval_build.model.skills import GitSkills, InlineSkill, LocalSkills, NpmSkills, Placement, RegistrySkill
from reeval_build.model.spec import DockerSandbox, FakeSandbox, GitWorkspace, HostFile, InstallStep, SetupStep

Duration: TypeAlias = float | timedelta | str


class InstallStepSpec(TypedDict):
    """A command that is baked into an image."""

    run: str
    timeout: NotRequired[Duration]


class SetupStepSpec(TypedDict):
    """A command of setup; `cwd` is relative to the workspace, or absolute."""

    run: str
    timeout: NotRequired[Duration]
    cwd: NotRequired[str]


InstallInput: TypeAlias = str | InstallStep | InstallStepSpec
SetupInput: TypeAlias = str | SetupStep | SetupStepSpec


class DockerOptions(TypedDict, total=False):
    """The options of `docker` and `podman`."""

    from_: str | None
    image: str | None
    dockerfile: str | None
    install: Sequence[InstallInput]
    engine: Literal["docker", "podman"] | None
    root: bool | None
    capabilities: Sequence[str] | None
    cpus: float | None
    memory: str | int | None
    swap: str | int | None
    pids: int | None
    id: str | None
    max_concurrent: int | None
    start_timeout: Duration | None


# `from` is a keyword of Python, so these two cannot be written as classes.
DockerSpec = TypedDict(
    "DockerSpec",
    {
        "kind": Required[Literal["docker"]],
        "from": str,
        "image": str,
        "dockerfile": str,
        "install": Sequence[InstallInput],
        "engine": Literal["docker", "podman"],
        "root": bool,
        "capabilities": Sequence[str],
        "cpus": float,
        "memory": str | int,
        "swap": str | int,
        "pids": int,
        "id": str,
        "maxConcurrent": int,
        "max_concurrent": int,
        "startTimeout": Duration,
        "start_timeout": Duration,
    },
    total=False,
)
SecretSpec = TypedDict(
    "SecretSpec",
    {
        "kind": Required[Literal["secret"]],
        "from": str,
        "optional": bool,
        "to": Literal["agent", "checks"],
        "hosts": Sequence[str],
        "in": Sequence[Place],
    },
    total=False,
)


class FakeSandboxSpec(TypedDict, total=False):
    """`fake_sandbox` as a dictionary."""

    kind: Required[Literal["fake"]]
    dir: str
    id: str
    maxConcurrent: int
    max_concurrent: int


class GitWorkspaceSpec(TypedDict, total=False):
    """`git` as a dictionary."""

    kind: Required[Literal["git"]]
    repo: Required[str]
    url: str
    ref: str
    path: str
    init: bool
    token: str


class HostFileSpec(TypedDict):
    """`file` as a dictionary."""

    kind: Literal["file"]
    path: str


class SecretTemplateSpec(TypedDict):
    """`secret.template` as a dictionary."""

    kind: Literal["secret-template"]
    template: str


class LocalSkillsSpec(TypedDict, total=False):
    """`skill.local` as a dictionary."""

    kind: Required[Literal["skill"]]
    source: Required[Literal["local"]]
    path: Required[str]
    only: Sequence[str]
    exclude: Sequence[str]
    placement: Placement


class GitSkillsSpec(TypedDict, total=False):
    """`skill.git` as a dictionary."""

    kind: Required[Literal["skill"]]
    source: Required[Literal["git"]]
    repo: Required[str]
    ref: str
    path: str
    only: Sequence[str]
    exclude: Sequence[str]
    placement: Placement


class NpmSkillsSpec(TypedDict, total=False):
    """`skill.npm` as a dictionary."""

    kind: Required[Literal["skill"]]
    source: Required[Literal["npm"]]
    spec: Required[str]
    path: str
    only: Sequence[str]
    exclude: Sequence[str]
    placement: Placement


class RegistrySkillSpec(TypedDict, total=False):
    """`skill.registry` as a dictionary."""

    kind: Required[Literal["skill"]]
    source: Required[Literal["registry"]]
    id: Required[str]
    version: str
    placement: Placement


class InlineSkillSpec(TypedDict, total=False):
    """`skill.inline` as a dictionary."""

    kind: Required[Literal["skill"]]
    source: Required[Literal["inline"]]
    name: Required[str]
    description: Required[str]
    content: Required[str]
    files: Mapping[str, str]
    placement: Placement


class PluginBuildSpec(TypedDict):
    """Commands that build a plugin; `cwd` is relative to the root of the source."""

    run: str | Sequence[str]
    cwd: NotRequired[str]


BuildInput: TypeAlias = str | Sequence[str] | PluginBuildSpec


class LocalPluginSpec(TypedDict, total=False):
    """`plugin.local` as a dictionary."""

    kind: Required[Literal["plugin"]]
    source: Required[Literal["local"]]
    path: Required[str]
    only: Sequence[PluginPart]
    build: BuildInput


class GitPluginSpec(TypedDict, total=False):
    """`plugin.git` as a dictionary."""

    kind: Required[Literal["plugin"]]
    source: Required[Literal["git"]]
    repo: Required[str]
    ref: str
    path: str
    only: Sequence[PluginPart]
    build: BuildInput


class NpmPluginSpec(TypedDict, total=False):
    """`plugin.npm` as a dictionary."""

    kind: Required[Literal["plugin"]]
    source: Required[Literal["npm"]]
    spec: Required[str]
    path: str
    only: Sequence[PluginPart]
    build: BuildInput


class GitMarketplaceSpec(TypedDict):
    """A marketplace in a git repository."""

    source: Literal["git"]
    repo: str
    ref: NotRequired[str]


class NpmMarketplaceSpec(TypedDict):
    """A marketplace in an npm package."""

    source: Literal["npm"]
    spec: str


class MarketplacePluginSpec(TypedDict, total=False):
    """`plugin.marketplace` as a dictionary."""

    kind: Required[Literal["plugin"]]
    source: Required[Literal["marketplace"]]
    name: Required[str]
    marketplace: Required[GitMarketplaceSpec | NpmMarketplaceSpec]
    only: Sequence[PluginPart]
    build: BuildInput


VariableInput: TypeAlias = str | Secret | SecretSpec
HeaderInput: TypeAlias = str | Secret | SecretTemplate | SecretSpec | SecretTemplateSpec


class StdioServerSpec(TypedDict, total=False):
    """`mcp.stdio` as a dictionary."""

    kind: Required[Literal["mcp"]]
    transport: Required[Literal["stdio"]]
    command: Required[str]
    args: Sequence[str]
    env: Mapping[str, VariableInput]


class RemoteServerSpec(TypedDict, total=False):
    """`mcp.http` or `mcp.sse` as a dictionary."""

    kind: Required[Literal["mcp"]]
    transport: Required[Literal["http", "sse"]]
    url: Required[str]
    headers: Mapping[str, HeaderInput]


class EgressSpec(TypedDict):
    """Hosts that a sandbox may connect to, besides the automatic ones."""

    allow: Sequence[str]


EgressInput: TypeAlias = Policy | AllowHosts | EgressSpec
FileInput: TypeAlias = str | HostFile | HostFileSpec
McpInput: TypeAlias = StdioServer | RemoteServer | StdioServerSpec | RemoteServerSpec
PluginInput: TypeAlias = (
    LocalPlugin
    | GitPlugin
    | NpmPlugin
    | MarketplacePlugin
    | LocalPluginSpec
    | GitPluginSpec
    | NpmPluginSpec
    | MarketplacePluginSpec
)
SandboxInput: TypeAlias = DockerSandbox | FakeSandbox | DockerSpec | FakeSandboxSpec
SkillInput: TypeAlias = (
    LocalSkills
    | GitSkills
    | NpmSkills
    | RegistrySkill
    | InlineSkill
    | LocalSkillsSpec
    | GitSkillsSpec
    | NpmSkillsSpec
    | RegistrySkillSpec
    | InlineSkillSpec
)
WorkspaceInput: TypeAlias = GitWorkspace | GitWorkspaceSpec


class EnvironmentSpec(TypedDict, total=False):
    """The fields of an environment."""

    egress: EgressInput
    env: Mapping[str, VariableInput]
    files: Mapping[str, FileInput]
    mcp: Mapping[str, McpInput]
    plugins: Sequence[PluginInput]
    rules: FileInput
    sandbox: SandboxInput
    setup: Sequence[SetupInput]
    skills: Sequence[SkillInput]
    workspace: WorkspaceInput
