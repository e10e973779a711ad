"""Registries that refuse, hang and lie, archives that must not be used, and machines without npm."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

import pytest

from reeval_build.plan.resolution import ResolvedPackage
from reeval_build.sources.archives import MalformedArchiveError, RefusedMemberError
from reeval_build.sources.npm_errors import (
    NoNpmError,
    NoSuchPackageError,
    NoSuchVersionError,
    PackageCacheError,
    RegistryAwayError,
    RegistryRefusalError,
    WrongBytesError,
)
from tests.sources.npm_registry import PRIVATE, sha512
from tests.sources.npm_world import NEEDS_NPM, npm_world
from tests.sources.tars import member, package

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from reeval_build.ports.objects import Objects
    from tests.sources.npm_world import NpmWorld

pytestmark = NEEDS_NPM


@pytest.fixture
def world(tmp_path: Path, objects: Objects, monkeypatch: pytest.MonkeyPatch) -> Iterator[NpmWorld]:
    with npm_world(tmp_path, objects, monkeypatch) as world:
        yield world


def resolved(archive: bytes, name: str = "one") -> ResolvedPackage:
    return ResolvedPackage(name=name, version="1.0.0", integrity=sha512(archive))


# Registries.


def test_a_package_that_is_not_there_is_named(world: NpmWorld) -> None:
    with pytest.raises(NoSuchPackageError) as caught:
        world.resolve("nothere@1.0.0")

    assert caught.value.message == 'npm package "nothere@1.0.0" is not in its registry'
    assert caught.value.hint


@pytest.mark.parametrize("spec", ["one@2.0.0", "one@nosuchtag"])
def test_a_version_that_is_not_there_is_named(world: NpmWorld, spec: str) -> None:
    world.registry.publish("one", "1.0.0")

    with pytest.raises(NoSuchVersionError) as caught:
        world.resolve(spec)

    assert caught.value.message == f'npm package "{spec}" has no such version'
    assert caught.value.hint


def test_a_token_that_is_not_taken_is_not_shown(world: NpmWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    world.registry.publish("@acme/p", space=PRIVATE)
    monkeypatch.setenv("REGISTRY_TOKEN", "wr0ng-t0ken")

    with pytest.raises(RegistryRefusalError) as caught:
        world.resolve("@acme/p@1.0.0")

    assert caught.value.message.startswith('npm package "@acme/p@1.0.0" is refused by its registry: ')
    assert "wr0ng-t0ken" not in str(caught.value)
    assert caught.value.hint
    assert "npm login" in caught.value.hint


def test_a_password_in_the_registry_s_url_is_not_shown(world: NpmWorld) -> None:
    world.registry.package("one").fault = 403
    world.npmrc.write_text(f"registry=http://me:s3cret@{world.registry.host}/public/\n")

    with pytest.raises(RegistryRefusalError) as caught:
        world.resolve("one@1.0.0")

    assert "403" in caught.value.message
    assert "s3cret" not in str(caught.value)
    assert "me" not in caught.value.reason.partition(world.registry.host)[0]


@pytest.mark.parametrize("fault", [500, "html"])
def test_a_registry_that_does_not_say_what_it_was_asked_for_is_away(world: NpmWorld, fault: int | str) -> None:
    world.registry.package("one").fault = fault

    with pytest.raises(RegistryAwayError) as caught:
        world.resolve("one@1.0.0")

    assert caught.value.message.startswith('npm package "one@1.0.0" cannot be fetched: ')
    assert caught.value.hint


def test_a_registry_that_is_not_there_is_away(world: NpmWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NPM_CONFIG_REGISTRY", "http://127.0.0.1:1/")

    with pytest.raises(RegistryAwayError, match="ECONNREFUSED"):
        world.resolve("one@1.0.0")


def test_a_registry_that_hangs_is_left_when_its_time_is_over(world: NpmWorld) -> None:
    world.registry.package("one").fault = "hang"

    # On a busy machine npm itself may take longer to come to ask.
    for timeout_s in (4, 16, 64):
        with pytest.raises(RegistryAwayError, match=f"npm was not done after {timeout_s} s"):
            world.packages(timeout_s=timeout_s).resolve("one@1.0.0")
        if world.registry.seen:
            break

    assert world.registry.hung_up.wait(10)


# Archives.


def test_a_download_that_is_cut_is_told_from_an_archive_that_is(world: NpmWorld) -> None:
    archive = world.registry.publish("one")
    world.registry.package("one").fault = "cut"

    with pytest.raises(RegistryAwayError):
        world.read("one@1.0.0", resolved(archive))


def test_an_archive_that_was_published_cut_is_refused(world: NpmWorld) -> None:
    archive = package("one", "1.0.0")[:-30]
    world.registry.publish("one", archive=archive)

    with pytest.raises(MalformedArchiveError) as caught:
        world.read("one@1.0.0", resolved(archive))

    assert caught.value.message.startswith('npm package "one@1.0.0" ')


def test_bytes_that_the_registry_does_not_speak_of_are_refused(world: NpmWorld) -> None:
    wrong, right = package("one", "1.0.0", files={"a": b"evil"}), package("one", "1.0.0")
    world.registry.publish("one", archive=wrong, dist={"integrity": sha512(right)})

    with pytest.raises(WrongBytesError) as caught:
        world.read("one@1.0.0", resolved(right))

    assert (caught.value.expected, caught.value.actual) == (sha512(right), sha512(wrong))
    assert caught.value.hint


def test_a_version_with_a_wrong_sha1_is_refused(world: NpmWorld) -> None:
    world.registry.publish("old", dist={"shasum": hashlib.sha1(b"other").hexdigest()})  # noqa: S324

    with pytest.raises(WrongBytesError):
        world.resolve("old@1.0.0")


def test_a_registry_that_changed_its_mind_after_the_plan_is_not_believed(world: NpmWorld) -> None:
    before = package("one", "1.0.0", files={"a": b"1"})
    after = world.registry.publish("one", archive=package("one", "1.0.0", files={"a": b"2"}))

    with pytest.raises(WrongBytesError) as caught:
        world.read("one@1.0.0", resolved(before))

    assert (caught.value.expected, caught.value.actual) == (sha512(before), sha512(after))


def test_a_version_that_was_published_again_is_refused(world: NpmWorld) -> None:
    before = world.registry.publish("one", archive=package("one", "1.0.0", files={"a": b"1"}))
    world.resolve("one")
    after = world.registry.publish("one", archive=package("one", "1.0.0", files={"a": b"2"}))

    with pytest.raises(WrongBytesError) as caught:
        world.resolve("one")

    assert (caught.value.expected, caught.value.actual) == (sha512(before), sha512(after))


@pytest.mark.conforms("fault 40")
@pytest.mark.parametrize(
    ("hostile", "path", "reason"),
    [
        (member(b"package/../../x", b"1"), b"package/../../x", "has the segment '..'"),
        (member(b"package/l", kind=b"2", target=b"/etc/passwd"), b"package/l", "is a symbolic link out of its tree"),
    ],
    ids=["up", "link"],
)
def test_an_archive_with_a_hostile_member_is_refused_by_its_path(
    world: NpmWorld, hostile: bytes, path: bytes, reason: str
) -> None:
    archive = world.registry.publish("one", archive=package("one", "1.0.0", hostile))

    with pytest.raises(RefusedMemberError) as caught:
        world.read("one@1.0.0", resolved(archive))

    assert caught.value.path == path
    assert reason in caught.value.reason
    assert caught.value.message.startswith('npm package "one@1.0.0" has "package/')


# Machines.


def test_npm_that_is_not_installed_is_missed(world: NpmWorld) -> None:
    world.without_npm()

    with pytest.raises(NoNpmError) as caught:
        world.resolve("one@1.0.0")

    assert caught.value.message == 'npm package "one@1.0.0" needs npm, which is not installed'
    assert caught.value.hint


@pytest.mark.parametrize(
    ("program", "told"),
    [
        ("#!/bin/sh\necho 'env: node: not there' >&2\nexit 127\n", "does not run: env: node: not there"),
        ("#!/nowhere/node\n", "cannot be started: "),
        ("#!/bin/sh\n", "does not run: it ended with status 0"),
    ],
)
def test_npm_that_does_not_run_says_why(
    world: NpmWorld, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, program: str, told: str
) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/npm").write_text(program)
    (tmp_path / "bin/npm").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))

    with pytest.raises(NoNpmError) as caught:
        world.resolve("one@1.0.0")

    assert caught.value.reason.startswith(told)


def test_a_cache_that_cannot_be_written_is_named(world: NpmWorld) -> None:
    world.cache.write_bytes(b"")

    with pytest.raises(PackageCacheError):
        world.resolve("one@1.0.0")
