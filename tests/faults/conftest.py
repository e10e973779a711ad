"""A project of a user's and the command to build it with."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.support.cli import ReevalBuild, end_sandboxes
from tests.support.projects import Project

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path / "project")


@pytest.fixture
def reeval(tmp_path: Path, project: Project) -> Iterator[ReevalBuild]:
    reeval = ReevalBuild(project.directory, tmp_path / "store")
    yield reeval
    end_sandboxes(reeval.store)
