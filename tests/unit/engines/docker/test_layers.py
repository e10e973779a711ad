from __future__ import annotations

import io
import tarfile
from contextlib import contextmanager
from typing import TYPE_CHECKING

import attrs
import pytest
from hypothesis import given, settings

from reeval_build.digest import BLOB, DELTA, TREE
from reeval_build.engines.docker.changes import UnkeepableChangeError
from reeval_build.engines.docker.connection import EngineRefusalError
from reeval_build.engines.docker.layer_reading import read_layer
from reeval_build.engines.docker.layers import ScratchError, written
from reeval_build.state import delta as deltas
from reeval_build.state.delta import DeltaEntry, DeltaKind
from reeval_build.state.state import PlacedTree, StepDelta
from reeval_build.tree import directory
from reeval_build.tree.directory import Entry
from tests import strategies
from tests.support.torture import examples

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import BinaryIO

    from reeval_build.digest import Digest, Domain

CAPABILITY = "security.capability"


class Memory:
    """Objects in memory, which is also the batch that adds to them."""

    def __init__(self) -> None:
        self.kept: dict[Digest, bytes] = {}

    def add(self, domain: Domain, data: bytes) -> Digest:
        digest = domain.digest(data)
        self.kept[digest] = data
        return digest

    def add_stream(self, domain: Domain, source: BinaryIO) -> tuple[Digest, int]:
        data = source.read()
        return self.add(domain, data), len(data)

    def read(self, domain: Domain, digest: Digest) -> bytes:
        assert domain.digest(self.kept[digest]) == digest
        return self.kept[digest]

    def read_all(self, domain: Domain, digests: Iterable[Digest]) -> Iterator[bytes]:
        return (self.read(domain, digest) for digest in digests)

    @contextmanager
    def open(self, domain: Domain, digest: Digest) -> Iterator[BinaryIO]:
        yield io.BytesIO(self.read(domain, digest))

    def present(self, digests: Iterable[Digest]) -> set[Digest]:
        return self.kept.keys() & set(digests)

    def present_trees(self, digests: Iterable[Digest]) -> set[Digest]:
        return self.present(digests)

    @contextmanager
    def batch(self) -> Iterator[Memory]:
        yield self

    def step(self, *entries: DeltaEntry) -> StepDelta:
        data, times = deltas.encode(entries)
        return StepDelta(delta=self.add(DELTA, data), times=self.add(DELTA, times))


def real(entries: Iterable[DeltaEntry], memory: Memory) -> Iterator[DeltaEntry]:
    """The entries, with files that are in the store, links that lead to one before them, and attributes we keep."""
    file = None
    for drawn in entries:
        entry = attrs.evolve(drawn, xattrs=tuple((CAPABILITY, value) for _, value in drawn.xattrs[:1]))
        if entry.kind is DeltaKind.DELETED:
            entry = attrs.evolve(entry, mtime_s=0)
        elif entry.kind is DeltaKind.HARD_LINK and file is not None:
            entry = attrs.evolve(entry, target=file.path, digest=file.digest, size=file.size)
        elif entry.kind is DeltaKind.SYMLINK:
            entry = attrs.evolve(entry, target=(entry.target or b"").replace(b"\0", b"0"))
        elif entry.kind in {DeltaKind.FILE, DeltaKind.HARD_LINK}:
            digest = memory.add(BLOB, entry.path)
            file = entry = attrs.evolve(entry, kind=DeltaKind.FILE, digest=digest, size=len(entry.path), target=None)
        yield entry


@settings(max_examples=examples(200))
@given(strategies.deltas)
def test_a_delta_written_as_a_layer_is_read_back_as_it_was(tmp_path_factory, drawn):
    memory = Memory()
    entries = tuple(real(drawn, memory))

    with written(memory.step(*entries), memory, scratch=tmp_path_factory.getbasetemp()) as layer:
        back = read_layer(io.BytesIO(b"".join(layer.chunks())), memory)

    assert back == entries
    assert [entry.mtime_s for entry in back] == [entry.mtime_s for entry in entries]


def test_the_layer_of_a_placed_tree_is_the_same_bytes_on_every_machine(tmp_path):
    memory = Memory()
    inner = memory.add(
        TREE, directory.encode({b"run": Entry.file(memory.add(BLOB, b"#!/bin/sh\n"), 10, executable=True)})
    )
    tree = memory.add(
        TREE,
        directory.encode(
            {
                b"bin": Entry.directory(inner),
                b"big": Entry.file(memory.add(BLOB, b"x" * 300_000), 300_000),
                b"\xff\n": Entry.symlink(b"bin/run"),
                b"n" * 200: Entry.file(memory.add(BLOB, b""), 0),
            }
        ),
    )

    with written(PlacedTree(at=(b"srv", b"w"), tree=tree, replaces=True), memory, scratch=tmp_path) as layer:
        diff_id, content = layer.diff_id, b"".join(layer.chunks())

    with tarfile.open(fileobj=io.BytesIO(content)) as tar:
        names = tar.getnames()
    assert diff_id == "sha256:ba26fa041cee36d31b91d498f875670d0f3c6064e122aede1800294a203549ba"
    assert names[:3] == ["srv", "srv/w", "srv/w/.wh..wh..opq"]


def test_a_layer_leaves_no_file_behind(tmp_path):
    memory = Memory()

    with written(memory.step(), memory, scratch=tmp_path) as layer:
        assert layer.size == len(b"".join(layer.chunks()))

    assert list(tmp_path.iterdir()) == []


def test_a_scratch_directory_that_cannot_be_written_is_named(tmp_path):
    memory = Memory()

    with (
        pytest.raises(ScratchError) as caught,
        written(memory.step(), memory, scratch=tmp_path / "missing"),
    ):
        pass

    assert caught.value.scratch == tmp_path / "missing"


def layer_of(*members: tarfile.TarInfo) -> io.BytesIO:
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w") as tar:
        for member in members:
            tar.addfile(member, io.BytesIO(bytes(member.size)))
    return io.BytesIO(stream.getvalue())


@pytest.mark.parametrize("name", ["../x", "a/../../x", "/x", "a//b", "a/.wh..wh.b"])
def test_a_name_that_leads_elsewhere_is_refused(name):
    with pytest.raises(UnkeepableChangeError) as caught:
        read_layer(layer_of(tarfile.TarInfo(name)), Memory())

    assert caught.value.path == name.encode()


def test_a_deletion_with_content_is_a_file_of_that_name_and_refused():
    member = tarfile.TarInfo("a/.wh.b")
    member.size = 1

    with pytest.raises(UnkeepableChangeError):
        read_layer(layer_of(member), Memory())


def test_a_hard_link_out_of_the_layer_is_refused():
    member = tarfile.TarInfo("link")
    member.type, member.linkname = tarfile.LNKTYPE, "elsewhere"

    with pytest.raises(EngineRefusalError):
        read_layer(layer_of(member), Memory())


def test_the_root_itself_is_not_an_entry():
    root = tarfile.TarInfo("./")
    root.type = tarfile.DIRTYPE

    assert read_layer(layer_of(root), Memory()) == ()
