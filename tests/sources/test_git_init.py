"""The `.git` of a workspace with `init`."""

from __future__ import annotations

import hashlib
import os
import struct
import subprocess
import zlib
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pygit2.enums import ObjectType

from reeval_build.plan.work import WorkspaceWork
from reeval_build.sources import git_init
from reeval_build.sources.git_pack import PackedObject, PackWriter, object_id_of, pack_index
from reeval_build.tree.directory import Kind
from tests.sources.conftest import Reader, at
from tests.sources.repository import ISOLATED, Repository, run_git
from tests.sources.trees import write_out
from tests.support.torture import examples

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from reeval_build.ports.objects import Objects
    from reeval_build.sources.git import GitRepositories


@pytest.fixture
def place(read: Reader, objects: Objects, tmp_path: Path) -> Callable[[Repository], Path]:
    """Reads a repository with `init` and places it."""

    def place(repository: Repository, ref: str | None = None, path: str | None = None) -> Path:
        return write_out(objects, read.digest(at(repository, ref, path=path, init=True)), tmp_path / "placed")

    return place


@pytest.fixture
def project(repository: Repository) -> Repository:
    """A repository with everything that a later look must not find."""
    repository.write("run", b"#!/bin/sh\n", executable=True)
    repository.write("d/e/file", b"text\n")
    repository.write("d/same", b"text\n")
    repository.write("big", os.urandom(200_000))
    repository.write("empty")
    repository.write("name\nwith \xe9".encode().decode(), b"x")
    repository.link("d/link", "e/file")
    repository.git("update-index", "--add", "--cacheinfo", f"160000,{'1' * 40},module")
    repository.write(".gitattributes", b"*.txt text eol=crlf\n*.bin filter=lfs\n")
    repository.write("lines.txt", b"one\ntwo\n")
    repository.write("large.bin", b"version https://git-lfs.github.com/spec/v1\n")
    (repository.path / "module").mkdir()
    repository.git("add", "--all")
    repository.git("commit", "--quiet", "--message", "the one")
    repository.git("tag", "v1.0.0")
    repository.git("remote", "add", "origin", "https://example.org/secret")
    repository.write("later", b"solution")
    repository.git("add", "later")
    repository.git("commit", "--quiet", "--message", "later")
    repository.git("tag", "--annotate", "--message", "x", "v2.0.0")
    repository.write("stashed", b"stashed")
    repository.git("stash", "--include-untracked", "--quiet")
    return repository


@pytest.mark.conforms("64")
def test_git_finds_a_clean_tree_with_one_commit(place, project: Repository) -> None:
    placed = place(project, ref="v1.0.0")

    assert run_git(placed, "status", "--porcelain", "--ignored") == b""
    assert run_git(placed, "log", "--all", "--reflog", "--format=%an <%ae> %at %ct %s") == (
        b"reeval <reeval@localhost> 0 0 Initial commit\n"
    )
    assert run_git(placed, "rev-parse", "HEAD^{tree}").decode().strip() == project.git("rev-parse", "v1.0.0^{tree}")
    assert run_git(placed, "for-each-ref", "--format=%(refname)") == b"refs/heads/main\n"
    assert run_git(placed, "symbolic-ref", "HEAD") == b"refs/heads/main\n"


def test_git_finds_no_fault(place, project: Repository) -> None:
    placed = place(project, ref="v1.0.0")

    done = subprocess.run(
        ["git", "-C", placed, "fsck", "--strict", "--full"], env=ISOLATED, capture_output=True, check=False
    )
    assert (done.returncode, done.stdout) == (0, b"")
    (index,) = (placed / ".git/objects/pack").glob("*.idx")
    run_git(placed, "verify-pack", str(index))
    run_git(placed, "index-pack", "--strict", "-o", str(placed.parent / "again.idx"), str(index.with_suffix(".pack")))
    assert (placed.parent / "again.idx").read_bytes() == index.read_bytes()


@pytest.mark.conforms("fault 43")
def test_nothing_else_of_the_source_is_reachable_or_there(place, project: Repository) -> None:
    placed = place(project, ref="v1.0.0")

    held = run_git(placed, "cat-file", "--batch-all-objects", "--batch-check=%(objectname) %(objecttype)").split(b"\n")
    (commit,) = [line for line in held if line.endswith(b"commit")]
    reachable = project.git("rev-list", "--objects", "--no-object-names", "v1.0.0^{tree}").split()
    assert {line.split()[0].decode() for line in held if line} == {*reachable, commit.split()[0].decode()}
    assert run_git(placed, "remote") == b""
    assert run_git(placed, "stash", "list") == b""
    for name in ("logs", "objects/info/alternates", "packed-refs", "FETCH_HEAD", "ORIG_HEAD", "hooks"):
        assert not (placed / ".git" / name).exists()


@pytest.mark.conforms("65")
def test_two_builds_are_the_same_bytes_whatever_the_history(
    place, project: Repository, git: GitRepositories, objects: Objects, tmp_path: Path
) -> None:
    other = tmp_path / "other"
    project.git("clone", "--quiet", "--bare", "--no-local", ".", str(other))
    run_git(other, "repack", "-adfq", "--depth=50")
    first, second = at(project, "v1.0.0", init=True), at(other, "v1.0.0", init=True)

    with objects.batch() as batch:
        digests = {git.read(workspace, git.resolve(workspace), batch) for workspace in (first, second)}

    assert len(digests) == 1


