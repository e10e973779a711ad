"""`export`: what it writes, and that `build` makes the same of it."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from tests.support.cli import Built, finish
from tests.support.evals import FILE, PYTHON, write_evals

if TYPE_CHECKING:
    from tests.support.cli import ReevalBuild
    from tests.support.projects import Project

TWO = """
base = define_environment("base", {
    "sandbox": fake_sandbox(),
    "workspace": git("app", ref="v1.0.0"),
    "env": {"GREETING": "hello"},
    "files": {"notes/todo.txt": "nothing\\n", "~/.tool": file("tool")},
    "rules": file("rules.md"),
    "setup": ["echo $GREETING > greeting.txt", {"run": "true", "timeout": "90s", "cwd": "notes"}],
})
more = base.extend("more", {"env": {"GREETING": "good day"}})
"""


@pytest.fixture
def two(project: Project) -> Project:
    """A project with two environments, in a module of ours."""
    project.write("rules.md", "Be good.\n")
    project.write("tool", "on\n", executable=True)
    project.repository("app", {"main.txt": "main\n"}).git("tag", "v1.0.0")
    project.define(TWO)
    return project


def built_from_export(reeval: ReevalBuild, *targets: str) -> Built:
    """`export TARGET... | build - --json`."""
    exporting = subprocess.Popen(
        [sys.executable, "-m", "reeval_build", "export", *targets],
        cwd=reeval.directory,
        env=reeval.surroundings(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    done = finish(reeval.start("build", "-", "--json", stdin=exporting.stdout))
    assert exporting.stdout is not None
    exporting.stdout.close()
    exported = finish(exporting)
    assert (exported.code, exported.stderr) == (0, "")
    assert done.code == 0, done.stderr
    return Built(done.code, done.stdout, done.stderr)


def export(reeval: ReevalBuild, *targets: str) -> object:
    """What `export` writes."""
    reeval.names_store = False
    done = reeval("export", *targets)
    reeval.names_store = True
    assert done.stderr == ""
    value: object = json.loads(done.stdout)
    return value


def test_one_environment_is_written_as_it_is_with_its_layers_and_absolute_paths(
    two: Project, reeval: ReevalBuild
) -> None:
    here = two.directory
    base = {
        "sandbox": {"kind": "fake"},
        "workspace": {"kind": "git", "repo": "app", "url": f"{here}/app", "ref": "v1.0.0"},
        "env": {"GREETING": "hello"},
        "files": {"notes/todo.txt": "nothing\n", "~/.tool": {"kind": "file", "path": f"{here}/tool"}},
        "rules": {"kind": "file", "path": f"{here}/rules.md"},
        "setup": ["echo $GREETING > greeting.txt", {"run": "true", "timeout": "90s", "cwd": "notes"}],
    }

    assert export(reeval, "env.py::more") == {
        "kind": "environment",
        "name": "more",
        "layers": [{"name": "base", "spec": base}, {"name": "more", "spec": {"env": {"GREETING": "good day"}}}],
    }


def test_several_are_written_as_a_tree_with_an_eval_for_each(two: Project, reeval: ReevalBuild) -> None:
    assert export(reeval) == {
        "children": [
            {"type": "eval", "name": name, "mode": "run", "options": {"environment": export(reeval, f"env.py::{name}")}}
            for name in ("base", "more")
        ]
    }


@pytest.mark.parametrize("targets", [(), ("env.py::more",)], ids=["several", "one"])
def test_what_goes_out_comes_in_equal(two: Project, reeval: ReevalBuild, targets: tuple[str, ...]) -> None:
    first = reeval.build(*targets)

    again = built_from_export(reeval, *targets)

    assert again.ran == []
    assert again.keys == first.keys
    assert again.snapshots == first.snapshots


def test_what_evals_add_goes_out_and_comes_in(project: Project, reeval: ReevalBuild) -> None:
    reeval.env.update(PYTHON)
    write_evals(
        project,
        """
        plain = define_environment("plain", {"setup": ["echo $A > said"]})
        harness = [{"kind": "codex", "model": "gpt", "startTimeout": 120}, {"kind": "codex", "id": "mine"}]

        @evaluate("x", {"environment": plain, "sandbox": {"kind": "fake"}, "env": {"A": "1"}, "harness": harness})
        def x(c): ...

        @evaluate("z", {"environment": plain, "sandbox": {"kind": "fake"}, "env": {"A": "2"}, "harness": harness})
        def z(c): ...

        @evaluate("y", {"sandbox": {"kind": "fake"}, "harness": fake_harness(layout="claude-code", text="done")})
        def y(c): ...
        """,
    )
    first = reeval.build(FILE)

    again = built_from_export(reeval, FILE)

    assert list(first.snapshots) == [
        "plain@codex:gpt#x",
        "plain@codex:gpt#z",
        "plain@mine#x",
        "plain@mine#z",
        "-@fake",
    ]
    assert again.ran == []
    assert again.keys == first.keys


def test_what_is_not_there_is_refused_and_nothing_is_written(reeval: ReevalBuild) -> None:
    reeval.names_store = False

    done = reeval("export", "gone.py", code=2)

    assert done.stdout == ""
    assert done.messages == ["reeval: gone.py: there is no such file or directory"]
