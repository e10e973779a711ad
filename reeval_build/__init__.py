"""Content-addressed builds of agent-eval environments.

What authors import::

    from reeval_build import define_environment, docker, git

Names are loaded when they are first used, so that the command starts quickly.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from reeval_python import DEFAULT_EGRESS_ALLOW

    from reeval_build.model.environment import Environment, Helpers, define_environment
    from reeval_build.model.helpers.directories import DEFAULT_DIRECTORY_IGNORES, directory
    from reeval_build.model.helpers.harnesses import (
        antigravity,
        claude_code,
        codex,
        cursor,
        fake_harness,
        fx,
        goose,
        grok_build,
        opencode,
        pi,
    )
    from reeval_build.model.helpers.host_files import file
    from reeval_build.model.helpers.mcp import mcp
    from reeval_build.model.helpers.plugins import plugin
    from reeval_build.model.helpers.sandboxes import docker, fake_sandbox, podman
    from reeval_build.model.helpers.secrets import secret
    from reeval_build.model.helpers.skills import skill
    from reeval_build.model.helpers.steps import step
    from reeval_build.model.helpers.workspaces import git
    from reeval_build.model.skills import DEFAULT_SKILL_EXCLUDE
    from reeval_build.model.written import EnvironmentSpec, SetupStepSpec

__version__ = "0.1.0"

__all__ = [
    "DEFAULT_DIRECTORY_IGNORES",
    "DEFAULT_EGRESS_ALLOW",
    "DEFAULT_SKILL_EXCLUDE",
    "Environment",
    "EnvironmentSpec",
    "Helpers",
    "SetupStepSpec",
    "__version__",
    "antigravity",
    "claude_code",
    "codex",
    "cursor",
    "define_environment",
    "directory",
    "docker",
    "fake_harness",
    "fake_sandbox",
    "file",
    "fx",
    "git",
    "goose",
    "grok_build",
    "mcp",
    "opencode",
    "pi",
    "plugin",
    "podman",
    "secret",
    "skill",
    "step",
]

_MODEL: Final = "reeval_build.model"
_HARNESSES: Final = f"{_MODEL}.helpers.harnesses"
_HOMES: Final = {
    "DEFAULT_DIRECTORY_IGNORES": f"{_MODEL}.helpers.directories",
    "DEFAULT_EGRESS_ALLOW": "reeval_python",
    "DEFAULT_SKILL_EXCLUDE": f"{_MODEL}.skills",
    "Environment": f"{_MODEL}.environment",
    "EnvironmentSpec": f"{_MODEL}.written",
    "Helpers": f"{_MODEL}.environment",
    "SetupStepSpec": f"{_MODEL}.written",
    "antigravity": _HARNESSES,
    "claude_code": _HARNESSES,
    "codex": _HARNESSES,
    "cursor": _HARNESSES,
    "define_environment": f"{_MODEL}.environment",
    "directory": f"{_MODEL}.helpers.directories",
    "docker": f"{_MODEL}.helpers.sandboxes",
    "fake_harness": _HARNESSES,
    "fake_sandbox": f"{_MODEL}.helpers.sandboxes",
    "file": f"{_MODEL}.helpers.host_files",
    "fx": _HARNESSES,
    "git": f"{_MODEL}.helpers.workspaces",
    "goose": _HARNESSES,
    "grok_build": _HARNESSES,
    "mcp": f"{_MODEL}.helpers.mcp",
    "opencode": _HARNESSES,
    "pi": _HARNESSES,
    "plugin": f"{_MODEL}.helpers.plugins",
    "podman": f"{_MODEL}.helpers.sandboxes",
    "secret": f"{_MODEL}.helpers.secrets",
    "skill": f"{_MODEL}.helpers.skills",
    "step": f"{_MODEL}.helpers.steps",
}


def __getattr__(name: str) -> Any:  # noqa: ANN401 - whatever the name stands for
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
