"""What does it cost on Docker that one of 20,000 files changed, that nothing is there, and to start an attempt?"""

from __future__ import annotations

import io
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from functools import partial
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

import attrs
import docker as sdk
from builders import Docker
from cells import Cells, image_builder
from installed import Installation, clean_environment
from measuring import Command, Comparison, seconds_of, take_turns, times_of

from reeval_build.engines.docker.engine import DockerEngine
from reeval_build.model.spec import DockerSandbox
from reeval_build.plan.outputs import SnapshotOutput
from reeval_build.stores.local import LocalStore
from tests.support.real_project import git

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_HARNESS = "claude-code"
_CHANGED, _COLD, _START = 0.15, 0.8, 1.15
_MATRIX = 0.1
_ENVIRONMENTS = 6
_RULES = {"claude-code": "CLAUDE.md", "codex": "AGENTS.md", "cursor": "AGENTS.md", "opencode": "AGENTS.md"}
_SETUP_S = 10
_AT_ONCE = 2
_MATRIX_DEFINITIONS = """\
from reeval_build import define_environment, docker, file, git, step

base = define_environment("base", {{
    "sandbox": docker(from_={image!r}),
    "workspace": git("./project"),
    "rules": file("rules.md"),
    "setup": [step("sleep {seconds}; cat one two >both", inputs=["one", "two"])],
}})
for number in range({count}):
    globals()[f"e{{number}}"] = base.extend(f"e{{number}}", {{"files": {{"number": f"{{number}}\\n"}}}})
del base
"""


def compare(installation: Installation, docker: Docker, directory: Path, *, rounds: int) -> Iterator[Comparison]:
    """On a git workspace of 20,000 small files, and on twenty-four cells whose setup takes a while."""
    cells = Cells(installation, directory / "states", 1, docker.image, docker.url)
    cells.directory.mkdir()
    cells.make()
    yield _compare_change(cells, docker, rounds)
    yield _compare_cold(cells, docker, rounds)
    yield _compare_start(cells, docker, rounds * 3)
    yield _compare_preparation(cells, docker, rounds)
    yield _compare_matrix(Matrix(installation, docker, directory / "matrix").make())


def _started(cells: Cells) -> None:
    """Build one cell as far as is needed, and start a sandbox from it."""
    cells.run("run", f"e0@{_HARNESS}", "--", "true")


def _compare_change(cells: Cells, docker: Docker, rounds: int) -> Comparison:
    project, numbers = cells.directory / "project", count()
    build = partial(_build_and_run, docker, cells.directory)

    def after_an_edit(work: Callable[[], object]) -> float:
        (project / "d7/e7/7.txt").write_text(f"{next(numbers)}")
        git(
            project,
            "-c",
            "user.name=b",
            "-c",
            "user.email=b@example.com",
            "commit",
            "--all",
            "--quiet",
            "--message=one",
        )
        return seconds_of(work)

    _started(cells)
    build()
    ours, theirs = times_of(
        {
            "reeval-build run -- true": partial(after_an_edit, partial(_started, cells)),
            "docker build, docker run": partial(after_an_edit, build),
        },
        rounds=rounds,
    )
    question = "one of 20,000 files changed, to a sandbox that started, docker"
    return Comparison(question=question, ours=ours, peers=[theirs], goal_ratio=_CHANGED)


def _compare_cold(cells: Cells, docker: Docker, rounds: int) -> Comparison:
    numbers = count()

    def cold() -> float:
        cells.run("doctor", "--remove-images")
        fresh = attrs.evolve(cells, store=f"store-{next(numbers)}")
        return seconds_of(partial(_started, fresh))

    build = partial(_build_and_run, docker, cells.directory, "--no-cache")
    things = {"reeval-build run -- true": cold, "docker build, docker run": partial(seconds_of, build)}
    ours, theirs = times_of(things, rounds=rounds)
    question = "20,000 files, nothing is there, to a sandbox that started, docker"
    return Comparison(question=question, ours=ours, peers=[theirs], goal_ratio=_COLD)


def _compare_start(cells: Cells, docker: Docker, rounds: int) -> Comparison:
    _started(cells)
    with _engine(cells, docker) as start, closing(sdk.APIClient(base_url=docker.url)) as client:
        ours, theirs = take_turns(
            {
                "sandbox from a snapshot": start,
                "container of the base image": partial(_start_plain, client, docker.image),
            },
            rounds=rounds,
        )
    return Comparison(question="start an attempt, docker", ours=ours, peers=[theirs], goal_ratio=_START)


def _compare_preparation(cells: Cells, docker: Docker, rounds: int) -> Comparison:
    with _engine(cells, docker) as start:
        things = {"sandbox from a snapshot": start, "docker cp, docker exec": partial(_prepare_by_hand, docker, cells)}
        ours, theirs = take_turns(things, rounds=rounds)
    question = "an attempt with 20,000 files that is ready to work, docker"
    return Comparison(question=question, ours=ours, peers=[theirs])


