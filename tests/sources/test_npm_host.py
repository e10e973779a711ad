"""Packages that are directories or archives of the host."""

from __future__ import annotations

import os
import shutil
from typing import TYPE_CHECKING

import pytest

from reeval_build.errors import InfraError
from reeval_build.plan.resolution import ResolvedPackage
from reeval_build.sources.archives import MalformedArchiveError
from reeval_build.sources.npm_errors import ChangedPackageError, NoPackagePathError, NpmFailureError
from reeval_build.tree.directory import Kind
from tests.sources.npm_registry import sha512
from tests.sources.npm_world import NEEDS_NPM, npm_world
from tests.sources.tars import member, package, tar, zipped

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from reeval_build.ports.objects import Objects
    from tests.sources.npm_world import NpmWorld

FILE, EXECUTABLE, DIRECTORY = Kind.FILE, Kind.EXECUTABLE, Kind.DIRECTORY
MANIFEST = b'{"name": "here", "version": "0.1.0", "files": ["bin", "skills", "*.md"]}'


@pytest.fixture
def world(tmp_path: Path, objects: Objects, monkeypatch: pytest.MonkeyPatch) -> Iterator[NpmWorld]:
    with npm_world(tmp_path, objects, monkeypatch) as world:
        yield world


def make_package(directory: Path, manifest: bytes = MANIFEST, *, mask: int = 0o022) -> str:
    """A package of which npm leaves some out; the spec that names it."""
    files = {
        "package.json": manifest,
        "bin/run": b"#!/bin/sh\n",
        "skills/a/SKILL.md": b"a",
        "skills/.npmignore": b"draft.md\n",
        "skills/draft.md": b"no",
        "notes.md": b"1",
        "src/secret.ts": b"no",
        ".git/HEAD": b"no",
        "node_modules/other/index.js": b"no",
    }
    for name, data in files.items():
        path = directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        path.chmod((0o777 if name == "bin/run" else 0o666) & ~mask)
    return f"file:{directory}"


PACKED = {
    b"bin": (DIRECTORY, None),
    b"bin/run": (EXECUTABLE, b"#!/bin/sh\n"),
    b"notes.md": (FILE, b"1"),
    b"package.json": (FILE, MANIFEST),
    b"skills": (DIRECTORY, None),
    b"skills/a": (DIRECTORY, None),
    b"skills/a/SKILL.md": (FILE, b"a"),
}


# Directories.


@NEEDS_NPM
@pytest.mark.parametrize("name", ["here", "we#ird %41 'n\"ame with\nlines"])
def test_of_a_directory_what_npm_packs_is_read(world: NpmWorld, tmp_path: Path, name: str) -> None:
    spec = make_package(tmp_path / name)

    resolved = world.resolve(spec)

    assert (resolved.name, resolved.version, resolved.warnings) == ("here", "0.1.0", ())
    assert world.read(spec, resolved) == PACKED


@NEEDS_NPM
def test_no_script_is_run_and_nothing_is_written(world: NpmWorld, tmp_path: Path) -> None:
    touch = f"touch '{tmp_path}/was-run'"
    names = ("preprepare", "prepare", "postprepare", "prepack", "postpack", "prepublish", "prepublishOnly", "install")
    scripts = ", ".join(f'"{name}": "{touch}"' for name in names)
    spec = make_package(tmp_path / "here", b'{"name": "here", "version": "0.1.0", "scripts": {%s}}' % scripts.encode())
    (tmp_path / "here/.npmrc").write_text("ignore-scripts=false\n")
    before = {path: path.lstat() for path in (tmp_path / "here").rglob("*")}

    world.resolve(spec)

    assert not (tmp_path / "was-run").exists()
    after = {path: path.lstat() for path in (tmp_path / "here").rglob("*")}
    assert {path: status.st_mtime_ns for path, status in after.items()} == {
        path: status.st_mtime_ns for path, status in before.items()
    }


@pytest.mark.conforms("fault 14")
@NEEDS_NPM
def test_a_directory_is_known_by_its_files_whatever_their_times_and_permissions(
    world: NpmWorld, tmp_path: Path
) -> None:
    one = make_package(tmp_path / "one", mask=0o022)
    two = make_package(tmp_path / "two", mask=0o077)
    for path in (tmp_path / "two").rglob("*"):
        os.utime(path, (1, 1))
    three = make_package(tmp_path / "three")
    (tmp_path / "three/notes.md").write_bytes(b"2")

    known = world.resolve(one)

    assert world.resolve(two) == known
    assert world.resolve(three).integrity != known.integrity


@NEEDS_NPM
def test_a_directory_is_read_as_it_was_when_it_was_resolved(world: NpmWorld, tmp_path: Path) -> None:
    spec = make_package(tmp_path / "here")
    resolved = world.resolve(spec)
    (tmp_path / "here/notes.md").write_bytes(b"2")

    assert world.read(spec, resolved) == PACKED

    shutil.rmtree(world.cache)
    with pytest.raises(ChangedPackageError, match="was changed after it was looked at"):
        world.read(spec, resolved)


@NEEDS_NPM
@pytest.mark.parametrize("manifest", [b"{", b"{}"])
def test_a_directory_that_npm_does_not_pack_is_refused(world: NpmWorld, tmp_path: Path, manifest: bytes) -> None:
    spec = make_package(tmp_path / "here", manifest)

    with pytest.raises(NpmFailureError) as caught:
        world.resolve(spec)

    assert caught.value.message.startswith(f'npm package "{spec}" cannot be had: npm says ')
    assert str(world.cache) not in str(caught.value)


