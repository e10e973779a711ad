"""The main job on a real project and a real engine, from definitions to what an agent changed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from contextlib import closing
from pathlib import Path
from typing import Any

import attrs
import docker
import pytest

from tests.support.engine import PrivateEngine
from tests.support.real_project import make_repository

_DEFINITIONS = """
from reeval_build import define_environment, docker, file, git

base = define_environment("base", {{
    "sandbox": docker(from_="{image}", install=["echo installed > /etc/installed-by-us"]),
    "workspace": git("./project"),
    "env": {{"PYTHONDONTWRITEBYTECODE": "1"}},
    "files": {{"conf/settings.ini": "[settings]\\nmode = test\\n", "~/.marker": "home\\n"}},
    "rules": file("./rules.md"),
    "setup": [
        {{"run": "python3 -m venv .venv && .venv/bin/pip install --quiet .", "timeout": "{timeout}"}},
        ".venv/bin/python -c 'import click; print(click.__file__)' > where.txt",
    ],
}})
checked = base.extend("checked", {{"setup": [
    "test -f ~/.marker && test -f /etc/installed-by-us && echo checked > checked.txt",{more}
]}})
"""
_HARNESSES = ("--harness", "claude-code", "--harness", "codex")


@attrs.frozen
class Job:
    """A directory with definitions and a store, and an engine."""

    directory: Path
    engine: PrivateEngine
    umask: int = 0o022

    def define(self, *, timeout: str = "5m", more: str = "", rules: str = "Be brief.\n") -> None:
        text = _DEFINITIONS.format(image=self.engine.registry_python_image, timeout=timeout, more=more)
        (self.directory / "environments.py").write_text(text)
        (self.directory / "rules.md").write_text(rules)

    def command(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        env = {**os.environ, "DOCKER_HOST": self.engine.url, "REEVAL_BUILD_HOME": str(self.directory / "store")}
        done = subprocess.run(
            [sys.executable, "-m", "reeval_build", *arguments],
            cwd=self.directory,
            env=env,
            capture_output=True,
            text=True,
            check=False,
            umask=self.umask,
        )
        assert "Traceback" not in done.stderr, done.stderr
        return done

    def build(self) -> dict[str, Any]:
        done = self.command("build", "environments.py", *_HARNESSES, "--json")
        assert done.returncode == 0, done.stderr
        built: dict[str, Any] = json.loads(done.stdout)
        return built

    def run(self, cell: str, script: str) -> tuple[subprocess.CompletedProcess[str], dict[str, str]]:
        report = self.directory / "changes.json"
        done = self.command("run", cell, "--diff-json", str(report), "--", "sh", "-c", script)
        changes = json.loads(report.read_text())["changes"]
        return done, {change["path"]: change["change"] for change in changes}


def _phases(built: dict[str, Any], status: str) -> Counter[str]:
    return Counter(node["phase"] for node in built["nodes"] if node["status"] == status)


@pytest.fixture(scope="module")
def job(engine: PrivateEngine, tmp_path_factory: pytest.TempPathFactory) -> Job:
    directory = tmp_path_factory.mktemp("main-job")
    make_repository(directory / "project")
    made = Job(directory, engine)
    made.define()
    return made


@pytest.fixture(scope="module")
def first(job: Job) -> dict[str, Any]:
    return job.build()


@pytest.mark.conforms("74")
def test_first_build_runs_each_shared_node_once(first):
    assert {cell["name"]: cell["status"] for cell in first["cells"]} == {
        "base@claude-code": "ran",
        "base@codex": "ran",
        "checked@claude-code": "ran",
        "checked@codex": "ran",
    }
    assert _phases(first, "ran") == Counter(
        base=1, install=1, workspace=1, files=1, rules=2, root=2, setup=6, snapshot=4
    )
    assert len({cell["snapshot"] for cell in first["cells"]}) == 4


@pytest.mark.conforms("fault 15")
def test_second_build_in_a_new_process_runs_nothing(job, first):
    second = job.build()

    assert second["summary"]["ran"] == second["summary"]["failed"] == 0
    assert [cell["snapshot"] for cell in second["cells"]] == [cell["snapshot"] for cell in first["cells"]]


@pytest.mark.conforms("88")
def test_changed_rules_run_only_what_stands_on_them(job, first):
    job.define(rules="Be very brief.\n")
    try:
        changed = job.build()
    finally:
        job.define()

    assert _phases(changed, "ran") == Counter(rules=2, root=2, setup=6, snapshot=4)
    assert _phases(changed, "hit") == Counter(base=1, install=1, workspace=1, files=1)


@pytest.mark.conforms("87")
def test_appended_step_runs_only_itself_and_the_snapshot(job, first):
    job.define(more='\n    "echo more > more.txt",')
    try:
        changed = job.build()
    finally:
        job.define()

    assert _phases(changed, "ran") == Counter(setup=2, snapshot=2)
    assert {node["label"] for node in changed["nodes"] if node["status"] == "ran"} == {
        "echo more > more.txt",
        "checked",
    }


@pytest.mark.conforms("89", "fault 18")
def test_changed_timeout_runs_nothing(job, first):
    job.define(timeout="7m")
    try:
        changed = job.build()
    finally:
        job.define()

    assert changed["summary"]["ran"] == 0


@pytest.mark.conforms("91")
def test_run_shows_exactly_what_the_command_changed(job, first):
    done, changes = job.run(
        "checked@codex",
        "echo new > new.txt; echo '# more' >> src/click/core.py; rm README.md; chmod +x pyproject.toml; "
        "mv LICENSE.txt COPYING; head -c 64 /dev/urandom > blob.bin; mkdir -p build && echo x > build/ignored.o; "
        "echo out; echo err >&2; exit 7",
    )

    assert done.returncode == 7
    assert done.stdout.startswith("out\n")
    assert "err\n" in done.stderr
    assert changes == {
        "new.txt": "added",
        "src/click/core.py": "changed",
        "README.md": "deleted",
        "pyproject.toml": "chmod",
        "LICENSE.txt": "deleted",
        "COPYING": "added",
        "blob.bin": "added",
        **_unless_ignored(job, {"build/ignored.o": "added"}),
    }


def _unless_ignored(job: Job, changes: dict[str, str]) -> dict[str, str]:
    """The test's own `.gitignore` decides; a source distribution may come without one."""
    ignore = job.directory / "project" / ".gitignore"
    return {} if ignore.exists() and "build" in ignore.read_text() else changes


