"""Repositories, a store, and what reads the one into the other."""

from __future__ import annotations

import os
import shutil
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

import attrs
import pygit2
import pytest
from pygit2.enums import ConfigLevel

from reeval_build.model.spec import GitWorkspace
from reeval_build.sources.freshness import Freshness
from reeval_build.sources.git import GitRepositories
from reeval_build.stores.local import LocalStore
from tests.sources.repository import Repository
from tests.sources.trees import Shown, show
from tests.support.memory_store import MemoryStats

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from reeval_build.digest import Digest
    from reeval_build.ports.objects import Objects
    from reeval_build.ports.stats import StatCache


@pytest.fixture(autouse=True)
def isolated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No configuration, proxy or SSH agent of whoever runs the tests."""
    for level in (ConfigLevel.GLOBAL, ConfigLevel.XDG, ConfigLevel.SYSTEM, ConfigLevel.PROGRAMDATA):
        pygit2.settings.search_path[level] = str(tmp_path / "no-config")
    for name in ("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "all_proxy", "SSH_AUTH_SOCK"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "no-home"))


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    """An empty repository at `served/app`."""
    return Repository(tmp_path / "served" / "app")


@attrs.frozen
class History:
    """A repository made once, and its commits, oldest first."""

    repository: Repository
    commits: tuple[str, ...]

    def copy_to(self, repository: Repository) -> tuple[str, ...]:
        shutil.rmtree(repository.path)
        shutil.copytree(self.repository.path, repository.path, symlinks=True)
        return self.commits


@pytest.fixture(scope="session")
def made_history(tmp_path_factory: pytest.TempPathFactory) -> History:
    made = Repository(tmp_path_factory.mktemp("history") / "app")
    commits = tuple(made.commit_files({"d/a": b"%d" % number, "b": b"x"}) for number in range(4))
    made.git("tag", "light", commits[1])
    made.git("tag", "--annotate", "--message", "one", "v1.0.0", commits[1])
    made.git("tag", "--annotate", "--message", "a tag of a tag", "twice", "v1.0.0")
    made.git("branch", "side", commits[2])
    made.git("branch", "feature/x", commits[2])
    return History(made, commits)


@pytest.fixture
def history(repository: Repository, made_history: History) -> tuple[str, ...]:
    """Gives `repository` four commits: the second has tags, the third branches, and the last is `main`."""
    return made_history.copy_to(repository)


@pytest.fixture
def objects(tmp_path: Path) -> Iterator[Objects]:
    with LocalStore(tmp_path / "store") as store:
        yield store.objects


@pytest.fixture
def git(tmp_path: Path) -> GitRepositories:
    return GitRepositories(tmp_path / "cache", timeout_s=30)


def knowing_nothing() -> Freshness:
    """No file was read before."""
    return Freshness(MemoryStats())


def an_hour_later(cache: StatCache) -> Freshness:
    """Takes files that were written a moment ago for settled ones."""
    return Freshness(cache, clock=lambda: time.time_ns() + 3600 * 10**9)


@contextmanager
def without_privileges() -> Iterator[None]:
    """Root may read everything; then be nobody for a while."""
    root = os.geteuid() == 0
    if root:
        os.seteuid(65534)
    try:
        yield
    finally:
        if root:
            os.seteuid(0)


class Reader:
    """Resolves and reads workspaces in one go, each as in a run of its own."""

    def __init__(self, cache: Path, objects: Objects) -> None:
        self._cache = cache
        self._objects = objects

    def digest(self, workspace: GitWorkspace) -> Digest:
        git = GitRepositories(self._cache, timeout_s=30)
        resolved = git.resolve(workspace)
        with self._objects.batch() as batch:
            return git.read(workspace, resolved, batch)

    def __call__(self, workspace: GitWorkspace) -> Shown:
        return show(self._objects, self.digest(workspace))


@pytest.fixture
def read(tmp_path: Path, objects: Objects) -> Reader:
    return Reader(tmp_path / "cache", objects)


def at(where: Path | str | Repository, ref: str | None = None, **fields: object) -> GitWorkspace:
    """A workspace as an author writes it, whose URL is what they wrote."""
    url = str(where.path if isinstance(where, Repository) else where)
    return GitWorkspace(repo=url, url=url, ref=ref, **fields)  # type: ignore[arg-type]
