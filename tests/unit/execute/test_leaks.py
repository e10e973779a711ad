"""Values of secrets in what a step changed."""

from __future__ import annotations

import base64
import gzip
import io
from typing import TYPE_CHECKING

import pytest

from reeval_build.digest import BLOB
from reeval_build.execute.leaks import Leak, WatchedBatch
from reeval_build.execute.redaction import Redactor
from reeval_build.state.delta import DeltaEntry, DeltaKind
from reeval_build.stores.local import LocalStore
from tests.support.memory_store import MemoryBatch

if TYPE_CHECKING:
    from collections.abc import Callable

    from reeval_build.digest import Digest
    from reeval_build.ports.objects import Batch

TOKEN = "hunter2-f00d"
REDACTOR = Redactor({"TOKEN": TOKEN, "OTHER": "other/value"})


def leaks(*changes: DeltaEntry | Callable[[Batch], DeltaEntry], redactor: Redactor = REDACTOR) -> list[Leak]:
    """What is found in changes that are made with a batch, or are there already."""
    batch = WatchedBatch(MemoryBatch(), redactor)
    return list(batch.leaks([change if isinstance(change, DeltaEntry) else change(batch) for change in changes]))


def file(path: str, content: bytes, *, stream: bool = False) -> Callable[[Batch], DeltaEntry]:
    def add(batch: Batch) -> DeltaEntry:
        digest = batch.add_stream(BLOB, io.BytesIO(content))[0] if stream else batch.add(BLOB, content)
        return entry(path, digest=digest)

    return add


def entry(
    path: str, *, kind: DeltaKind = DeltaKind.FILE, digest: Digest | None = None, target: str | None = None, **more
) -> DeltaEntry:
    parts = tuple(path.encode().split(b"/"))
    return DeltaEntry(parts=parts, kind=kind, digest=digest, target=None if target is None else target.encode(), **more)


@pytest.mark.parametrize("stream", [False, True])
def test_files_with_a_value_in_their_bytes_are_found(stream):
    found = leaks(
        file("workspace/clean", b"nothing", stream=stream),
        file("workspace/.npmrc", f"//registry/:_authToken={TOKEN}\n".encode(), stream=stream),
        file("workspace/b64", base64.b64encode(f"user:{TOKEN}".encode()), stream=stream),
        file("workspace/both", f"{TOKEN} other%2Fvalue".encode(), stream=stream),
    )

    assert found == [
        Leak("workspace/.npmrc", frozenset({"TOKEN"})),
        Leak("workspace/b64", frozenset({"TOKEN"})),
        Leak("workspace/both", frozenset({"OTHER", "TOKEN"})),
    ]


@pytest.mark.parametrize("size", [256 * 1024, 1024 * 1024, 3 * 1024 * 1024])
@pytest.mark.parametrize("shift", [-len(TOKEN), -len(TOKEN) + 1, -5, -1, 0])
def test_a_value_at_the_border_of_two_chunks_is_found(tmp_path, size, shift):
    content = b"x" * (size + shift) + TOKEN.encode() + b"y" * size
    with LocalStore(tmp_path) as store, store.objects.batch() as batch:
        watched = WatchedBatch(batch, REDACTOR)
        digest, _ = watched.add_stream(BLOB, io.BytesIO(content))

        assert digest == BLOB.digest(content)
        assert list(watched.leaks([entry("f", digest=digest)])) == [Leak("f", frozenset({"TOKEN"}))]


def test_names_are_found_and_not_shown():
    found = leaks(
        entry(f"workspace/{TOKEN}", kind=DeltaKind.DIRECTORY),
        file(f"workspace/{TOKEN}/a", b"a"),
        file(f"workspace/{TOKEN}/b-{TOKEN}", b"a"),
        file("workspace/other/value", b"a"),
    )

    assert found == [
        Leak("workspace/[secret TOKEN]", frozenset({"TOKEN"})),
        Leak("workspace/[secret OTHER]", frozenset({"OTHER"})),
    ]


@pytest.mark.parametrize("kind", [DeltaKind.FIFO, DeltaKind.DELETED, DeltaKind.CHARACTER_DEVICE])
def test_names_of_what_has_no_bytes_are_found(kind):
    assert leaks(entry(TOKEN, kind=kind)) == [Leak("[secret TOKEN]", frozenset({"TOKEN"}))]


def test_targets_of_links_and_attributes_are_found():
    digest = BLOB.digest(b"clean")

    found = leaks(
        entry("link", kind=DeltaKind.SYMLINK, target=f"../{TOKEN}"),
        entry("value", digest=digest, xattrs=(("user.a", TOKEN.encode()),)),
        entry("name", digest=digest, xattrs=((f"user.{TOKEN}", b""),)),
        entry("clean", digest=digest, xattrs=(("user.a", b"a"),)),
    )

    assert [leak.path for leak in found] == ["link", "value", "name"]


def test_every_name_of_a_file_is_found():
    digest = BLOB.digest(TOKEN.encode())

    found = leaks(file("a", TOKEN.encode()), entry("b", kind=DeltaKind.HARD_LINK, digest=digest, target="a"))

    assert [leak.path for leak in found] == ["a", "b"]


def test_bytes_that_are_there_already_are_not_looked_at():
    assert leaks(entry("a", kind=DeltaKind.HARD_LINK, digest=BLOB.digest(TOKEN.encode()), target="b")) == []


def test_what_is_compressed_is_not_found():
    assert leaks(file("a.gz", gzip.compress(TOKEN.encode()))) == []
