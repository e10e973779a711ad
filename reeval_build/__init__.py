"""Content-addressed builds of agent-eval environments.

What authors import::

    from reeval_build import define_environment, docker, git

Names are loaded when they are first used, so that the command starts quickly.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from reeval_build.model.environment import Environment, define_environment
    from reeval_build.model.helpers import docker, fake_sandbox, file, git

__version__ = "0.1.0"

__all__ = ["Environment", "__version__", "define_environment", "docker", "fake_sandbox", "file", "git"]

_HOMES: Final = {
    "Environment": "environment",
    "define_environment": "environment",
    "docker": "helpers",
    "fake_sandbox": "helpers",
    "file": "helpers",
    "git": "helpers",
}


def __getattr__(name: str) -> Any:  # noqa: ANN401 - whatever the name stands for
    if name in _HOMES:
        return getattr(import_module(f"reeval_build.model.{_HOMES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