@contextmanager
def _engine(cells: Cells, docker: Docker) -> Iterator[Callable[[], None]]:
    """What starts a sandbox from the snapshot of the one cell, runs a command and ends it, in a process that runs."""
    with LocalStore(cells.directory / cells.store) as store:
        snapshots = [one.record.output for one in store.records.all() if one.record is not None]
        state = next(output.state for output in snapshots if isinstance(output, SnapshotOutput))
        with closing(DockerEngine(store.objects, scratch=store.scratch, address=docker.url)) as engine:
            engine.resolve(DockerSandbox(image=docker.image), cancel=threading.Event())

            def start() -> None:
                with engine.start(state, cancel=threading.Event()) as sandbox:
                    sandbox.execute(["true"], cwd="", env={}, stdout=io.BytesIO(), stderr=io.BytesIO())

            yield start


def _start_plain(client: sdk.APIClient, image: str) -> None:
    """The same with nothing of ours."""
    container = client.create_container(image, ["sh", "-c", "read -r _"], stdin_open=True)["Id"]
    client.start(container)
    client.exec_start(client.exec_create(container, ["true"])["Id"])
    client.remove_container(container, force=True)


def _prepare_by_hand(docker: Docker, cells: Cells) -> None:
    """What is done for every attempt where nothing is kept: copy the files, run the setup."""
    script = """\
set -e
container=$("$0" run --detach --interactive "$1" sh -c 'read -r _')
"$0" cp --quiet project/. "$container:/workspace" 2>/dev/null || "$0" cp project/. "$container:/workspace"
"$0" cp rules.md "$container:/workspace/CLAUDE.md"
"$0" exec --workdir /workspace "$container" sh -c 'sort SKILL.md >sorted'
"$0" rm --force "$container"
"""
    env = {**clean_environment(), "DOCKER_HOST": docker.url, "DOCKER_CONFIG": str(cells.directory / "client")}
    Command(["sh", "-c", script, docker.client, docker.image], cells.directory, env).run()


def _build_and_run(docker: Docker, directory: Path, *options: str) -> None:
    image_builder(docker, directory)(*options)
    env = {**clean_environment(), "DOCKER_HOST": docker.url, "DOCKER_CONFIG": str(directory / "client")}
    Command([docker.client, "run", "--rm", "benchmark-cells", "true"], directory, env).run()


@attrs.frozen
class Matrix:
    """Six environments on four harnesses with a slow setup that reads two files, and a Dockerfile for each cell."""

    installation: Installation
    docker: Docker
    directory: Path

    def make(self) -> Matrix:
        """Write all of it."""
        project = self.directory / "project"
        project.mkdir(parents=True)
        for name in ("one", "two", "three"):
            (project / name).write_text(f"{name}\n")
        git(project, "init", "--quiet")
        git(project, "add", "--all")
        git(project, "-c", "user.name=b", "-c", "user.email=b@example.com", "commit", "--quiet", "--message=files")
        (self.directory / ".dockerignore").write_text("**/.git\nstore\nclient\n")
        (self.directory / "environments.py").write_text(
            _MATRIX_DEFINITIONS.format(image=self.docker.image, seconds=_SETUP_S, count=_ENVIRONMENTS)
        )
        self.write_rules("Be brief.\n")
        for number in range(_ENVIRONMENTS):
            for harness, rules in _RULES.items():
                (self.directory / f"Dockerfile.{number}-{harness}").write_text(
                    f"FROM {self.docker.image}\nWORKDIR /workspace\nCOPY project/ ./\nRUN echo {number} >number\n"
                    f"COPY rules.md {rules}\nENV HARNESS={harness}\nRUN sleep {_SETUP_S}; cat one two >both\n"
                )
        return self

    def write_rules(self, text: str) -> None:
        """Edit the rules."""
        (self.directory / "rules.md").write_text(text)

    def build(self) -> None:
        """Build every cell."""
        env = {
            **clean_environment(),
            "REEVAL_BUILD_HOME": str(self.directory / "store"),
            "DOCKER_HOST": self.docker.url,
        }
        harnesses = [f"--harness={harness}" for harness in _RULES]
        Command([self.installation.program, "build", "environments.py", *harnesses], self.directory, env).run()

    def build_images(self) -> None:
        """Build every Dockerfile, as many at once as there are processors."""
        names = [f"{number}-{harness}" for number in range(_ENVIRONMENTS) for harness in _RULES]
        with ThreadPoolExecutor(_AT_ONCE) as pool:
            list(pool.map(self._build_image, names))

    def _build_image(self, name: str) -> None:
        settings = {"DOCKER_CONFIG": str(self.directory / "client"), "DOCKER_BUILDKIT": "1"}
        env = {**clean_environment(), "DOCKER_HOST": self.docker.url, **settings}
        command = [self.docker.client, "build", "--quiet", f"--file=Dockerfile.{name}", f"--tag=matrix:{name}", "."]
        Command(command, self.directory, env).run()


def _compare_matrix(matrix: Matrix) -> Comparison:
    """Once: it takes minutes."""
    matrix.build()
    matrix.write_rules("Be very brief.\n")
    ours, theirs = times_of(
        {
            "reeval-build build": partial(seconds_of, matrix.build),
            "docker build, 24 Dockerfiles": partial(seconds_of, matrix.build_images),
        },
        rounds=1,
    )
    question = "an edit of the rules of 24 cells with a setup of 10 s, docker"
    return Comparison(question=question, ours=ours, peers=[theirs], goal_ratio=_MATRIX)
