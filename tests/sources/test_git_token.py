"""A token goes to the host that the author named, and nowhere else."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from reeval_build.sources.git_credentials import may_see_token
from reeval_build.sources.git_errors import AccessRefusedError, TokenNotSetError
from reeval_build.tree.directory import Kind
from tests.sources.conftest import at
from tests.sources.servers import git_over_http

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from reeval_build.sources.git import GitRepositories
    from tests.sources.conftest import Reader
    from tests.sources.repository import Repository
    from tests.sources.servers import GitOverHttp

TOKEN = "s3cret-t0ken"


@pytest.fixture
def server(repository: Repository) -> Iterator[GitOverHttp]:
    repository.commit_files({"a": b"1"})
    repository.commit_files({"a": b"2"})
    with git_over_http(repository.path.parent, TOKEN) as server:
        yield server


def test_the_variable_s_value_opens_the_repository(
    read: Reader, server: GitOverHttp, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("APP_TOKEN", TOKEN)

    assert read(at(f"{server.url}/private/app", token="APP_TOKEN")) == {b"a": (Kind.FILE, b"2")}


def test_history_can_be_fetched_with_it_too(
    read: Reader, server: GitOverHttp, repository: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("APP_TOKEN", TOKEN)
    older = repository.git("rev-parse", "HEAD~1")

    assert read(at(f"{server.url}/private/app", older, token="APP_TOKEN")) == {b"a": (Kind.FILE, b"1")}


@pytest.mark.conforms("70")
def test_it_is_written_nowhere(
    git: GitRepositories, server: GitOverHttp, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("APP_TOKEN", TOKEN)

    resolved = git.resolve(at(f"{server.url}/private/app", token="APP_TOKEN"))

    assert TOKEN not in repr(resolved)
    for path in (tmp_path / "cache").rglob("*"):
        assert not path.is_file() or TOKEN.encode() not in path.read_bytes()
    assert not any(TOKEN in request for request in server.requests)


@pytest.mark.conforms("70")
@pytest.mark.timeout(20)
def test_a_wrong_token_is_offered_once_and_not_shown(
    git: GitRepositories, server: GitOverHttp, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("APP_TOKEN", "wr0ng")

    with pytest.raises(AccessRefusedError) as caught:
        git.resolve(at(f"{server.url}/private/app", token="APP_TOKEN"))

    assert "does not take the token in APP_TOKEN" in caught.value.message
    assert "wr0ng" not in str(caught.value)
    assert len(server.seen) == 1


@pytest.mark.parametrize("value", [None, ""])
def test_a_variable_that_is_not_set_is_named(
    git: GitRepositories, server: GitOverHttp, monkeypatch: pytest.MonkeyPatch, value: str | None
) -> None:
    if value is None:
        monkeypatch.delenv("APP_TOKEN", raising=False)
    else:
        monkeypatch.setenv("APP_TOKEN", value)

    with pytest.raises(TokenNotSetError, match="APP_TOKEN, which is not set or empty"):
        git.resolve(at(f"{server.url}/private/app", token="APP_TOKEN"))

    assert server.requests == []


def test_a_private_repository_without_a_token_tells_the_way_out(git: GitRepositories, server: GitOverHttp) -> None:
    with pytest.raises(AccessRefusedError) as caught:
        git.resolve(at(f"{server.url}/private/app"))

    assert caught.value.hint is not None
    assert "token=" in caught.value.hint


def test_a_redirection_to_another_host_does_not_get_it(
    git: GitRepositories, server: GitOverHttp, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("APP_TOKEN", TOKEN)

    with pytest.raises(AccessRefusedError, match="another address"):
        git.resolve(at(f"{server.url}/moved/app", token="APP_TOKEN"))

    assert server.seen == []


def test_a_known_commit_needs_no_token(
    git: GitRepositories, server: GitOverHttp, repository: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    workspace = at(f"{server.url}/private/app", repository.git("rev-parse", "HEAD"), token="APP_TOKEN")
    monkeypatch.setenv("APP_TOKEN", TOKEN)
    resolved = git.resolve(workspace)
    monkeypatch.delenv("APP_TOKEN")

    assert git.resolve(workspace) == resolved


@pytest.mark.parametrize(
    ("asking", "meant"),
    [
        ("https://host/app", "https://host/app.git"),
        ("https://host:8443/a", "https://host:8443/a"),
        ("http://127.0.0.1:80/a", "http://127.0.0.1:80/a"),
    ],
)
def test_the_named_host_may_see_it(asking: str, meant: str) -> None:
    assert may_see_token(asking, meant)


@pytest.mark.parametrize(
    ("asking", "meant"),
    [
        ("http://host/a", "http://host/a"),
        ("http://host/a", "https://host/a"),
        ("https://host:8443/a", "https://host/a"),
        ("https://evil/a", "https://host/a"),
        ("https://host.evil/a", "https://host/a"),
        ("https://host@evil/a", "https://host/a"),
    ],
)
def test_no_other_host_nor_an_open_line_may_see_it(asking: str, meant: str) -> None:
    assert not may_see_token(asking, meant)
