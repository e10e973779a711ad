"""What a repository must not have, and repositories that cannot be read."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from reeval_build.digest import BLOB
from reeval_build.errors import InfraError
from reeval_build.sources.git_errors import (
    LostGitObjectError,
    NoRepositoryError,
    RefusedTreeError,
    UnsupportedRepositoryError,
)
from tests.sources.conftest import at, without_privileges
from tests.sources.repository import Repository

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from reeval_build.ports.objects import Objects
    from reeval_build.sources.git import GitRepositories
    from tests.sources.conftest import Reader


@pytest.mark.conforms("68")
@pytest.mark.parametrize(
    ("name", "target"),
    [
        ("link", "/etc/passwd"),
        ("link", "../x"),
        ("d/e/link", "../../../x"),
        ("d/link", "..//.."),
    ],
)
def test_a_link_out_of_the_tree_is_refused_by_its_path(
    read: Reader, repository: Repository, name: str, target: str
) -> None:
    repository.link(name, target)
    repository.commit()

    with pytest.raises(RefusedTreeError) as caught:
        read(at(repository))

    assert caught.value.path == name.encode()
    assert f'git("{repository.path}") has "{name}", which is a symbolic link out of its tree' in caught.value.message


@pytest.mark.conforms("68")
def test_a_link_that_stays_in_the_repository_but_leaves_the_path_is_refused(
    read: Reader, repository: Repository
) -> None:
    repository.write("shared/file")
    repository.link("app/link", "../shared/file")
    repository.commit()

    assert b"app/link" in read(at(repository))
    with pytest.raises(RefusedTreeError):
        read(at(repository, path="app"))


def test_a_link_is_judged_at_every_place_its_directory_has(read: Reader, repository: Repository) -> None:
    links = repository.make_tree(("120000", b"up", repository.make_object("blob", b"../../x")))
    deep = repository.make_tree(("40000", b"c", links))
    repository.commit_tree(repository.make_tree(("40000", b"a", deep), ("40000", b"b", links)))

    with pytest.raises(RefusedTreeError) as caught:
        read(at(repository))

    assert caught.value.path == b"b/up"


@pytest.mark.parametrize(
    "name",
    [b"..", b".", b".git", b".GIT", b"a/b", b"/", b"", b".wh.x", b"n" * 256],
    ids=lambda name: name.decode()[:8] or "empty",
)
def test_a_name_that_must_not_be_placed_is_refused_by_its_path(
    read: Reader, repository: Repository, name: bytes
) -> None:
    blob = repository.make_object("blob", b"x")
    inner = repository.make_tree(("100644", b"ok", blob), ("100644", name, blob))
    repository.commit_tree(repository.make_tree(("40000", b"d", inner)))

    for init in (False, True):
        with pytest.raises(RefusedTreeError) as caught:
            read(at(repository, init=init))

        assert caught.value.path == b"d/" + name


def test_a_directory_called_dot_git_is_refused(read: Reader, repository: Repository) -> None:
    hooks = repository.make_tree(("100755", b"post-checkout", repository.make_object("blob", b"#!/bin/sh\n")))
    repository.commit_tree(repository.make_tree(("40000", b".git", hooks)))

    with pytest.raises(RefusedTreeError):
        read(at(repository))


def test_two_entries_of_one_name_are_refused(read: Reader, repository: Repository) -> None:
    blobs = [repository.make_object("blob", data) for data in (b"1", b"2")]
    repository.commit_tree(repository.make_tree(*(("100644", b"a", blob) for blob in blobs)))

    with pytest.raises(RefusedTreeError, match='"a", which is there twice'):
        read(at(repository))


def test_a_mode_that_is_no_file_link_or_directory_is_refused(read: Reader, repository: Repository) -> None:
    repository.commit_tree(repository.make_tree(("020644", b"tty", repository.make_object("blob", b""))))

    with pytest.raises(RefusedTreeError, match='"tty", which has the mode 20644'):
        read(at(repository))


def test_endless_nesting_is_refused(read: Reader, repository: Repository) -> None:
    tree = repository.make_tree(("100644", b"f", repository.make_object("blob", b"")))
    for _ in range(260):
        tree = repository.make_tree(("40000", b"d", tree))
    repository.commit_tree(tree)

    with pytest.raises(RefusedTreeError, match="more than 255 directories deep"):
        read(at(repository))


def test_a_tree_of_equal_trees_is_read_once_each(read: Reader, repository: Repository) -> None:
    tree = repository.make_tree(("100644", b"f", repository.make_object("blob", b"x")))
    for _ in range(17):
        tree = repository.make_tree(("40000", b"a", tree), ("40000", b"b", tree))
    repository.commit_tree(tree)

    read.digest(at(repository))


def _remove(path: Path) -> None:
    path.unlink()


def _damage(path: Path) -> None:
    path.chmod(0o644)
    path.write_bytes(b"no zlib stream")


@pytest.mark.parametrize(("harm", "reason"), [(_remove, "is missing"), (_damage, "is corrupt")])
@pytest.mark.parametrize("which", ["HEAD:d", "HEAD:d/file"])
def test_an_object_that_is_not_whole_is_named(
    read: Reader, repository: Repository, harm: Callable[[Path], None], reason: str, which: str
) -> None:
    repository.commit_files({"d/file": b"x"})
    id_ = repository.git("rev-parse", which)
    harm(repository.path / ".git/objects" / id_[:2] / id_[2:])

    with pytest.raises(LostGitObjectError) as caught:
        read(at(repository))

    assert (caught.value.object_id, caught.value.reason) == (id_, reason)


def test_an_object_with_other_bytes_than_its_id_says_is_corrupt(read: Reader, repository: Repository) -> None:
    repository.commit_files({"a": b"x", "b": b"y"})
    paths = []
    for name in ("a", "b"):
        id_ = repository.git("rev-parse", f"HEAD:{name}")
        paths.append(repository.path / ".git/objects" / id_[:2] / id_[2:])
    paths[0].chmod(0o644)
    paths[0].write_bytes(paths[1].read_bytes())

    with pytest.raises(LostGitObjectError) as caught:
        read(at(repository))

    assert caught.value.reason == "is corrupt"


def test_an_entry_that_says_directory_and_is_a_file_is_named(read: Reader, repository: Repository) -> None:
    blob = repository.make_object("blob", b"x")
    repository.commit_tree(repository.make_tree(("40000", b"d", blob)))

    with pytest.raises(LostGitObjectError) as caught:
        read(at(repository))

    assert caught.value.reason == "is not a tree"


def test_a_tree_that_is_cut_is_named(read: Reader, repository: Repository) -> None:
    repository.commit_tree(repository.make_tree(("40000", b"d", repository.make_object("tree", b"100644 a\0123"))))

    with pytest.raises(LostGitObjectError) as caught:
        read(at(repository))

    assert caught.value.reason == "is not a valid tree"


def test_nothing_is_kept_of_a_tree_that_is_refused(read: Reader, objects: Objects, repository: Repository) -> None:
    files = {"large": b"x" * 1_000_000, "small": b"x"}
    for name, data in files.items():
        repository.write(name, data)
    repository.link("z", "/etc/passwd")
    repository.commit()

    with pytest.raises(RefusedTreeError):
        read(at(repository, init=True))

    assert objects.present(BLOB.digest(data) for data in files.values()) == set()


def test_what_is_not_there_is_said_so(git: GitRepositories, tmp_path: Path) -> None:
    with pytest.raises(NoRepositoryError) as caught:
        git.resolve(at(tmp_path / "nope"))

    assert caught.value.message == f'git("{tmp_path}/nope") is not there: {tmp_path}/nope does not exist'


def test_a_directory_that_is_no_repository_is_said_so(git: GitRepositories, tmp_path: Path) -> None:
    with pytest.raises(NoRepositoryError, match="is no git repository"):
        git.resolve(at(tmp_path))


def test_a_directory_in_a_repository_tells_the_way_out(git: GitRepositories, repository: Repository) -> None:
    repository.commit_files({"d/a": b""})

    with pytest.raises(NoRepositoryError) as caught:
        git.resolve(at(repository.path / "d"))

    assert caught.value.hint is not None
    assert "use path=" in caught.value.hint


def test_a_repository_without_access_is_said_so(git: GitRepositories, repository: Repository) -> None:
    repository.path.chmod(0o000)

    with without_privileges(), pytest.raises(NoRepositoryError, match=r"cannot be opened: .*: permission denied"):
        git.resolve(at(repository))


def test_sha256_repositories_are_said_to_be_unsupported(git: GitRepositories, tmp_path: Path) -> None:
    repository = Repository(tmp_path / "new", "--object-format=sha256")
    repository.commit_files({"a": b""})

    with pytest.raises(UnsupportedRepositoryError, match="sha256"):
        git.resolve(at(repository))


def test_unknown_extensions_are_said_to_be_unsupported(git: GitRepositories, repository: Repository) -> None:
    repository.git("config", "core.repositoryformatversion", "1")
    repository.git("config", "extensions.refStorage", "reftable")

    with pytest.raises(UnsupportedRepositoryError, match="refstorage"):
        git.resolve(at(repository))


def test_a_broken_configuration_is_one_clear_sentence(git: GitRepositories, repository: Repository) -> None:
    with (repository.path / ".git/config").open("a") as config:
        config.write("[broken")

    with pytest.raises(InfraError, match="config"):
        git.resolve(at(repository))


def test_a_file_in_place_of_a_repository_is_said_so(git: GitRepositories, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")

    with pytest.raises(NoRepositoryError):
        git.resolve(at(tmp_path / "file"))


@pytest.mark.parametrize("path", ["/a\0b", "/a\ud800"])
def test_a_path_that_no_directory_can_have_is_said_so(git: GitRepositories, path: str) -> None:
    with pytest.raises(NoRepositoryError, match="is no path that a directory can have"):
        git.resolve(at(path))


def test_git_may_be_missing_on_the_host(read: Reader, repository: Repository, monkeypatch: pytest.MonkeyPatch) -> None:
    repository.commit_files({"a": b""})
    monkeypatch.setenv("PATH", os.devnull)

    assert read(at(repository, init=True))
