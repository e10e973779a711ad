"""The fields of an environment, as frozen values that were checked when they were made."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final, Literal, TypeAlias

import attrs

DEFAULT_IMAGE: Final = "node:24-bookworm"
DEFAULT_TIMEOUT_S: Final = 300.0


@attrs.frozen
class HostFile:
    """A file of the host, by absolute path, read when the environment is prepared."""

    path: str


FileContent: TypeAlias = str | HostFile


@attrs.frozen(kw_only=True)
class GitWorkspace:
    """The code a workspace starts as.

    `repo` is what the author wrote; `url` is what is fetched: a clone URL, or an absolute path for a local one.
    `token` is the NAME of a host variable.
    """

    repo: str
    url: str
    ref: str | None = None
    path: str | None = None
    init: bool = False
    token: str | None = None


@attrs.frozen(kw_only=True)
class InstallStep:
    """One shell command baked into an image: as root, in `/`, without secrets or env."""

    run: str

    timeout_s: float = attrs.field(default=DEFAULT_TIMEOUT_S, eq=False)


@attrs.frozen(kw_only=True)
class DockerSandbox:
    """A container; `image` is what the author calls `from_`."""

    image: str = DEFAULT_IMAGE
    install: tuple[InstallStep, ...] = ()

    kind: Literal["docker"] = attrs.field(default="docker", init=False)


@attrs.frozen(kw_only=True)
class FakeSandbox:
    """A directory on the host instead of a container."""

    kind: Literal["fake"] = attrs.field(default="fake", init=False)


Sandbox: TypeAlias = DockerSandbox | FakeSandbox


@attrs.frozen(kw_only=True)
class SetupStep:
    """One shell command of an environment's setup; `cwd` is relative to the workspace, or absolute."""

    run: str
    cwd: str = "."

    timeout_s: float = attrs.field(default=DEFAULT_TIMEOUT_S, eq=False)


def _frozen_mapping(value: Mapping[str, str] | None) -> Mapping[str, str] | None:
    return None if value is None else MappingProxyType(dict(value))


@attrs.frozen(kw_only=True)
class Spec:
    """What one layer of an environment says; None is a field it leaves alone."""

    sandbox: Sandbox | None = None
    workspace: GitWorkspace | None = None
    env: Mapping[str, str] | None = attrs.field(default=None, converter=_frozen_mapping)
    files: Mapping[str, FileContent] | None = attrs.field(default=None, converter=_frozen_mapping)
    rules: FileContent | None = None
    setup: tuple[SetupStep, ...] | None = None