@pytest.mark.conforms("65")
def test_the_bytes_of_a_workspace_with_git_never_change(read: Reader, repository: Repository) -> None:
    """Golden: another digest is another recipe, which has to enter the keys of workspaces."""
    repository.commit_files({"a": b"x\n", "d/b": b""})

    digest = read.digest(at(repository, init=True))

    assert digest.hex == "1d1260f30538923e52905a0d0ba6260c2a08e0efa13dda4ccc366abc485b4e4e"


def test_what_an_agent_does_next_works(place, project: Repository) -> None:
    placed = place(project, ref="v1.0.0")
    (placed / "new").write_text("x")
    (placed / "d/same").unlink()

    assert run_git(placed, "status", "--porcelain") == b" D d/same\n?? new\n"
    run_git(placed, "add", "--all")
    run_git(placed, "commit", "--quiet", "--message", "agent")
    run_git(placed, "gc", "--quiet", "--prune=now")
    run_git(placed, "fsck", "--strict")
    assert run_git(placed, "log", "--format=%s") == b"agent\nInitial commit\n"
    assert run_git(placed, "diff", "--stat", "HEAD~1").count(b"|") == 2


def test_with_a_path_the_commit_has_only_that(place, project: Repository) -> None:
    placed = place(project, ref="v1.0.0", path="d")

    assert run_git(placed, "ls-files").split() == [b"e/file", b"link", b"same"]
    assert run_git(placed, "status", "--porcelain") == b""
    assert run_git(placed, "rev-parse", "HEAD^{tree}").decode().strip() == project.git("rev-parse", "v1.0.0:d")


def test_an_empty_tree_has_a_commit_too(place, repository: Repository) -> None:
    repository.commit()

    placed = place(repository)

    assert run_git(placed, "status", "--porcelain") == b""
    run_git(placed, "fsck", "--strict")


@pytest.mark.conforms("64")
def test_without_init_there_is_no_git(read: Reader, project: Repository) -> None:
    assert not any(name.startswith(b".git/") for name in read(at(project, "v1.0.0")))


def test_files_of_git_are_plain_files(read: Reader, repository: Repository) -> None:
    repository.commit_files({"a": b""})

    shown = read(at(repository, init=True))

    assert {kind for name, (kind, _) in shown.items() if name.startswith(b".git/")} == {Kind.FILE, Kind.DIRECTORY}
    assert shown[b".git/HEAD"] == (Kind.FILE, b"ref: refs/heads/main\n")
    assert shown[b".git/refs/tags"] == (Kind.DIRECTORY, None)


@settings(max_examples=examples(30), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    contents=st.lists(st.binary(max_size=300) | st.sampled_from([b"", b"x" * 0xFFFF, b"x" * 0x10000, b"y" * 200_000]))
)
def test_git_reads_back_every_object_of_a_pack(tmp_path: Path, contents: list[bytes]) -> None:
    path = tmp_path / "some.pack"
    with path.open("w+b") as stream:
        pack = PackWriter(stream)
        for data in contents:
            pack.add(ObjectType.BLOB, object_id_of(ObjectType.BLOB, data), data)
        _, index = pack.finish()
    path.with_suffix(".idx").write_bytes(index)

    listed = run_git(tmp_path, "verify-pack", "--verbose", str(path)).decode().splitlines()

    sizes = {line.split()[0]: int(line.split()[2]) for line in listed if " blob " in line}
    assert sizes == {object_id_of(ObjectType.BLOB, data).hex(): len(data) for data in contents}


def test_an_index_of_a_pack_beyond_two_gibibytes_is_as_git_reads_it(tmp_path: Path) -> None:
    rows = [
        PackedObject(bytes([number]) * 20, number, offset)
        for number, offset in enumerate([2**40, 12, 2**31, 2**31 - 1])
    ]

    index = pack_index(rows, b"p" * 20)

    shown = run_git(tmp_path, "show-index", given=index).decode().split("\n")[:4]
    assert shown == [f"{row.offset} {row.object_id.hex()} ({row.crc:08x})" for row in rows]


def test_objects_are_stored_and_not_compressed(read: Reader, repository: Repository) -> None:
    """So that the bytes do not depend on the version of a compressor."""
    repository.commit_files({"a": b"a" * 1000})

    shown = read(at(repository, init=True))

    (pack,) = [data for name, (_, data) in shown.items() if name.endswith(b".pack")]
    assert pack is not None
    frame = b"\x78\x01" + struct.pack("<BHH", 1, 1000, 1000 ^ 0xFFFF) + b"a" * 1000
    assert frame + struct.pack(">L", zlib.adler32(b"a" * 1000)) in pack


@pytest.mark.conforms("fault 3")
def test_what_init_writes_of_its_own_is_part_of_the_schema_of_its_key() -> None:
    # No key has these bytes. Who changes one of them raises the schema, and writes the new pair here.
    written = git_init._CONFIG + git_init._COMMIT  # noqa: SLF001 - they are nowhere else

    assert (WorkspaceWork.schema, hashlib.sha256(written).hexdigest()[:16]) == (1, "1714827245e74128")
