"""Repositories on servers: what is asked for, what is fetched, what is said when it does not work."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import attrs
import pytest

from reeval_build.errors import InfraError
from reeval_build.sources.git import GitRepositories
from reeval_build.sources.git_errors import (
    AccessRefusedError,
    EmptyRepositoryError,
    FetchCacheError,
    HostAwayError,
    NoRepositoryError,
    NoSuchPathError,
    NoSuchRefError,
    UnsupportedRepositoryError,
    UnusableRefError,
)
from reeval_build.tree.directory import Kind
from tests.sources.conftest import at, without_privileges
from tests.sources.repository import Repository, run_git
from tests.sources.servers import git_daemon, git_over_http, silent_server
from tests.sources.trees import show

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from reeval_build.ports.objects import Objects
    from tests.sources.conftest import Reader

NOWHERE = "git://127.0.0.1:1/app"


@pytest.fixture(params=["git", "http"])
def server(request: pytest.FixtureRequest, repository: Repository) -> Iterator[str]:
    """The URL under which `repository` is served, as `app`."""
    root = repository.path.parent
    if request.param == "git":
        with git_daemon(root) as url:
            yield url
    else:
        with git_over_http(root) as http:
            yield http.url


@pytest.fixture
def url(server: str) -> str:
    return f"{server}/app"


def fetched(tmp_path: Path) -> Path:
    """The one repository in the cache."""
    (home,) = (tmp_path / "cache").iterdir()
    return home / "repository"


@pytest.mark.conforms("58")
@pytest.mark.parametrize(
    ("ref", "which"),
    [(None, 3), ("HEAD", 3), ("main", 3), ("side", 2), ("refs/heads/side", 2), ("light", 1), ("v1.0.0", 1)],
)
def test_a_name_is_looked_up_on_the_server(
    git: GitRepositories, url: str, history: tuple[str, ...], ref: str | None, which: int
) -> None:
    assert git.resolve(at(url, ref)).commit == history[which]


def test_a_fetched_tree_is_the_same_as_a_local_one(
    read: Reader, repository: Repository, url: str, history: tuple[str, ...]
) -> None:
    assert read.digest(at(url)) == read.digest(at(repository))
    assert read(at(url, "side", path="d")) == {b"a": (Kind.FILE, b"2")}


@pytest.mark.conforms("60")
def test_two_urls_with_equal_trees_resolve_alike(
    git: GitRepositories, repository: Repository, server: str, history: tuple[str, ...]
) -> None:
    repository.git("clone", "--quiet", "--bare", ".", "../mirror")

    one, two = git.resolve(at(f"{server}/app")), git.resolve(at(f"{server}/mirror"))

    assert one == two
    assert one.repository != two.repository


def test_only_one_commit_is_fetched(git: GitRepositories, url: str, history: tuple[str, ...], tmp_path: Path) -> None:
    git.resolve(at(url))

    assert run_git(fetched(tmp_path), "rev-list", "--all").split() == [history[3].encode()]


@pytest.mark.parametrize("allowed", ["true", "false"])
@pytest.mark.parametrize("digits", [40, 10])
def test_a_commit_that_no_reference_leads_to_directly_is_found(
    git: GitRepositories, repository: Repository, url: str, history: tuple[str, ...], digits: int, allowed: str
) -> None:
    repository.git("config", "uploadpack.allowAnySHA1InWant", allowed)

    assert git.resolve(at(url, history[0][:digits])).commit == history[0]


@pytest.mark.parametrize("digits", [40, 10])
def test_a_commit_that_is_a_tip_is_fetched_alone(
    git: GitRepositories, url: str, history: tuple[str, ...], tmp_path: Path, digits: int
) -> None:
    assert git.resolve(at(url, history[2][:digits])).commit == history[2]
    assert run_git(fetched(tmp_path), "rev-list", "--all").split() == [history[2].encode()]


def test_the_id_of_a_tag_stands_for_its_commit(
    git: GitRepositories, repository: Repository, url: str, history: tuple[str, ...]
) -> None:
    tag = repository.git("rev-parse", "v1.0.0")

    for _ in range(2):
        assert git.resolve(at(url, tag)).commit == history[1]


def test_the_id_of_a_file_is_no_commit(
    git: GitRepositories, repository: Repository, url: str, history: tuple[str, ...]
) -> None:
    blob = repository.git("rev-parse", "main:b")

    with pytest.raises(UnusableRefError):
        git.resolve(at(url, blob))


def test_of_a_tag_and_a_branch_of_one_name_the_tag_is_meant(
    git: GitRepositories, repository: Repository, url: str, history: tuple[str, ...]
) -> None:
    repository.git("tag", "side", history[0])

    assert git.resolve(at(url, "side")).commit == history[0]


def test_a_ref_that_looks_like_an_option_is_a_name(
    git: GitRepositories, repository: Repository, url: str, history: tuple[str, ...]
) -> None:
    repository.git("update-ref", "refs/heads/--upload-pack=touch", history[0])

    assert git.resolve(at(url, "--upload-pack=touch")).commit == history[0]


def test_a_branch_that_moved_is_followed_and_only_what_is_new_is_fetched(
    read: Reader, repository: Repository, url: str, tmp_path: Path
) -> None:
    large = bytes(range(256)) * 5000
    repository.git("config", "core.compression", "0")
    repository.commit_files({"large": large, "a": b"1"})
    read(at(url))
    packs = set((fetched(tmp_path) / "objects/pack").glob("*.pack"))
    repository.commit_files({"large": large, "a": b"2"})

    assert read(at(url)) == {b"large": (Kind.FILE, large), b"a": (Kind.FILE, b"2")}

    (new,) = set((fetched(tmp_path) / "objects/pack").glob("*.pack")) - packs
    assert new.stat().st_size < 2000


def test_any_order_of_shallow_and_whole_fetches_leaves_whole_trees(
    read: Reader, repository: Repository, url: str, history: tuple[str, ...], tmp_path: Path
) -> None:
    for ref, expected in [("side", 2), (history[0], 0), (None, 3), (history[1][:9], 1), ("v1.0.0", 1)]:
        assert read(at(url, ref))[b"d/a"] == (Kind.FILE, b"%d" % expected)
    newer = repository.commit_files({"new": b""})
    rewritten = repository.git("commit-tree", "-m", "no parents", "HEAD^{tree}")
    repository.git("update-ref", "refs/heads/side", rewritten)

    assert read(at(url)) == {b"new": (Kind.FILE, b"")}
    assert read(at(url, "side")) == {b"new": (Kind.FILE, b"")}
    run_git(fetched(tmp_path), "fsck", "--full", "--connectivity-only", newer)


def test_a_commit_that_is_known_needs_no_server(git: GitRepositories, objects: Objects, repository: Repository) -> None:
    commit = repository.commit_files({"a": b"x"})
    with git_daemon(repository.path.parent) as server:
        resolved = git.resolve(at(f"{server}/app", commit))

    workspace = at(f"{server}/app", commit)
    assert git.resolve(workspace) == resolved
    with objects.batch() as batch:
        digest = git.read(workspace, resolved, batch)
    assert show(objects, digest) == {b"a": (Kind.FILE, b"x")}
    with pytest.raises(HostAwayError):
        git.resolve(at(f"{server}/app", "main"))


def test_what_was_resolved_is_fetched_again_when_the_cache_is_gone(
    git: GitRepositories, objects: Objects, repository: Repository, url: str, tmp_path: Path
) -> None:
    repository.commit_files({"a": b"then"})
    resolved = git.resolve(at(url))
    repository.commit_files({"a": b"now"})
    shutil.rmtree(tmp_path / "cache")

    with objects.batch() as batch:
        digest = git.read(at(url), attrs.evolve(resolved, repository=None), batch)

    assert show(objects, digest) == {b"a": (Kind.FILE, b"then")}


def test_the_cache_says_nothing_of_where_it_came_from(
    git: GitRepositories, url: str, history: tuple[str, ...], tmp_path: Path
) -> None:
    git.resolve(at(url))

    assert "remote" not in (fetched(tmp_path) / "config").read_text()
    assert not (fetched(tmp_path) / "FETCH_HEAD").exists()
    assert sorted(path.name for path in fetched(tmp_path).parent.iterdir()) == ["lock", "repository"]


@pytest.mark.parametrize("ref", ["nope", "main~1", "f" * 40, "ffff", "a b"])
def test_what_is_no_ref_is_said_to_be_none(git: GitRepositories, url: str, history: tuple[str, ...], ref: str) -> None:
    with pytest.raises(NoSuchRefError) as caught:
        git.resolve(at(url, ref))

    assert caught.value.message == f'git("{url}") has no branch, tag or commit "{ref}"'


def test_a_path_that_is_not_there_is_said_so(git: GitRepositories, url: str, history: tuple[str, ...]) -> None:
    with pytest.raises(NoSuchPathError):
        git.resolve(at(url, path="nope"))


def test_an_empty_repository_is_said_to_be_empty(git: GitRepositories, url: str) -> None:
    with pytest.raises(EmptyRepositoryError):
        git.resolve(at(url))


def test_a_head_that_names_no_commit_is_said_so(
    git: GitRepositories, repository: Repository, url: str, history: tuple[str, ...]
) -> None:
    repository.git("symbolic-ref", "HEAD", "refs/heads/unborn")

    with pytest.raises(NoSuchRefError, match="HEAD that names no commit"):
        git.resolve(at(url))


def test_a_repository_that_is_not_served_is_said_so(git: GitRepositories, server: str) -> None:
    with pytest.raises(NoRepositoryError) as caught:
        git.resolve(at(f"{server}/nope"))

    assert caught.value.message.startswith(f'git("{server}/nope") is not there')


def test_a_sha256_repository_is_said_to_be_unsupported(git: GitRepositories, server: str, tmp_path: Path) -> None:
    Repository(tmp_path / "served/new", "--object-format=sha256").commit_files({"a": b""})

    with pytest.raises(UnsupportedRepositoryError):
        git.resolve(at(f"{server}/new"))


@pytest.mark.parametrize(
    ("url", "reason"),
    [
        (NOWHERE, "refused"),
        ("http://127.0.0.1:1/app", "refused"),
        ("ssh://git@127.0.0.1:1/app", "refused"),
        ("git://host.invalid/app", "resolve"),
        ("git@host.invalid:app", "resolve"),
    ],
)
def test_a_server_that_is_away_is_said_so(git: GitRepositories, url: str, reason: str) -> None:
    with pytest.raises(HostAwayError) as caught:
        git.resolve(at(url))

    assert reason in caught.value.reason
    assert caught.value.message.startswith(f'git("{url}") cannot be reached')


@pytest.mark.timeout(20)
@pytest.mark.parametrize("scheme", ["git", "http", "https", "ssh"])
def test_a_server_that_says_nothing_is_given_up(tmp_path: Path, scheme: str) -> None:
    with silent_server() as port, pytest.raises(HostAwayError) as caught:
        GitRepositories(tmp_path / "cache", timeout_s=0.5).resolve(at(f"{scheme}://127.0.0.1:{port}/app"))

    assert caught.value.reason == "its host did not answer for 0.5 s"


@pytest.mark.parametrize(
    ("status", "error"),
    [(404, NoRepositoryError), (403, AccessRefusedError), (500, HostAwayError), (418, InfraError)],
)
def test_each_answer_of_a_server_has_its_own_error(
    git: GitRepositories, tmp_path: Path, status: int, error: type[InfraError]
) -> None:
    with git_over_http(tmp_path) as server, pytest.raises(error) as caught:
        git.resolve(at(f"{server.url}/status/{status}"))

    assert str(status) in caught.value.message


def test_a_cache_that_cannot_be_written_is_said_so(tmp_path: Path) -> None:
    tmp_path.chmod(0o555)

    with without_privileges(), pytest.raises(FetchCacheError):
        GitRepositories(tmp_path / "cache").resolve(at(NOWHERE))
