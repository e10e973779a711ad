"""What do many cells cost that have nothing to do: to build, and to plan?"""

from __future__ import annotations

import json
import os
import random
from pathlib import Path
from typing import TYPE_CHECKING

import attrs
from freshness import write_small_files
from installed import Installation, clean_environment
from measuring import Command, Comparison, take_turns

from tests.support.real_project import git

if TYPE_CHECKING:
    from collections.abc import Callable

    from builders import Docker

_HARNESSES = ("claude-code", "codex", "cursor", "opencode")
_BUILT, _PLANNED = 15, 500
_BUILD_RATIO = 0.3
_PLAN_S = 1.5
_DEFINITIONS = """\
from reeval_build import define_environment, docker, fake_sandbox, file, git, step

base = define_environment("base", {{
    "sandbox": {sandbox},
    "workspace": git("./project"),
    "rules": file("rules.md"),
    "env": {{"APP_MODE": "test"}},
    "setup": [step("sort SKILL.md >sorted", inputs=["SKILL.md"])],
}})
for number in range({count}):
    globals()[f"e{{number}}"] = base.extend(f"e{{number}}", {{"files": {{"conf/number": f"{{number}}\\n"}}}})
del base
"""


@attrs.frozen
class Cells:
    """Environments on one git workspace of 20,000 small files, which each add a file to it, on four harnesses."""

    installation: Installation
    directory: Path
    count: int
    image: str | None = None
    engine: str | None = None
    store: str = "store"

    def make(self) -> Cells:
        """Write all of it, and a Dockerfile for an image of one of them."""
        project = self.directory / "project"
        write_small_files(project, random.Random(2))  # noqa: S311 - bytes that are the same each time
        git(project, "init", "--quiet")
        git(project, "add", "--all")
        git(project, "-c", "user.name=b", "-c", "user.email=b@example.com", "commit", "--quiet", "--message=files")
        (self.directory / "rules.md").write_text("Be brief.\n")
        (self.directory / ".dockerignore").write_text("**/.git\nstore\nclient\n")
        (self.directory / "Dockerfile").write_text(
            f"FROM {self.image}\nWORKDIR /workspace\nCOPY project/ ./\nCOPY rules.md CLAUDE.md\n"
            "RUN sort SKILL.md >sorted && mkdir -p conf && echo 0 >conf/number\n"
        )
        self.define(self.count)
        return self

    def define(self, count: int) -> None:
        """Write so many environments."""
        sandbox = f"docker(from_={self.image!r})" if self.image else "fake_sandbox()"
        (self.directory / "environments.py").write_text(_DEFINITIONS.format(sandbox=sandbox, count=count))

    def build(self) -> None:
        """Build every cell."""
        self._build()

    def build_nothing(self) -> None:
        """Build every cell, all of which are built."""
        summary = json.loads(self._build())["summary"]
        if summary["ran"]:
            raise RuntimeError(f"a build with nothing to do ran {summary['ran']} nodes")

    def plan(self) -> None:
        """Plan every cell."""
        self.run(*self._arguments("graph", "--format=json"))

    def importing(self) -> Command:
        """Import what a build of every cell does, all of which are built."""
        arguments = self.installation.importing(self._arguments("build", "--json"), self.directory, self._environment())
        return Command(arguments, self.directory, self._environment())

    def run(self, *arguments: str) -> str:
        """Run the program, and give what it prints."""
        return Command([self.installation.program, *arguments], self.directory, self._environment()).run()

    def _build(self) -> str:
        return self.run(*self._arguments("build", "--json"))

    def _arguments(self, command: str, *options: str) -> list[str]:
        return [command, "environments.py", *(f"--harness={harness}" for harness in _HARNESSES), *options]

    def _environment(self) -> dict[str, str]:
        env = {**clean_environment(), "REEVAL_BUILD_HOME": str(self.directory / self.store)}
        return env | {"DOCKER_HOST": self.engine} if self.engine else env


def compare_builds(installation: Installation, docker: Docker, directory: Path, *, rounds: int) -> list[Comparison]:
    """Sixty cells on the fake sandbox and on Docker, beside a build with BuildKit of one image of the same files."""
    found = []
    for kind, image, engine in (("fake sandbox", None, None), ("docker", docker.image, docker.url)):
        cells = Cells(installation, directory / f"cells-{kind.split()[0]}", _BUILT, image, engine)
        cells.directory.mkdir()
        cells.make().build()
        found.append((kind, cells))
    peer = image_builder(docker, directory / "cells-docker")
    peer()
    return [_compare_build(kind, cells, peer, rounds) for kind, cells in found]


def _compare_build(kind: str, cells: Cells, peer: Callable[[], object], rounds: int) -> Comparison:
    ours, *peers = take_turns(
        {
            "reeval-build build, 60 cells": cells.build_nothing,
            "docker build": peer,
            "its modules": cells.importing().run,
        },
        rounds=rounds,
    )
    question = f"no-op build of 60 cells, 20,000 files, {kind}"
    return Comparison(question=question, ours=ours, peers=peers, goal_ratio=_BUILD_RATIO)


def compare_plans(installation: Installation, directory: Path, *, rounds: int) -> Comparison:
    """Two thousand cells on the fake sandbox, whose workspace is in the store."""
    cells = Cells(installation, directory / "cells-planned", 1)
    cells.directory.mkdir()
    cells.make().build()
    cells.define(_PLANNED)
    status = Command(["git", "status", "--porcelain"], cells.directory / "project", clean_environment())
    ours, theirs = take_turns({"reeval-build graph": cells.plan, "git status": status.run}, rounds=rounds)
    question = "plan of 500 environments on 4 harnesses"
    return Comparison(question=question, ours=ours, peers=[theirs], goal_s=_PLAN_S)


def image_builder(docker: Docker, directory: Path) -> Callable[..., object]:
    """What builds the Dockerfile in `directory` with BuildKit, with the options it is given."""
    settings = {"DOCKER_CONFIG": str(directory / "client"), "DOCKER_BUILDKIT": "1", "DOCKER_HOST": docker.url}

    def build(*options: str) -> str:
        command = [docker.client, "build", "--quiet", "--tag=benchmark-cells", *options, "."]
        return Command(command, directory, {**os.environ, **settings}).run()

    return build