def test_setup_left_a_working_installation(job, first):
    done, changes = job.run(
        "checked@claude-code", "cat where.txt checked.txt CLAUDE.md && .venv/bin/python -m click 2>&1; true"
    )

    assert "/workspace/.venv/" in done.stdout
    assert "checked\nBe brief.\n" in done.stdout
    assert changes == {}


@pytest.mark.conforms("33", "60", "fault 14")
def test_keys_do_not_depend_on_the_clone_or_the_umask(job, first, tmp_path):
    other = Job(tmp_path / "elsewhere", job.engine, umask=0o077)
    other.directory.mkdir()
    subprocess.run(
        ["git", "clone", "--quiet", str(job.directory / "project"), "project"], cwd=other.directory, check=True
    )
    other.define()
    listed = other.command("graph", "environments.py", *_HARNESSES, "--format", "json")
    here = job.command("graph", "environments.py", *_HARNESSES, "--format", "json")

    assert [node["key"] for node in json.loads(listed.stdout)["nodes"]] == [
        node["key"] for node in json.loads(here.stdout)["nodes"]
    ]


@pytest.mark.conforms("fault 32")
def test_pruned_engine_costs_no_setup_step(job, first):
    with closing(docker.DockerClient(base_url=job.engine.url)) as client:
        client.containers.prune()
        client.images.prune(filters={"dangling": False})
        assert client.images.list() == []

    rebuilt = job.build()
    done, changes = job.run("base@codex", "cat where.txt && touch seen")

    assert rebuilt["summary"]["ran"] == 0
    assert done.returncode == 0, done.stderr
    assert "/workspace/.venv/" in done.stdout
    assert changes == {"seen": "added"}
