"""Which Python loads a project's eval files, and in which order they are tried."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from reeval_build.loading.runner import collect
from reeval_build.loading.runner_interpreters import interpreters, project_root
from tests.loading.test_runner import ONE, rules_of

if TYPE_CHECKING:
    from tests.loading.conftest import EvalProject

RECORDED = 'import os, sys\nRULES = " ".join([sys.prefix, os.environ.get("UV", "no uv")])\n' + ONE


@pytest.fixture
def programs(project: EvalProject, monkeypatch: pytest.MonkeyPatch) -> EvalProject:
    """A project whose `bin`, which is empty, is all there is on the PATH."""
    (project.directory / "bin").mkdir()
    monkeypatch.setenv("PATH", str(project.directory / "bin"))
    monkeypatch.delenv("REEVAL_PYTHON", raising=False)
    return project


def commands(project: EvalProject, **environ: str) -> list[str]:
    """The candidates; the project's directory is `~`."""
    found = interpreters(project.directory, {"PATH": str(project.directory / "bin"), **environ})
    return [one.shown.replace(str(project.directory), "~").replace(sys.executable, "PYTHON") for one in found]


def program(project: EvalProject, path: str, text: str = "") -> None:
    project.write(path, f"#!/bin/sh\n{text}", executable=True)


def make_venv(directory: Path) -> None:
    """A virtual environment that has what the tests run with."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(directory)], check=True)
    (packages,) = directory.glob("lib/python*/site-packages")
    (packages / "all.pth").write_text(sysconfig.get_path("purelib"))


# The order -----------------------------------------------------------------------------------------------------------


def test_a_named_python_is_the_only_one(programs: EvalProject) -> None:
    programs.write("uv.lock", "")
    for path in ("bin/uv", "bin/python3", "bin/python9", ".venv/bin/python"):
        program(programs, path)

    assert commands(programs, REEVAL_PYTHON="python9") == ["~/bin/python9"]
    assert commands(programs, REEVAL_PYTHON="/opt/python") == ["/opt/python"]
    assert commands(programs, REEVAL_PYTHON="none") == ["none"]


def test_a_named_path_counts_from_the_working_directory(programs: EvalProject, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(programs.directory / "bin")

    assert commands(programs, REEVAL_PYTHON="../other/python") == ["~/bin/../other/python"]


@pytest.mark.parametrize("marker", ["pyproject.toml", "uv.lock"])
def test_uv_runs_a_project_that_it_can_run(programs: EvalProject, marker: str) -> None:
    programs.write(marker, "")
    for path in ("bin/uv", "bin/python3", ".venv/bin/python"):
        program(programs, path)

    assert commands(programs, REEVAL_PYTHON="") == ["~/bin/uv run --project ~ python"]


def test_uv_is_nothing_to_a_project_of_another_kind(programs: EvalProject) -> None:
    for path in ("bin/uv", ".venv/bin/python"):
        program(programs, path)

    assert commands(programs) == ["~/.venv/bin/python"]


def test_a_project_without_uv_has_its_venv(programs: EvalProject) -> None:
    programs.write("pyproject.toml", "")
    program(programs, "bin/python3")
    (programs.directory / ".venv/bin").mkdir(parents=True)
    (programs.directory / ".venv/bin/python").symlink_to("/nowhere/python3")

    assert commands(programs) == ["~/.venv/bin/python"], "one that is broken is still its own"


def test_a_project_without_a_python_has_the_hosts_and_then_ours(programs: EvalProject) -> None:
    assert commands(programs) == ["PYTHON"]

    program(programs, "bin/python3")

    assert commands(programs) == ["~/bin/python3", "PYTHON"]


# Loading with each ---------------------------------------------------------------------------------------------------


def test_the_named_python_loads_the_file(
    programs: EvalProject, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_venv(tmp_path / "named")
    monkeypatch.setenv("REEVAL_PYTHON", str(tmp_path / "named/bin/python"))

    assert rules_of(collect(programs.file(RECORDED))) == f"{tmp_path}/named no uv"


def test_the_project_s_venv_loads_the_file(programs: EvalProject) -> None:
    programs.write("pyproject.toml", "")
    make_venv(programs.directory / ".venv")

    assert rules_of(collect(programs.file(RECORDED))) == f"{programs.directory}/.venv no uv"


def test_our_own_python_loads_the_file_when_the_host_s_has_no_reeval_python(
    programs: EvalProject, capsys: pytest.CaptureFixture[str]
) -> None:
    program(programs, "bin/python3", f'exec "{sys.executable}" -S "$@"\n')

    assert rules_of(collect(programs.file(RECORDED))) == f"{sys.prefix} no uv"
    assert capsys.readouterr().err == ""


def test_the_host_s_python_loads_the_file_when_it_can(programs: EvalProject) -> None:
    program(programs, "bin/python3", f'UV="the host\'s" exec "{sys.executable}" "$@"\n')

    assert rules_of(collect(programs.file(RECORDED))) == f"{sys.prefix} the host's"


def test_uv_is_told_the_project_and_starts_in_it(programs: EvalProject) -> None:
    programs.write("pyproject.toml", "")
    program(
        programs,
        "bin/uv",
        'test "$1 $2 $3 $4 $5 $6" = "run --project $PWD python -m reeval_python" || exit 1\n'
        f'shift 4; UV="by uv" exec "{sys.executable}" "$@"\n',
    )

    assert rules_of(collect(programs.file(RECORDED))) == f"{sys.prefix} by uv"


def test_a_venv_without_reeval_python_is_not_passed_over(programs: EvalProject) -> None:
    program(programs, ".venv/bin/python", f'exec "{sys.executable}" -S "$@"\n')
    programs.write("pyproject.toml", "")

    said = programs.refusal("", candidates=None)

    assert said == (
        "reeval-python is not installed for ~/.venv/bin/python "
        "(install it: ~/.venv/bin/python -m pip install 'reeval-python==0.14.*'; "
        "or name another Python in REEVAL_PYTHON)"
    )


def test_a_broken_venv_is_said(programs: EvalProject) -> None:
    (programs.directory / ".venv/bin").mkdir(parents=True)
    (programs.directory / ".venv/bin/python").symlink_to("/nowhere/python3")

    said = programs.refusal("", candidates=None)

    assert said.startswith("~/.venv/bin/python, which is to load it, cannot be started: No such file or directory")


# The root ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("marker", ["pyproject.toml", ".git/HEAD", ".git"])
def test_the_root_is_the_nearest_directory_with_a_mark(project: EvalProject, marker: str) -> None:
    project.write("pyproject.toml", "")
    project.write(f"inner/{marker}", "")

    assert project_root(project.file("", path="inner/evals/x.eval.py")) == project.directory / "inner"
    assert project_root(project.file("", path="evals/x.eval.py")) == project.directory


def test_a_relative_file_has_an_absolute_root(project: EvalProject, monkeypatch: pytest.MonkeyPatch) -> None:
    project.write("pyproject.toml", "")
    project.file("")
    monkeypatch.chdir(project.directory / "evals")

    assert project_root(Path("x.eval.py")) == Path(os.getcwd()).parent  # noqa: PTH109 - what chdir made of it
