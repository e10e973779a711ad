"""Which commit a ref stands for, and when its author is warned."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from pygit2.enums import ObjectType

from reeval_build.sources.git_errors import (
    EmptyRepositoryError,
    LostGitObjectError,
    NoSuchPathError,
    NoSuchRefError,
    UnusableRefError,
)
from reeval_build.sources.git_pack import object_id_of
from reeval_build.sources.git_refs import Offer, Tip, full_names, warnings
from tests.sources.conftest import at

if TYPE_CHECKING:
    from reeval_build.sources.git import GitRepositories
    from tests.sources.repository import Repository


@pytest.mark.conforms("58")
@pytest.mark.parametrize(
    ("ref", "which"),
    [
        ("side", 2),
        ("feature/x", 2),
        ("refs/heads/side", 2),
        ("heads/side", 2),
        ("light", 1),
        ("v1.0.0", 1),
        ("tags/v1.0.0", 1),
        ("twice", 1),
    ],
)
def test_a_branch_or_tag_stands_for_its_commit(
    git: GitRepositories, repository: Repository, history: tuple[str, ...], ref: str, which: int
) -> None:
    assert git.resolve(at(repository, ref)).commit == history[which]


@pytest.mark.parametrize("ref", [None, "HEAD", "main"])
def test_without_a_ref_head_is_meant(
    git: GitRepositories, repository: Repository, history: tuple[str, ...], ref: str | None
) -> None:
    assert git.resolve(at(repository, ref)).commit == history[-1]


def test_a_detached_head_is_followed(git: GitRepositories, repository: Repository, history: tuple[str, ...]) -> None:
    repository.git("checkout", "--quiet", "--detach", history[0])

    assert git.resolve(at(repository)).commit == history[0]


@pytest.mark.parametrize("shorten", [lambda id_: id_, lambda id_: id_.upper(), lambda id_: id_[:12]])
def test_a_commit_id_may_be_shortened_and_in_capitals(
    git: GitRepositories, repository: Repository, history: tuple[str, ...], shorten
) -> None:
    assert git.resolve(at(repository, shorten(history[0]))).commit == history[0]


def test_the_id_of_a_tag_stands_for_its_commit(
    git: GitRepositories, repository: Repository, history: tuple[str, ...]
) -> None:
    tag = repository.git("rev-parse", "v1.0.0")

    assert git.resolve(at(repository, tag)).commit == history[1]


def test_of_a_tag_and_a_branch_of_one_name_the_tag_is_meant(
    git: GitRepositories, repository: Repository, history: tuple[str, ...]
) -> None:
    repository.git("tag", "main", history[0])

    assert git.resolve(at(repository, "main")).commit == history[0]
    assert git.resolve(at(repository, "refs/heads/main")).commit == history[-1]


def test_a_name_wins_over_the_beginning_of_an_id(
    git: GitRepositories, repository: Repository, history: tuple[str, ...]
) -> None:
    repository.git("branch", history[0][:8], history[-1])

    assert git.resolve(at(repository, history[0][:8])).commit == history[-1]


def test_a_ref_that_looks_like_an_option_is_a_name(
    git: GitRepositories, repository: Repository, history: tuple[str, ...]
) -> None:
    repository.git("update-ref", "refs/heads/--upload-pack=touch", history[0])

    assert git.resolve(at(repository, "--upload-pack=touch")).commit == history[0]
    with pytest.raises(NoSuchRefError):
        git.resolve(at(repository, "--output=x"))


@pytest.mark.parametrize(
    "ref",
    [
        "nope",
        "main~1",
        "main^{tree}",
        ":/work",
        "@{-1}",
        "..",
        "a b",
        "ORIG_HEAD",
        "x\0y",
        "x" * 5000,
        "f" * 40,
        "ffff",
    ],
)
def test_what_is_no_ref_is_said_to_be_none(
    git: GitRepositories, repository: Repository, history: tuple[str, ...], ref: str
) -> None:
    with pytest.raises(NoSuchRefError) as caught:
        git.resolve(at(repository, ref))

    shown = ref.replace("\0", "\\x00")
    assert caught.value.message == f'git("{repository.path}") has no branch, tag or commit "{shown}"'


def test_a_tag_of_a_tree_is_no_commit(git: GitRepositories, repository: Repository, history: tuple[str, ...]) -> None:
    repository.git("tag", "tree", "main^{tree}")

    with pytest.raises(UnusableRefError) as caught:
        git.resolve(at(repository, "tree"))

    assert caught.value.reason == "it is not a commit"


def test_an_id_that_is_too_short_to_be_one_object_is_refused(git: GitRepositories, repository: Repository) -> None:
    seen: dict[str, bytes] = {}
    for number in range(10_000):
        data = b"%d" % number
        start = object_id_of(ObjectType.BLOB, data).hex()[:4]
        if start in seen:
            break
        seen[start] = data
    for blob in (data, seen[start]):
        assert repository.make_object("blob", blob).startswith(start)

    with pytest.raises(UnusableRefError) as caught:
        git.resolve(at(repository, start))

    assert caught.value.reason == "the ids of several objects start so"


def test_a_repository_without_commits_is_said_to_be_empty(git: GitRepositories, repository: Repository) -> None:
    for ref in (None, "main"):
        with pytest.raises(EmptyRepositoryError):
            git.resolve(at(repository, ref))


def test_a_head_that_names_no_commit_is_said_so(
    git: GitRepositories, repository: Repository, history: tuple[str, ...]
) -> None:
    repository.git("symbolic-ref", "HEAD", "refs/heads/unborn")

    with pytest.raises(NoSuchRefError, match="HEAD that names no commit"):
        git.resolve(at(repository))


def test_a_branch_whose_commit_is_lost_names_the_object(
    git: GitRepositories, repository: Repository, history: tuple[str, ...]
) -> None:
    (repository.path / ".git/objects" / history[1][:2] / history[1][2:]).unlink()

    with pytest.raises(LostGitObjectError) as caught:
        git.resolve(at(repository, "v1.0.0"))

    assert caught.value.object_id == history[1]


@pytest.mark.conforms("62")
@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("nope", 'has no "nope"'),
        ("d/e/nope/x", 'has no "d/e/nope"'),
        ("d/file", 'has "d/file", which is not a directory'),
        ("d/file/x", 'has "d/file", which is not a directory'),
        ("link", 'has "link", which is not a directory'),
    ],
)
def test_a_path_that_is_no_directory_is_named(
    git: GitRepositories, repository: Repository, path: str, reason: str
) -> None:
    repository.write("d/e/f", b"")
    repository.write("d/file", b"")
    repository.link("link", "d")
    repository.commit()

    with pytest.raises(NoSuchPathError) as caught:
        git.resolve(at(repository, "main", path=path))

    assert caught.value.message == f'git("{repository.path}") at "main" {reason}'


@pytest.mark.conforms("61")
@pytest.mark.parametrize("ref", ["v1.2.0", "1.2.0", "v1.2.0-rc.1", "10.0.3+build.5", "a" * 40, "A" * 40, "0" * 64])
def test_a_commit_or_a_version_tag_is_pinned(ref: str) -> None:
    assert warnings(at("/app", ref), local=True) == ()


@pytest.mark.conforms("61")
@pytest.mark.parametrize(
    "ref", ["main", "v1", "v1.2", "1.2.3.4", "a" * 39, "a" * 12, "HEAD", "v1.2.0\n", "release-1.2.0"]
)
def test_anything_else_warns_that_results_are_not_comparable(ref: str) -> None:
    (warning,) = warnings(at("github:acme/app", ref), local=False)

    assert f'git("github:acme/app") has the ref "{ref}"' in warning
    assert warning.endswith("results are not comparable over time")


def test_a_local_repository_without_a_ref_warns_that_uncommitted_changes_are_left_out(
    git: GitRepositories, repository: Repository, history: tuple[str, ...]
) -> None:
    (warning,) = git.resolve(at(repository)).warnings

    assert warning.startswith(f'git("{repository.path}") has no ref, so it is whatever HEAD is now')
    assert warning.endswith("results are not comparable over time; uncommitted changes are not included")


def test_names_that_git_refuses_are_not_looked_up() -> None:
    assert full_names("a b") == ()
    assert full_names("x") == ("refs/x", "refs/tags/x", "refs/heads/x", "refs/remotes/x")


def test_an_offer_is_searched_as_a_local_repository_is() -> None:
    one, two, tag = "1" * 40, "2" * 40, "3" * 40
    offer = Offer({"HEAD": one, "refs/heads/x": one, "refs/heads/y": two, "refs/tags/x": tag, "refs/tags/x^{}": two})

    assert offer.find(None) == Tip("HEAD", one)
    assert offer.find("x") == Tip("refs/tags/x", two)
    assert offer.find("refs/heads/x") == Tip("refs/heads/x", one)
    assert offer.find(two) == Tip("refs/heads/y", two)
    assert offer.find("1111") == Tip("refs/heads/x", one)
    assert offer.find("3333") is None
    assert offer.find("z") is None
