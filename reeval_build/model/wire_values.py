"""How each value of an environment is written in reeval's wire form."""

from __future__ import annotations

from collections.abc import Mapping
from functools import singledispatch
from typing import Any

from reeval_build.model.durations import duration_text
from reeval_build.model.egress import AllowHosts
from reeval_build.model.mcp import RemoteServer, StdioServer
from reeval_build.model.plugins import (
    GitMarketplace,
    GitPlugin,
    LocalPlugin,
    MarketplacePlugin,
    NpmMarketplace,
    NpmPlugin,
    PluginBuild,
)
from reeval_build.model.secrets import Secret, SecretTemplate
from reeval_build.model.skills import GitSkills, InlineSkill, LocalSkills, NpmSkills, RegistrySkill
from reeval_build.model.spec import (
    DEFAULT_TIMEOUT_S,
    DockerSandbox,
    FakeSandbox,
    GitWorkspace,
    HostFile,
    InstallStep,
    SetupStep,
)


@singledispatch
def value_to_wire(value: Any) -> Any:  # noqa: ANN401 - any value of a spec, and what JSON has for it
    """A value of a spec as plain data: what is not given, or says the default, is left out."""
    raise AssertionError(f"{type(value).__name__} has no wire form")


@value_to_wire.register
def _(value: str) -> str:
    return value


@value_to_wire.register
def _(value: tuple) -> list[Any]:  # type: ignore[type-arg] # singledispatch takes the plain class
    return [value_to_wire(item) for item in value]


@value_to_wire.register
def _(value: Mapping) -> dict[str, Any]:  # type: ignore[type-arg] # singledispatch takes the plain class
    return {name: value_to_wire(item) for name, item in value.items()}


@value_to_wire.register
def _(value: AllowHosts) -> dict[str, Any]:
    return {"allow": list(value.hosts)}


@value_to_wire.register
def _(value: Secret) -> dict[str, Any]:
    return {"kind": "secret"} | _given(
        {
            "from": value.name,
            "optional": value.optional or None,
            "to": None if value.to == "agent" else value.to,
            "hosts": _listed(value.hosts),
            "in": _listed(value.in_),
        }
    )


@value_to_wire.register
def _(value: SecretTemplate) -> dict[str, Any]:
    return {"kind": "secret-template", "template": value.template}


@value_to_wire.register
def _(value: HostFile) -> dict[str, Any]:
    return {"kind": "file", "path": value.path}


@value_to_wire.register
def _(value: GitWorkspace) -> dict[str, Any]:
    return {"kind": "git", "repo": value.repo, "url": value.url} | _given(
        {"ref": value.ref, "path": value.path, "init": value.init or None, "token": value.token}
    )


@value_to_wire.register
def _(value: DockerSandbox) -> dict[str, Any]:
    cpus = value.cpus
    return {"kind": "docker"} | _given(
        {
            "from": value.image,
            "dockerfile": value.dockerfile,
            "install": value_to_wire(value.install) or None,
            "engine": None if value.engine == "docker" else value.engine,
            "root": value.root or None,
            "capabilities": list(value.capabilities) or None,
            "cpus": int(cpus) if cpus is not None and cpus.is_integer() else cpus,
            "memory": value.memory,
            "swap": value.swap,
            "pids": value.pids,
            "id": value.id,
            "maxConcurrent": value.max_concurrent,
        }
    )


@value_to_wire.register
def _(value: FakeSandbox) -> dict[str, Any]:
    return {"kind": "fake"} | _given({"dir": value.dir, "id": value.id, "maxConcurrent": value.max_concurrent})


@value_to_wire.register
def _(value: InstallStep) -> str | dict[str, Any]:
    if value.timeout_s == DEFAULT_TIMEOUT_S:
        return value.run
    return {"run": value.run, "timeout": duration_text(value.timeout_s)}