@NEEDS_NPM
def test_a_directory_that_npm_packs_but_nobody_could_name_is_refused(world: NpmWorld, tmp_path: Path) -> None:
    spec = make_package(tmp_path / "here", b'{"name": "no spaces", "version": "1.0.0"}')

    with pytest.raises(NoPackagePathError, match=r"has no package\.json with a name and a version"):
        world.resolve(spec)


def test_a_directory_without_a_manifest_is_refused(world: NpmWorld, tmp_path: Path) -> None:
    (tmp_path / "here").mkdir()

    with pytest.raises(NoPackagePathError) as caught:
        world.resolve(f"file:{tmp_path}/here")

    assert caught.value.message == f'npm package "file:{tmp_path}/here" has no package.json'
    assert caught.value.hint


# Archives.


def test_a_path_that_no_file_can_have_is_refused(world: NpmWorld) -> None:
    with pytest.raises(NoPackagePathError, match="is no path that a file can have"):
        world.resolve("file:/a\ud800")


def test_an_archive_is_read_without_npm(world: NpmWorld, tmp_path: Path) -> None:
    archive = package("@acme/here", "1.2.3-rc.1", member(b"package/bin/run", b"1", mode=0o755), files={"a": b"2"})
    (tmp_path / "here.tgz").write_bytes(archive)
    world.without_npm()

    resolved = world.resolve(f"file:{tmp_path}/here.tgz")

    assert resolved == ResolvedPackage(name="@acme/here", version="1.2.3-rc.1", integrity=sha512(archive))
    shown = world.read(f"file:{tmp_path}/here.tgz", resolved)
    assert (shown[b"bin/run"], shown[b"a"]) == ((EXECUTABLE, b"1"), (FILE, b"2"))


def test_an_archive_is_read_as_it_was_when_it_was_resolved(world: NpmWorld, tmp_path: Path) -> None:
    path = tmp_path / "here.tgz"
    spec = f"file:{path}"
    path.write_bytes(package("here", "1.0.0", files={"a": b"1"}))
    resolved = world.resolve(spec)
    path.write_bytes(package("here", "1.0.0", files={"a": b"2"}))

    assert world.read(spec, resolved)[b"a"] == (FILE, b"1")
    assert world.read(spec)[b"a"] == (FILE, b"2")

    shutil.rmtree(world.cache)
    with pytest.raises(ChangedPackageError):
        world.read(spec, resolved)


def _manifest(data: bytes) -> bytes:
    return zipped(tar(member(b"package/package.json", data)))


@pytest.mark.parametrize(
    "archive",
    [
        zipped(tar(member(b"package/a", b"1"))),
        _manifest(b"{"),
        _manifest(b"[" * 100_000),
        _manifest(b'{"name": "a"}'),
        _manifest(b'{"name": "a", "version": 1}'),
        _manifest(b'{"name": "a", "version": "1"}'),
        _manifest(b'{"name": "a", "version": "^1.0.0"}'),
        _manifest(b'{"name": "\\ud800", "version": "1.0.0"}'),
        _manifest(b'{"name": "../x", "version": "1.0.0"}'),
        _manifest(b'{"name": "a@1.0.0", "version": "1.0.0"}'),
        _manifest(b'{"name": "a", "version": "1.0.0"}' + b" " * 2_000_000),
    ],
)
def test_an_archive_without_a_name_and_a_version_is_refused(world: NpmWorld, tmp_path: Path, archive: bytes) -> None:
    (tmp_path / "here.tgz").write_bytes(archive)

    with pytest.raises(NoPackagePathError, match=r"has no package\.json with a name and a version"):
        world.resolve(f"file:{tmp_path}/here.tgz")


@pytest.mark.parametrize("data", [b"", b"no archive", package("here", "1.0.0")[:-40]], ids=["empty", "text", "cut"])
def test_what_is_no_archive_is_refused(world: NpmWorld, tmp_path: Path, data: bytes) -> None:
    (tmp_path / "here.tgz").write_bytes(data)

    with pytest.raises(MalformedArchiveError) as caught:
        world.resolve(f"file:{tmp_path}/here.tgz")

    assert caught.value.message.startswith(f'npm package "file:{tmp_path}/here.tgz" has an archive that ')


def _make_huge(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(1024**3 + 1)


@pytest.mark.parametrize(
    ("make", "problem"),
    [
        (lambda _path: None, "does not exist"),
        (lambda path: path.symlink_to("nowhere"), "does not exist"),
        (lambda path: path.symlink_to(path.name), "cannot be read: too many levels of symbolic links"),
        (os.mkfifo, "is no directory and no archive"),
        (_make_huge, "has an archive that has more than 1 GiB"),
    ],
    ids=["missing", "dangling", "loop", "fifo", "huge"],
)
@pytest.mark.timeout(10)
def test_what_is_neither_is_refused_by_its_path(
    world: NpmWorld, tmp_path: Path, make: Callable[[Path], None], problem: str
) -> None:
    make(tmp_path / "here")

    with pytest.raises(InfraError) as caught:
        world.resolve(f"file:{tmp_path}/here")

    assert caught.value.message == f'npm package "file:{tmp_path}/here" {problem}'
    assert caught.value.hint
