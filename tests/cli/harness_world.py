"""A project that installs a harness, a registry that has its package, and an engine that runs nothing."""

from __future__ import annotations

import json
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

import attrs

from tests.sources.npm_registry import NpmRegistry, npm_registry
from tests.support.cli import ReevalBuild
from tests.support.projects import Project
from tests.support.quiet_engine import quiet_engine

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

LOCK: Final = "reeval-build.lock"


@attrs.frozen
class HarnessWorld:
    """Its project has a table for codex."""

    project: Project
    registry: NpmRegistry
    reeval: ReevalBuild

    def say(self, *lines: str, kind: str = "codex") -> None:
        """What the project's table says."""
        table = [f"[tool.reeval-build.harness.{kind}]", *lines] if kind else []
        self.project.write("pyproject.toml", "\n".join(["[tool.reeval-build]", *table, ""]))

    @property
    def locked(self) -> dict[str, Any]:
        """What harnesses are locked as."""
        value: dict[str, Any] = json.loads((self.project.directory / LOCK).read_text()).get("harnesses", {})
        return value

    def lock(self) -> None:
        """Have a build lock it, which then fails, for the engine runs nothing."""
        self.reeval.build("--harness", "codex", code=3)

    def graph(self, *arguments: str, code: int = 0) -> str:
        """The labels of the harness nodes of a plan, or what is said when there is none."""
        done = self.reeval("graph", "--harness", "codex", "--format", "json", *arguments, code=code)
        if code:
            return done.stderr
        return ", ".join(node["label"] for node in json.loads(done.stdout)["nodes"] if node["phase"] == "harness")

    def check(self, *arguments: str, code: int = 0) -> str:
        """What `lock check` says."""
        self.reeval.names_store = False
        try:
            return self.reeval("lock check", *arguments, code=code).stdout
        finally:
            self.reeval.names_store = True


@contextmanager
def harness_world(directory: Path, project: Project) -> Iterator[HarnessWorld]:
    """One for as long as the block runs."""
    with quiet_engine(directory) as engine, npm_registry() as registry:
        npmrc = directory / "npmrc"
        npmrc.write_text(f"registry={registry.url}/public/\n")
        engine.tag("x:1", "one", digest="sha256:" + "1" * 64)
        reeval = ReevalBuild(
            project.directory,
            directory / "store",
            env={"DOCKER_HOST": engine.url, "NPM_CONFIG_USERCONFIG": str(npmrc)},
        )
        project.define('e = define_environment("e", {"sandbox": docker(from_="x:1")})')
        made = HarnessWorld(project, registry, reeval)
        made.say()
        yield made
