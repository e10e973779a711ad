"""Packages of a registry, through the real npm."""

from __future__ import annotations

import hashlib
import json
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest

from reeval_build.plan.resolution import ResolvedPackage
from reeval_build.tree.directory import Kind
from tests.sources.npm_registry import PRIVATE, TOKEN, sha512
from tests.sources.npm_world import NEEDS_NPM, npm_world
from tests.sources.tars import member, package

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from reeval_build.ports.objects import Objects
    from tests.sources.npm_world import NpmWorld
    from tests.sources.trees import Shown

pytestmark = NEEDS_NPM


@pytest.fixture
def world(tmp_path: Path, objects: Objects, monkeypatch: pytest.MonkeyPatch) -> Iterator[NpmWorld]:
    with npm_world(tmp_path, objects, monkeypatch) as world:
        yield world


def shown(name: str, version: str) -> Shown:
    """The files that `NpmRegistry.publish` puts into a package."""
    manifest = json.dumps({"name": name, "version": version}).encode()
    return {b"a": (Kind.FILE, version.encode()), b"package.json": (Kind.FILE, manifest)}


@pytest.mark.conforms("fault 38")
def test_an_exact_version_is_resolved_without_a_warning_and_without_its_archive(world: NpmWorld) -> None:
    archive = package("one", "1.0.0", member(b"package/bin/run", b"#!/bin/sh\n", mode=0o755))
    world.registry.publish("one", "1.0.0", archive)
    world.registry.publish("one", "2.0.0")

    resolved = world.resolve("one@1.0.0")

    assert resolved == ResolvedPackage(name="one", version="1.0.0", integrity=sha512(archive))
    assert resolved.warnings == ()
    assert not any(".tgz" in request for request in world.registry.requests)
    assert world.read("one@1.0.0", resolved)[b"bin/run"] == (Kind.EXECUTABLE, b"#!/bin/sh\n")


def test_an_exact_version_that_is_known_needs_neither_npm_nor_network(world: NpmWorld) -> None:
    world.registry.publish("one")
    resolved = world.resolve("one@1.0.0")
    files = world.read("one@1.0.0", resolved)
    world.without_npm()

    for spec in ("one@1.0.0", "one@v1.0.0", "one@=1.0.0"):
        assert world.resolve(spec) == resolved
        assert world.read(spec) == files == shown("one", "1.0.0")


@pytest.mark.conforms("97", "fault 5")
@pytest.mark.parametrize(
    ("spec", "version", "warning"),
    [
        ("one", "1.1.0", "names no version and is 1.1.0 now"),
        ("one@next", "2.0.0-rc.1", "is not pinned to one version and is 2.0.0-rc.1 now"),
    ],
)
def test_what_names_no_exact_version_is_resolved_to_one_with_a_warning(
    world: NpmWorld, spec: str, version: str, warning: str
) -> None:
    archives = {
        "1.1.0": world.registry.publish("one", "1.1.0"),
        "2.0.0-rc.1": world.registry.publish("one", "2.0.0-rc.1", tag="next"),
    }

    resolved = world.resolve(spec)

    assert resolved == ResolvedPackage(name="one", version=version, integrity=sha512(archives[version]))
    assert resolved.warnings == (f'npm package "{spec}" {warning}: results are not comparable over time',)


@pytest.mark.conforms("fault 5")
def test_a_tag_that_moves_is_seen_at_once(world: NpmWorld) -> None:
    world.registry.publish("one", "1.0.0")
    before = world.resolve("one@latest")
    world.registry.publish("one", "1.1.0")

    after = world.resolve("one@latest")

    assert (before.version, after.version) == ("1.0.0", "1.1.0")


@pytest.mark.conforms("97", "fault 5")
def test_of_a_range_npm_chooses_among_what_is_there_now(world: NpmWorld) -> None:
    for version in ("1.0.0", "1.1.0", "1.2.0"):
        world.registry.publish("one", version)
    # What is the latest is taken when it is in the range, although there is a higher version.
    world.registry.package("one").tags["latest"] = "1.1.0"
    before = world.resolve("one@^1.0.0")
    archive = world.registry.publish("one", "1.3.0")

    after = world.resolve("one@^1.0.0")

    assert before.version == "1.1.0"
    assert after == ResolvedPackage(name="one", version="1.3.0", integrity=sha512(archive))
    assert "is not pinned to one version and is 1.3.0 now" in after.warnings[0]


def test_a_package_with_nothing_but_a_sha1_has_the_sha512_of_its_bytes(world: NpmWorld) -> None:
    archive = package("old", "1.0.0")
    world.registry.publish("old", "1.0.0", archive, dist={"shasum": hashlib.sha1(archive).hexdigest()})  # noqa: S324

    assert world.resolve("old@1.0.0").integrity == sha512(archive)


def test_a_private_package_is_read_with_the_token_of_the_user_which_stays_where_it_was(world: NpmWorld) -> None:
    world.registry.publish("@acme/p", space=PRIVATE)

    resolved = world.resolve("@acme/p@1.0.0")

    assert world.read("@acme/p@1.0.0", resolved) == shown("@acme/p", "1.0.0")
    assert world.registry.seen == {(PRIVATE, f"Bearer {TOKEN}")}
    assert TOKEN not in repr(resolved)
    for path in world.cache.rglob("*"):
        assert not path.is_file() or TOKEN.encode() not in path.read_bytes()


def test_the_registry_of_a_project_counts_and_is_not_taken_for_another(world: NpmWorld, tmp_path: Path) -> None:
    ours, theirs = (
        world.registry.publish("one", archive=package("one", "1.0.0", files={"a": data}), space=space)
        for space, data in (("ours", b"1"), ("public", b"2"))
    )
    project = tmp_path / "project"
    (project / "src").mkdir(parents=True)
    (project / "package.json").write_text("not even JSON")
    (project / ".npmrc").write_text(f"registry={world.registry.url}/ours/\n")

    assert world.packages(project=project / "src").resolve("one@1.0.0").integrity == sha512(ours)
    assert world.packages().resolve("one@1.0.0").integrity == sha512(theirs)
    assert {path.name for path in project.rglob("*")} == {"src", "package.json", ".npmrc"}


def test_several_threads_may_read_the_same_at_once(world: NpmWorld) -> None:
    resolved = ResolvedPackage(name="one", version="1.0.0", integrity=sha512(world.registry.publish("one")))
    packages = world.packages()

    with ThreadPoolExecutor(2) as pool:
        found = [*pool.map(lambda _: world.read("one@1.0.0", resolved, packages=packages), range(2))]

    assert found == [shown("one", "1.0.0")] * 2
    assert [*(world.cache / "incoming").iterdir()] == []
