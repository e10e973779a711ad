"""Several processes fetch at once, and some are killed."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pytest

from reeval_build.tree.directory import Kind
from tests.sources.conftest import at
from tests.sources.repository import run_git
from tests.sources.servers import git_daemon, stalling_proxy

if TYPE_CHECKING:
    from tests.sources.conftest import Reader
    from tests.sources.repository import Repository

_RESOLVE: Final = """\
import sys
from pathlib import Path
from reeval_build.model.spec import GitWorkspace
from reeval_build.sources.git import GitRepositories
url = sys.argv[2]
print(GitRepositories(Path(sys.argv[1])).resolve(GitWorkspace(repo=url, url=url)).commit)
"""


def start(cache: Path, url: str) -> subprocess.Popen[bytes]:
    """A process that resolves the HEAD of `url` and prints the commit."""
    command = [sys.executable, "-c", _RESOLVE, str(cache), url]
    return subprocess.Popen(command, stdout=subprocess.PIPE, cwd=Path(__file__).parents[2])


def noise(repository: Repository, seed: int) -> bytes:
    """Bytes that no compressor makes smaller."""
    return bytes.fromhex("".join(repository.make_object("blob", b"%d" % (seed + number)) for number in range(50))) * 500


def test_processes_that_fetch_one_url_at_once_fetch_it_once(repository: Repository, tmp_path: Path) -> None:
    commit = repository.commit_files({"a": noise(repository, 0)})
    with git_daemon(repository.path.parent) as server:
        processes = [start(tmp_path / "cache", f"{server}/app") for _ in range(4)]
        printed = {process.communicate()[0].decode().strip() for process in processes}

    assert printed == {commit}
    (home,) = (tmp_path / "cache").iterdir()
    assert sorted(path.name for path in home.iterdir()) == ["lock", "repository"]
    assert len(list((home / "repository/objects/pack").glob("*.pack"))) == 1


@pytest.mark.parametrize("before", [0, 1], ids=["first fetch", "later fetch"])
@pytest.mark.parametrize("after_bytes", [0, 400, 5_000, 300_000])
def test_a_fetch_that_was_killed_does_not_stand_in_the_way(
    read: Reader, repository: Repository, tmp_path: Path, before: int, after_bytes: int
) -> None:
    repository.git("config", "core.compression", "0")
    repository.commit_files({"a": b"1"})
    with git_daemon(repository.path.parent) as server, stalling_proxy(server) as proxy:
        url = f"{proxy.url}/app"
        for _ in range(before):
            read(at(url))
        data = noise(repository, 100)
        repository.commit_files({"a": b"2", "b": data})
        proxy.limit = after_bytes
        with start(tmp_path / "cache", url) as process:
            assert proxy.stalled.wait(30)
            process.send_signal(signal.SIGKILL)
        proxy.limit = float("inf")

        assert read(at(url)) == {b"a": (Kind.FILE, b"2"), b"b": (Kind.FILE, data)}

    (home,) = (tmp_path / "cache").iterdir()
    assert sorted(path.name for path in home.iterdir()) == ["lock", "repository"]
    run_git(home / "repository", "fsck", "--full")
