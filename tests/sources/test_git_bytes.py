"""A workspace has the bytes of git's objects, whatever the repository asks git to make of them."""

from __future__ import annotations

import os
import shutil
from typing import TYPE_CHECKING

import pytest

from reeval_build.tree.directory import Kind
from tests.sources.conftest import at
from tests.sources.repository import Repository

if TYPE_CHECKING:
    from pathlib import Path

    from reeval_build.sources.git import GitRepositories
    from tests.sources.conftest import Reader


@pytest.mark.conforms("68")
def test_files_keep_their_bytes_names_and_execute_bits(read: Reader, repository: Repository) -> None:
    binary = bytes(range(256)) * 3
    repository.write("bin/run", b"#!/bin/sh\n", executable=True)
    repository.write("data", binary)
    repository.write("empty")
    repository.commit()

    assert read(at(repository)) == {
        b"bin": (Kind.DIRECTORY, None),
        b"bin/run": (Kind.EXECUTABLE, b"#!/bin/sh\n"),
        b"data": (Kind.FILE, binary),
        b"empty": (Kind.FILE, b""),
    }


def test_names_that_are_not_text_are_kept(read: Reader, repository: Repository) -> None:
    names = [b"latin-\xe9", b"new\nline", b"-dash", b'"quoted"', b"tab\t", b"\xf0\x9f\x98\x80"]
    for name in names:
        repository.write(os.fsdecode(name), name)
    repository.commit()

    assert read(at(repository)) == {name: (Kind.FILE, name) for name in names}


@pytest.mark.conforms("66", "fault 42")
def test_attributes_do_not_apply(read: Reader, repository: Repository) -> None:
    attributes = b"secret export-ignore\nversion export-subst\n*.txt text eol=crlf\n*.id ident\n"
    files = {
        ".gitattributes": attributes,
        "secret": b"kept\n",
        "version": b"$Format:%H$\n",
        "lines.txt": b"one\ntwo\n",
        "x.id": b"$Id$\n",
    }
    repository.commit_files(files)

    assert read(at(repository)) == {name.encode(): (Kind.FILE, data) for name, data in files.items()}


@pytest.mark.conforms("67", "fault 42")
def test_a_large_file_pointer_stays_one_and_its_filter_never_runs(
    read: Reader, repository: Repository, tmp_path: Path
) -> None:
    ran = tmp_path / "ran"
    pointer = b"version https://git-lfs.github.com/spec/v1\noid sha256:" + b"0" * 64 + b"\nsize 12\n"
    repository.commit_files({".gitattributes": b"*.bin filter=lfs diff=lfs merge=lfs -text\n", "big.bin": pointer})
    repository.git("config", "filter.lfs.smudge", f"touch {ran}; cat")
    repository.git("config", "filter.lfs.process", f"touch {ran}; false")
    repository.git("config", "filter.lfs.required", "true")

    assert read(at(repository))[b"big.bin"] == (Kind.FILE, pointer)
    assert not ran.exists()


@pytest.mark.conforms("67", "fault 42")
def test_a_submodule_is_an_empty_directory(read: Reader, repository: Repository) -> None:
    repository.write("README", b"hi\n")
    repository.git("update-index", "--add", "--cacheinfo", f"160000,{'1' * 40},libs/dependency")
    repository.git("add", "README")
    repository.git("commit", "--quiet", "--message", "submodule")

    assert read(at(repository)) == {
        b"README": (Kind.FILE, b"hi\n"),
        b"libs": (Kind.DIRECTORY, None),
        b"libs/dependency": (Kind.DIRECTORY, None),
    }


@pytest.mark.conforms("68")
def test_links_that_stay_inside_are_kept_unfollowed(read: Reader, repository: Repository) -> None:
    targets = {"a/up": "../file", "a/b/far": "../../file", "loop": "loop", "dangling": "nowhere", "a/here": "."}
    repository.write("file", b"x")
    for name, target in targets.items():
        repository.link(name, target)
    repository.commit()

    shown = read(at(repository))

    for name, target in targets.items():
        assert shown[name.encode()] == (Kind.SYMLINK, target.encode())


def test_an_empty_tree_is_an_empty_directory(read: Reader, repository: Repository) -> None:
    repository.commit_tree(repository.make_tree(("40000", b"empty", repository.make_tree())))

    assert read(at(repository)) == {b"empty": (Kind.DIRECTORY, None)}


