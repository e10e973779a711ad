"""The fields of an environment, as frozen values that were checked when they were made."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final, Literal, TypeAlias, TypeVar

import attrs

from reeval_build.model.egress import Egress
from reeval_build.model.mcp import McpServer
from reeval_build.model.plugins import PluginSource
from reeval_build.model.secrets import Secret
from reeval_build.model.skills import SkillSource

Value = TypeVar("Value")

DEFAULT_IMAGE: Final = "node:24-bookworm"
DEFAULT_TIMEOUT_S: Final = 300.0


@attrs.frozen
class HostFile:
    """A file of the host, by absolute path, read when the environment is prepared."""

    path: str


FileContent: TypeAlias = str | HostFile
EnvValue: TypeAlias = str | Secret


@attrs.frozen(kw_only=True)
class GitWorkspace:
    """The code a workspace starts as.

    `repo` is what the author wrote; `url` is what is fetched: a clone URL, or an absolute path for a local one.
    `token` is the NAME of a host variable. `helper` is what its author called to write it, as messages say.
    """

    repo: str
    url: str
    ref: str | None = None
    path: str | None = None
    init: bool = False
    token: str | None = None

    helper: str = attrs.field(default="git", eq=False, repr=False)

    @property
    def called(self) -> str:
        """How messages name it: `git("./app")`."""
        return f'{self.helper}("{self.repo}")'


@attrs.frozen(kw_only=True)
class InstallStep:
    """One shell command baked into an image: as root, in `/`, without secrets or env."""

    run: str

    timeout_s: float = attrs.field(default=DEFAULT_TIMEOUT_S, eq=False)


@attrs.frozen(kw_only=True)
class DockerSandbox:
    """A container.

    `image` is what the author calls `from_`, and `dockerfile` an absolute path of the host; at most one of them is
    given. The image is what `image`, `dockerfile` and `install` say; all other options only matter when a sandbox of
    it starts. Those that say how much a container may have are as the author wrote them: `"4g"`, or bytes.
    """

    image: str | None = None
    dockerfile: str | None = None
    install: tuple[InstallStep, ...] = ()
    engine: Literal["docker", "podman"] = "docker"
    root: bool = False
    capabilities: tuple[str, ...] = ()
    cpus: float | None = None
    memory: str | int | None = None
    swap: str | int | None = None
    pids: int | None = None
    id: str | None = None
    max_concurrent: int | None = None

    kind: Literal["docker"] = attrs.field(default="docker", init=False)
    # reeval-python takes it, reeval's own descriptor does not have it: it decides nothing.
    start_timeout_s: float | None = attrs.field(default=None, eq=False)

    @property
    def base_image(self) -> str:
        """The image that a sandbox without a `dockerfile` is made from."""
        return DEFAULT_IMAGE if self.image is None else self.image


@attrs.frozen(kw_only=True)
class FakeSandbox:
    """A directory on the host instead of a container; it is made in `dir`, an absolute path."""

    dir: str | None = None
    id: str | None = None
    max_concurrent: int | None = None

    kind: Literal["fake"] = attrs.field(default="fake", init=False)


Sandbox: TypeAlias = DockerSandbox | FakeSandbox


@attrs.frozen(kw_only=True)
class SetupStep:
    """One shell command of an environment's setup; `cwd` is relative to the workspace, or absolute.

    `inputs` are the paths of the workspace that the step reads, sorted; None is all of it.
    """

    run: str
    cwd: str = "."
    inputs: tuple[str, ...] | None = None

    timeout_s: float = attrs.field(default=DEFAULT_TIMEOUT_S, eq=False)


def _frozen(value: Mapping[str, Value] | None) -> Mapping[str, Value] | None:
    return None if value is None else MappingProxyType(dict(value))


def _frozen_env(value: Mapping[str, EnvValue] | None) -> Mapping[str, EnvValue] | None:
    return _frozen(value)


def _frozen_files(value: Mapping[str, FileContent] | None) -> Mapping[str, FileContent] | None:
    return _frozen(value)


def _frozen_servers(value: Mapping[str, McpServer] | None) -> Mapping[str, McpServer] | None:
    return _frozen(value)


@attrs.frozen(kw_only=True)
class Spec:
    """What one layer of an environment says; None is a field it leaves alone."""

    egress: Egress | None = None
    env: Mapping[str, EnvValue] | None = attrs.field(default=None, converter=_frozen_env)
    files: Mapping[str, FileContent] | None = attrs.field(default=None, converter=_frozen_files)
    mcp: Mapping[str, McpServer] | None = attrs.field(default=None, converter=_frozen_servers)
    plugins: tuple[PluginSource, ...] | None = None
    rules: FileContent | None = None
    sandbox: Sandbox | None = None
    setup: tuple[SetupStep, ...] | None = None
    skills: tuple[SkillSource, ...] | None = None
    workspace: GitWorkspace | None = None


@attrs.frozen
class Layer:
    """What one `define_environment` or `extend` said."""

    name: str
    spec: Spec
