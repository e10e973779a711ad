"""A reader's machine, and the quickstart as a reader has it."""

from __future__ import annotations

import shutil
import subprocess
from typing import TYPE_CHECKING

import pytest

from tests.docs.pages import QUICKSTART
from tests.docs.sessions import environment

if TYPE_CHECKING:
    from pathlib import Path

_MADE_BY_USE = shutil.ignore_patterns(".git", ".venv", "build", "__pycache__")
_TO_REPOSITORY = """
git init --quiet
git add --all
git commit --quiet --message "shelf 1.0.0"
git tag v1.0.0
"""


@pytest.fixture
def reader(tmp_path: Path) -> dict[str, str]:
    """The environment in which a reader's commands run."""
    machine = tmp_path / "machine"
    machine.mkdir()
    return environment(machine)


@pytest.fixture
def quickstart(tmp_path: Path, reader: dict[str, str]) -> Path:
    """A copy of the quickstart whose project is a git repository."""
    directory = tmp_path / "quickstart"
    shutil.copytree(QUICKSTART, directory, ignore=_MADE_BY_USE)
    subprocess.run(["sh", "-ec", _TO_REPOSITORY], cwd=directory / "project", env=reader, check=True)
    return directory