def test_modes_of_old_repositories_are_files(read: Reader, repository: Repository) -> None:
    blob = repository.make_object("blob", b"x")
    repository.commit_tree(repository.make_tree(("100664", b"group", blob), ("100775", b"run", blob)))

    assert read(at(repository)) == {b"group": (Kind.FILE, b"x"), b"run": (Kind.EXECUTABLE, b"x")}


@pytest.mark.conforms("62")
def test_a_path_becomes_the_root(read: Reader, repository: Repository) -> None:
    repository.commit_files({"README": b"no", "packages/app/src/a": b"yes", "packages/other": b"no"})

    assert read(at(repository, path="packages/app")) == {b"src": (Kind.DIRECTORY, None), b"src/a": (Kind.FILE, b"yes")}


def test_only_what_is_committed_counts(read: Reader, repository: Repository) -> None:
    repository.commit_files({"a": b"committed"})
    repository.write("a", b"edited")
    repository.write("staged", b"new")
    repository.git("add", "staged")
    repository.write("untracked", b"new")

    assert read(at(repository)) == {b"a": (Kind.FILE, b"committed")}


def test_the_tree_does_not_depend_on_the_umask_the_clone_or_the_history(
    read: Reader, repository: Repository, tmp_path: Path
) -> None:
    repository.write("run", b"x", executable=True)
    repository.write("d/file", b"y")
    repository.commit()
    clone = tmp_path / "elsewhere"
    before = os.umask(0o077)
    try:
        repository.git("clone", "--quiet", "--no-local", ".", str(clone))
    finally:
        os.umask(before)
    shutil.rmtree(clone / "d")
    repository.commit("same tree, other commit")

    assert read.digest(at(clone)) == read.digest(at(repository))


@pytest.mark.conforms("60")
def test_equal_trees_resolve_alike_wherever_they_are(git: GitRepositories, repository: Repository) -> None:
    first = repository.commit_files({"old/place/a": b"x"})
    repository.commit_files({"new/a": b"x"})

    before = git.resolve(at(repository, first, path="old/place"))
    after = git.resolve(at(repository, path="new"))

    assert before == after
    assert before.commit != after.commit


@pytest.mark.conforms("60")
def test_equal_trees_of_two_repositories_resolve_alike(
    git: GitRepositories, repository: Repository, tmp_path: Path
) -> None:
    other = Repository(tmp_path / "other")
    for one in (repository, other):
        one.commit_files({"a": b"same"}, message=one.path.name)

    assert git.resolve(at(repository)) == git.resolve(at(other))


@pytest.mark.parametrize("layout", ["packed", "bare", "worktree", "git-directory", "alternates", "symbolic link"])
def test_every_layout_of_a_local_repository_can_be_read(
    read: Reader, repository: Repository, tmp_path: Path, layout: str
) -> None:
    repository.commit_files({"a": b"x"})
    other = tmp_path / "other"
    match layout:
        case "packed":
            repository.git("gc", "--quiet")
            repository.git("pack-refs", "--all")
            other = repository.path
        case "bare":
            repository.git("clone", "--quiet", "--bare", ".", str(other))
        case "worktree":
            repository.git("worktree", "add", "--quiet", "--detach", str(other))
        case "git-directory":
            other = repository.path / ".git"
        case "alternates":
            repository.git("clone", "--quiet", "--shared", ".", str(other))
        case _:
            other.symlink_to(repository.path)

    assert read(at(other)) == {b"a": (Kind.FILE, b"x")}


def test_a_repository_of_another_user_can_be_read(read: Reader, repository: Repository) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can give a repository to another user")
    repository.commit_files({"a": b"x"})
    for path in [repository.path, *repository.path.rglob("*")]:
        os.chown(path, 4321, 4321)

    assert read(at(repository)) == {b"a": (Kind.FILE, b"x")}


def test_a_file_url_is_read_in_place(read: Reader, repository: Repository, tmp_path: Path) -> None:
    repository.commit_files({"a": b"x"})
    odd = repository.path.rename(tmp_path / "with space")

    assert read(at(odd.as_uri())) == {b"a": (Kind.FILE, b"x")}
    assert not (tmp_path / "cache").exists()


def test_many_threads_may_read_at_once(read: Reader, repository: Repository) -> None:
    from concurrent.futures import ThreadPoolExecutor  # noqa: PLC0415 - of this test alone

    repository.commit_files({f"d{number % 7}/f{number}": b"%d" % number for number in range(200)})

    with ThreadPoolExecutor(8) as pool:
        digests = set(pool.map(lambda init: read.digest(at(repository, init=init)), [True, False] * 8))

    assert len(digests) == 2
