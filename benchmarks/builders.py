"""The two that build a workload: this program, and BuildKit."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol

import attrs
from installed import Installation, clean_environment
from measuring import Command
from workload import ENVIRONMENTS, HARNESSES

if TYPE_CHECKING:
    from workload import Workload


class Builder(Protocol):
    """Builds every cell of a workload."""

    @property
    def name(self) -> str:
        """What is measured."""

    def build(self, workload: Workload) -> object:
        """Build; what is built already is found."""

    def list_files(self, workload: Workload) -> set[str]:
        """The paths in the workspace that one cell starts with."""


@attrs.frozen
class Docker:
    """An engine, a client with BuildKit in it, and an image to start from."""

    client: str
    url: str
    image: str


@attrs.frozen
class Ours:
    """`reeval-build build`, with a store beside the workload."""

    installation: Installation
    engine: str | None

    @property
    def name(self) -> str:
        """What is measured."""
        return "reeval-build build"

    def build(self, workload: Workload) -> dict[str, Any]:
        """Build, and say how the nodes ended."""
        harnesses = [f"--harness={harness}" for harness in HARNESSES]
        said = self._command(workload, "build", "environments.py", "--json", *harnesses).run()
        summary: dict[str, Any] = json.loads(said)["summary"]
        return summary

    def list_files(self, workload: Workload) -> set[str]:
        """See `Builder.list_files`."""
        return _paths(self._command(workload, "run", "checked@codex", "--", *_LIST).run())

    def _command(self, workload: Workload, *arguments: str) -> Command:
        env = {**clean_environment(), "REEVAL_BUILD_HOME": str(workload.directory / "store")}
        if self.engine:
            env["DOCKER_HOST"] = self.engine
        return Command([self.installation.program, *arguments], workload.directory, env)


@attrs.frozen
class BuildKit:
    """`docker build` with BuildKit, once for each of `targets`."""

    docker: Docker
    targets: Sequence[str]

    @property
    def name(self) -> str:
        """What is measured."""
        return "docker build" if len(self.targets) == 1 else f"docker build, {len(self.targets)} targets"

    def build(self, workload: Workload) -> None:
        """Build, and tag each target."""
        for target in self.targets:
            tag = f"benchmark-{workload.salt}:{target}"
            self._command(workload, "build", "--quiet", f"--target={target}", f"--tag={tag}", ".").run()

    def list_files(self, workload: Workload) -> set[str]:
        """See `Builder.list_files`."""
        image = f"benchmark-{workload.salt}:checked-codex"
        return _paths(self._command(workload, "run", "--rm", image, *_LIST).run())

    def _command(self, workload: Workload, *arguments: str) -> Command:
        # Without a configuration of its own, the client would use whoever runs this one's plugins and contexts.
        settings = {"DOCKER_CONFIG": str(workload.directory / "client"), "DOCKER_BUILDKIT": "1"}
        env = {**os.environ, "DOCKER_HOST": self.docker.url, **settings}
        return Command([self.docker.client, *arguments], workload.directory, env)


ALL_TARGETS = [f"{environment}-{harness}" for harness in HARNESSES for environment in ENVIRONMENTS]
_LIST = ("find", ".", "-type", "f", "-not", "-path", "./.dockerignore")


def _paths(said: str) -> set[str]:
    return {line for line in said.splitlines() if line.startswith("./")}
