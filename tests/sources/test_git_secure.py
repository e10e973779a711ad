"""https and SSH: whom we talk to, and who we are."""

from __future__ import annotations

import getpass
import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pygit2
import pytest

from reeval_build.sources.git_errors import AccessRefusedError, NoRepositoryError
from reeval_build.tree.directory import Kind
from tests.sources.conftest import at
from tests.sources.servers import git_over_http, make_certificate, ssh_server, tls_with

if TYPE_CHECKING:
    from collections.abc import Iterator

    from reeval_build.sources.git import GitRepositories
    from tests.sources.conftest import Reader
    from tests.sources.repository import Repository
    from tests.sources.servers import GitOverHttp, SshServer

TOKEN = "s3cret-t0ken"
SSHD = shutil.which("sshd", path=f"{os.environ.get('PATH', os.defpath)}:/usr/sbin")


@pytest.fixture
def certificate(tmp_path: Path) -> Path:
    """A certificate for loopback, with its key, that nobody has signed."""
    return make_certificate(tmp_path)


@pytest.fixture
def https(repository: Repository, certificate: Path) -> Iterator[GitOverHttp]:
    repository.commit_files({"a": b"x"})
    with git_over_http(repository.path.parent, TOKEN, tls_with(certificate)) as server:
        yield server


def test_a_token_goes_over_https(
    read: Reader, https: GitOverHttp, certificate: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("APP_TOKEN", TOKEN)
    pygit2.settings.set_ssl_cert_locations(str(certificate), None)

    assert read(at(f"{https.url}/private/app", token="APP_TOKEN")) == {b"a": (Kind.FILE, b"x")}


def test_a_host_that_cannot_prove_who_it_is_gets_no_token(
    git: GitRepositories, https: GitOverHttp, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("APP_TOKEN", TOKEN)

    with pytest.raises(AccessRefusedError, match=r"127\.0\.0\.1 cannot prove who it is"):
        git.resolve(at(f"{https.url}/private/app", token="APP_TOKEN"))

    assert https.requests == []
    assert https.seen == []


@pytest.fixture
def ssh(repository: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[SshServer]:
    """A server that takes the key `client`, which nobody has yet."""
    if SSHD is None or not Path("/run/sshd").is_dir():
        pytest.skip("sshd is not installed")
    repository.commit_files({"a": b"x"})
    home = tmp_path / "home"
    (home / ".ssh").mkdir(parents=True)
    monkeypatch.setenv("HOME", str(home))
    before = pygit2.settings.homedir
    pygit2.settings.homedir = str(home)
    with ssh_server(SSHD, tmp_path) as server:
        yield server
    pygit2.settings.homedir = before or ""


def address(ssh: SshServer, path: Path) -> str:
    return f"ssh://{getpass.getuser()}@127.0.0.1:{ssh.port}{path}"


def test_a_key_in_the_home_directory_opens_a_repository_over_ssh(
    read: Reader, ssh: SshServer, repository: Repository, tmp_path: Path
) -> None:
    ssh.trust_host(tmp_path / "home")
    shutil.copy(ssh.other_key, tmp_path / "home/.ssh/id_ecdsa")
    shutil.copy(ssh.client_key, tmp_path / "home/.ssh/id_rsa")

    assert read(at(address(ssh, repository.path))) == {b"a": (Kind.FILE, b"x")}
    with pytest.raises(NoRepositoryError):
        read(at(address(ssh, tmp_path / "nope")))


def test_an_ssh_host_that_nobody_knows_is_refused(
    git: GitRepositories, ssh: SshServer, repository: Repository, tmp_path: Path
) -> None:
    shutil.copy(ssh.client_key, tmp_path / "home/.ssh/id_rsa")

    with pytest.raises(AccessRefusedError) as caught:
        git.resolve(at(address(ssh, repository.path)))

    assert caught.value.hint is not None
    assert "known_hosts" in caught.value.hint


def test_without_a_key_that_the_host_takes_access_is_refused(
    git: GitRepositories, ssh: SshServer, repository: Repository, tmp_path: Path
) -> None:
    ssh.trust_host(tmp_path / "home")
    shutil.copy(ssh.other_key, tmp_path / "home/.ssh/id_ecdsa")

    with pytest.raises(AccessRefusedError, match="takes none of the keys"):
        git.resolve(at(address(ssh, repository.path)))
