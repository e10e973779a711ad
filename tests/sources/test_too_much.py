"""Sources with more in them than a reader takes: refused by what they say of themselves, or as soon as it is seen."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from reeval_build import directory
from reeval_build.errors import DefinitionError
from reeval_build.sources.git import GitRepositories
from reeval_build.sources.git_errors import HugeRepositoryError
from reeval_build.sources.git_limits import GitLimits
from reeval_build.sources.host_files import HostFileError, HostFileReader
from reeval_build.sources.limits import Limits
from reeval_build.sources.local_place import LocalTreeError
from reeval_build.sources.local_trees import LocalDirectories
from reeval_build.sources.npm_errors import NpmPackageError
from tests.sources.conftest import at, knowing_nothing
from tests.sources.npm_world import NEEDS_NPM, npm_world
from tests.sources.servers import git_over_http

if TYPE_CHECKING:
    from pathlib import Path

    from reeval_build.model.spec import GitWorkspace
    from reeval_build.ports.objects import Objects
    from tests.sources.repository import Repository


@pytest.mark.parametrize("size", [0, 1, 1000, 1024**2 + 1])
def test_a_file_may_be_as_large_as_the_limit_and_no_larger(objects: Objects, tmp_path: Path, size: int) -> None:
    path = tmp_path / "file"
    path.write_bytes(bytes(size))

    assert HostFileReader(objects, knowing_nothing(), max_bytes=size).read(str(path)).size == size
    with path.open("ab") as file:
        file.write(b"x")
    with pytest.raises(HostFileError, match=f"has {size + 1:,} bytes, more than the {size:,} that are read"):
        HostFileReader(objects, knowing_nothing(), max_bytes=size).read(str(path))


def read_local(objects: Objects, path: Path, **limits: int) -> None:
    with objects.batch() as batch:
        LocalDirectories(objects, knowing_nothing(), limits=Limits(**limits)).read(str(path), batch)


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """Two directories, each with a file of ten bytes and a link, and what is left out."""
    root = tmp_path / "tree"
    for name in ("a", "b"):
        (root / name / ".git").mkdir(parents=True)
        (root / name / ".git" / "config").write_bytes(bytes(1000))
        (root / name / "file").write_bytes(bytes(10))
        (root / name / "link").symlink_to("file")
    return root


def test_a_directory_may_have_as_much_in_it_as_the_limits_and_no_more(objects: Objects, tree: Path) -> None:
    read_local(objects, tree, members=6, unpacked_bytes=20)

    with pytest.raises(LocalTreeError, match='has more than 5 files and directories; the one too many is "b/link"'):
        read_local(objects, tree, members=5)
    with pytest.raises(LocalTreeError, match='has more than 19 bytes in its files; the one too many is "b/file"'):
        read_local(objects, tree, unpacked_bytes=19)


def test_of_a_directory_no_more_is_listed_than_may_be_in_it(objects: Objects, tmp_path: Path) -> None:
    for number in range(50):
        (tmp_path / f"{number:02}").write_bytes(b"")

    with pytest.raises(LocalTreeError, match="has more than 3 files and directories"):
        read_local(objects, tmp_path, members=3)


def test_directory_looks_at_as_much_as_the_limit_and_at_no_more(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("c", "d"):
        (tree / name).symlink_to("b")
    # Four directories, of which two are one by way of links, with a file and a link in each.
    monkeypatch.setattr("reeval_build.model.helpers.directories._MAX_ENTRIES", 12)
    assert len(directory(str(tree))) == 8

    monkeypatch.setattr("reeval_build.model.helpers.directories._MAX_ENTRIES", 11)
    with pytest.raises(DefinitionError, match=f"more than 11 files and directories are below {tree}"):
        directory(str(tree))


def read_git(objects: Objects, tmp_path: Path, workspace: GitWorkspace, **limits: int) -> None:
    git = GitRepositories(tmp_path / "cache", limits=GitLimits(**limits))
    resolved = git.resolve(workspace)
    with objects.batch() as batch:
        git.read(workspace, resolved, batch)


@pytest.mark.parametrize("init", [False, True])
def test_a_tree_may_have_as_much_in_it_as_the_limits_and_no_more(
    objects: Objects, repository: Repository, tmp_path: Path, *, init: bool
) -> None:
    repository.commit_files({"a/x": b"1234", "b/x": b"1234", "b/y": b"12", "c/x": b"1234"})
    workspace = at(repository, init=init)

    read_git(objects, tmp_path, workspace, entries=7, total_bytes=14)

    with pytest.raises(HugeRepositoryError, match='more than 6 files and directories, counted to "c"'):
        read_git(objects, tmp_path, workspace, entries=6)
    with pytest.raises(HugeRepositoryError, match='more than 13 bytes in its files, counted to "c"'):
        read_git(objects, tmp_path, workspace, total_bytes=13)
    read_git(objects, tmp_path, at(repository, path="b", init=init), entries=2, total_bytes=6)


@pytest.mark.parametrize("packed", [False, True])
def test_an_object_that_is_too_large_is_refused_unread(
    objects: Objects, repository: Repository, tmp_path: Path, *, packed: bool
) -> None:
    repository.commit_files({"large": bytes(2_000_000)})
    if packed:
        repository.git("gc", "--quiet")

    read_git(objects, tmp_path, at(repository), object_bytes=2_000_000)
    with pytest.raises(
        HugeRepositoryError, match="needs an object of 2,000,000 bytes, more than the 1,999,999 allowed"
    ):
        read_git(objects, tmp_path, at(repository), object_bytes=1_999_999)


def test_a_host_may_send_so_much_and_no_more(objects: Objects, repository: Repository, tmp_path: Path) -> None:
    repository.git("config", "core.compression", "0")
    repository.commit_files({f"{number}": bytes([number]) * 50_000 for number in range(20)})
    with git_over_http(repository.path.parent) as server:
        with pytest.raises(HugeRepositoryError, match="sends more than the 100,000 bytes allowed"):
            read_git(objects, tmp_path, at(f"{server.url}/app"), received_bytes=100_000)
        assert not list((tmp_path / "cache").rglob("*.pack"))
        read_git(objects, tmp_path, at(f"{server.url}/app"), received_bytes=2_000_000)


@NEEDS_NPM
def test_a_directory_that_npm_does_not_read_to_its_end_is_given_up(
    objects: Objects, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    packed = tmp_path / "packed"
    packed.mkdir()
    (packed / "package.json").write_text('{"name": "huge", "version": "1.0.0"}')
    with (packed / "data").open("wb") as file:
        file.truncate(1024**4)

    with npm_world(tmp_path, objects, monkeypatch) as world, pytest.raises(NpmPackageError) as caught:
        world.packages(timeout_s=3).resolve(f"file:{packed}")

    assert f'npm package "file:{packed}" ' in str(caught.value)
    assert not [path for path in (tmp_path / "cache").rglob("*") if path.is_file() and path.stat().st_size > 1000]