@value_to_wire.register
def _(value: SetupStep) -> str | dict[str, Any]:
    options = _given(
        {
            "timeout": None if value.timeout_s == DEFAULT_TIMEOUT_S else duration_text(value.timeout_s),
            "cwd": None if value.cwd == "." else value.cwd,
            "inputs": _listed(value.inputs),
        }
    )
    return {"run": value.run} | options if options else value.run


@value_to_wire.register
def _(value: StdioServer) -> dict[str, Any]:
    return {
        "kind": "mcp",
        "transport": "stdio",
        "command": value.command,
        "args": list(value.args),
        "env": value_to_wire(value.env),
    }


@value_to_wire.register
def _(value: RemoteServer) -> dict[str, Any]:
    return {"kind": "mcp", "transport": value.transport, "url": value.url, "headers": value_to_wire(value.headers)}


def _chosen(value: LocalSkills | GitSkills | NpmSkills) -> dict[str, Any]:
    return {"placement": value.placement} | _given({"only": _listed(value.only), "exclude": _listed(value.exclude)})


@value_to_wire.register
def _(value: LocalSkills) -> dict[str, Any]:
    return {"kind": "skill", "source": "local", "path": value.path} | _chosen(value)


@value_to_wire.register
def _(value: GitSkills) -> dict[str, Any]:
    place = _given({"ref": value.ref, "path": value.path})
    return {"kind": "skill", "source": "git", "repo": value.repo} | place | _chosen(value)


@value_to_wire.register
def _(value: NpmSkills) -> dict[str, Any]:
    return {"kind": "skill", "source": "npm", "spec": value.spec, "path": value.path} | _chosen(value)


@value_to_wire.register
def _(value: RegistrySkill) -> dict[str, Any]:
    skill = {"kind": "skill", "source": "registry", "id": value.id, "placement": value.placement}
    return skill | _given({"version": value.version})


@value_to_wire.register
def _(value: InlineSkill) -> dict[str, Any]:
    return {
        "kind": "skill",
        "source": "inline",
        "name": value.name,
        "description": value.description,
        "content": value.content,
        "files": dict(value.files),
        "placement": value.placement,
    }


@value_to_wire.register
def _(value: PluginBuild) -> str | list[str] | dict[str, Any]:
    run = value.run[0] if len(value.run) == 1 else list(value.run)
    return run if value.cwd is None else {"run": run, "cwd": value.cwd}


def _built(value: LocalPlugin | GitPlugin | NpmPlugin | MarketplacePlugin) -> dict[str, Any]:
    build = None if value.build is None else value_to_wire(value.build)
    return _given({"only": _listed(value.only), "build": build})


@value_to_wire.register
def _(value: LocalPlugin) -> dict[str, Any]:
    return {"kind": "plugin", "source": "local", "path": value.path} | _built(value)


@value_to_wire.register
def _(value: GitPlugin) -> dict[str, Any]:
    place = _given({"ref": value.ref, "path": value.path})
    return {"kind": "plugin", "source": "git", "repo": value.repo} | place | _built(value)


@value_to_wire.register
def _(value: NpmPlugin) -> dict[str, Any]:
    return {"kind": "plugin", "source": "npm", "spec": value.spec} | _given({"path": value.path}) | _built(value)


@value_to_wire.register
def _(value: GitMarketplace) -> dict[str, Any]:
    return {"source": "git", "repo": value.repo} | _given({"ref": value.ref})


@value_to_wire.register
def _(value: NpmMarketplace) -> dict[str, Any]:
    return {"source": "npm", "spec": value.spec}


@value_to_wire.register
def _(value: MarketplacePlugin) -> dict[str, Any]:
    entry = {"kind": "plugin", "source": "marketplace", "name": value.name}
    return entry | {"marketplace": value_to_wire(value.marketplace)} | _built(value)


def _given(options: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in options.items() if value is not None}


def _listed(value: tuple[str, ...] | None) -> list[str] | None:
    return None if value is None else list(value)
