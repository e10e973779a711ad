"""A private container engine for every test in this directory, and what happens where there can be none.

`REEVAL_BUILD_TEST_ENGINE` says which: `auto` (the default) skips these tests on a machine that cannot run a private
engine, `required` fails them instead, and `off` skips them everywhere. An engine that is there already is never used:
tests remove all that is in theirs.
"""

from __future__ import annotations

import os
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import docker
import pytest

from tests.support.engine import EngineError, PrivateEngine, obstacle, restore_base_images, running
from tests.support.projects import Project

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator

_HERE = Path(__file__).parent
_MODES = ("auto", "off", "required")
# The first test of a machine also waits for the base images to be made.
_TIMEOUT_S = 900


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests of this directory, and skip them where there can be no engine."""
    reason = _reason_to_skip()
    for item in items:
        if item.path.is_relative_to(_HERE):
            item.add_marker(pytest.mark.engine)
            if item.get_closest_marker("timeout") is None:
                item.add_marker(pytest.mark.timeout(_TIMEOUT_S))
            if reason:
                item.add_marker(pytest.mark.skip(reason=reason))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Fail a test that is skipped, for whatever reason, where an engine is required."""
    report = yield
    if report.skipped and call.excinfo and not hasattr(report, "wasxfail") and _mode() == "required":
        report.outcome = "failed"
        report.longrepr = f"{item.nodeid} was skipped, but an engine is required: {call.excinfo.value}"
    return report


@pytest.fixture(scope="session")
def engine() -> Iterator[PrivateEngine]:
    """A private engine with base images and a registry; it and all that is in it is gone after the last test."""
    try:
        with running() as started:
            yield started
    except EngineError as error:
        pytest.fail(f"no engine for the tests: {error}", pytrace=False)


@pytest.fixture
def client(engine: PrivateEngine) -> Iterator[docker.DockerClient]:
    """The engine, by its own SDK."""
    with closing(docker.DockerClient(base_url=engine.url)) as made:
        yield made


@pytest.fixture
def project(tmp_path: Path) -> Project:
    """A project of a user's."""
    return Project(tmp_path / "project")


@pytest.fixture(autouse=True)
def _base_images(engine: PrivateEngine) -> None:
    """Start each test with the base images, whatever the one before it removed."""
    restore_base_images(engine)


def _mode() -> str:
    mode = os.environ.get("REEVAL_BUILD_TEST_ENGINE", "auto")
    if mode not in _MODES:
        raise pytest.UsageError(f"REEVAL_BUILD_TEST_ENGINE is {mode!r}: use one of {', '.join(_MODES)}")
    return mode


def _reason_to_skip() -> str | None:
    match _mode():
        case "off":
            return "engine tests are switched off by REEVAL_BUILD_TEST_ENGINE=off"
        case "auto":
            return obstacle()
        case _:
            return None
