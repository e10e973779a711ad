"""A project of a user's and the command to build it with."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.support.cli import ReevalBuild
from tests.support.projects import Project

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path / "project")


@pytest.fixture
def reeval(tmp_path: Path, project: Project) -> ReevalBuild:
    return ReevalBuild(project.directory, tmp_path / "store")
