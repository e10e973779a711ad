"""What a store in a directory compresses, and what it does with frames that are not right."""

from __future__ import annotations

import tracemalloc
from typing import TYPE_CHECKING

import pytest
import zstandard

from reeval_build.digest import BLOB, TREE
from reeval_build.ports.objects import LostObjectError
from reeval_build.tree.directory import Entry, encode
from tests.support.index import Kept, file_of, objects, opened_index
from tests.support.local_store import MEGABYTE, keep, noise, words

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from reeval_build.digest import Digest
    from reeval_build.stores.local import LocalStore

SMALL, LARGE = words(3000), words(MEGABYTE)


def full_size_of(root: Path, digest: Digest) -> int | None:
    with opened_index(root) as database:
        found: tuple[int | None] = database.execute(
            "SELECT full_size FROM objects WHERE digest = ?", (digest.raw,)
        ).fetchone()
    return found[0]


def overwrite(kept: Kept, root: Path, data: bytes) -> None:
    """Put other bytes in an object's place, and have the index say how long they are."""
    path = file_of(kept, root)
    if kept.pack is None:
        path.write_bytes(data)
    else:
        path.write_bytes(path.read_bytes()[: kept.offset] + data)
    with opened_index(root) as database:
        database.execute("UPDATE objects SET size = ? WHERE digest = ?", (len(data), kept.digest))


@pytest.mark.parametrize("content", [SMALL, LARGE], ids=["small", "large"])
def test_what_gets_smaller_is_compressed_and_read_back_as_it_was(store, root, content):
    (digest,) = keep(store, content)

    (kept,) = objects(root)
    assert full_size_of(root, digest) == len(content)
    assert kept.size == file_of(kept, root).stat().st_size < len(content) * 0.7
    assert store.objects.read(BLOB, digest) == content
    assert store.objects.peek(BLOB, digest) == content
    assert store.objects.problem_of(digest, [TREE, BLOB]) is None
    with store.objects.open(BLOB, digest) as stream:
        assert (stream.read(10), stream.read(7), stream.read()) == (content[:10], content[10:17], content[17:])


@pytest.mark.parametrize("content", [b"", b"a" * 100, noise(3000), noise(MEGABYTE)], ids=len)
def test_what_does_not_is_kept_as_it_is(store, root, content):
    (digest,) = keep(store, content)

    (kept,) = objects(root)
    assert full_size_of(root, digest) is None
    assert file_of(kept, root).read_bytes() == content
    assert store.objects.read(BLOB, digest) == content


def test_files_that_compress_are_found_among_others_that_do_not(store, root):
    contents = [noise(1000 + number) for number in range(64)] + [words(1000 + number) for number in range(64)]

    digests = keep(store, *contents)

    assert [full_size_of(root, digest) for digest in digests[:64]] == [None] * 64
    assert [full_size_of(root, digest) for digest in digests[64:]] == [1000 + number for number in range(64)]
    assert [store.objects.read(BLOB, digest) for digest in digests] == contents


def test_directories_are_compressed_whatever_is_in_their_files(store, root):
    entries = {b"file-%d" % number: Entry.file(BLOB.digest(b"%d" % number), number) for number in range(50)}
    with store.objects.batch() as batch:
        for number in range(40):
            batch.add(BLOB, noise(8000 + number))
        tree = batch.add(TREE, encode(entries))

    assert full_size_of(root, tree) == len(encode(entries))


@pytest.mark.conforms("fault 22")
@pytest.mark.parametrize("content", [SMALL, LARGE], ids=["small", "large"])
def test_a_frame_in_which_any_bit_was_flipped_is_corrupt_or_still_the_same(store, root, content):
    (digest,) = keep(store, content)
    (kept,) = objects(root)
    whole = file_of(kept, root).read_bytes()
    found = []
    for at in {*range(24), *range(0, len(whole), len(whole) // 60), len(whole) - 1}:
        garbled = bytearray(whole)
        garbled[at] ^= 1 << at % 8
        file_of(kept, root).write_bytes(garbled)
        found.append(store.objects.peek(BLOB, digest))
        reason = store.objects.problem_of(digest, [BLOB])
        assert reason == (None if found[-1] else "is corrupt")
    assert set(found) <= {None, content}
    assert found.count(None) > 60


def _cut(data: bytes) -> bytes:
    return data[: len(data) // 2]


def _with_a_tail(data: bytes) -> bytes:
    return data + b"more"


def _of_something_longer(data: bytes) -> bytes:
    return zstandard.compress(zstandard.ZstdDecompressor().decompressobj().decompress(data) + b"more")


def _without_a_size(data: bytes) -> bytes:
    whole = zstandard.ZstdDecompressor().decompressobj().decompress(data)
    return zstandard.ZstdCompressor(write_content_size=False).compress(whole[:-1])


def _empty(_data: bytes) -> bytes:
    return b""


@pytest.mark.conforms("fault 22")
@pytest.mark.parametrize("open_it", [False, True], ids=["read", "open"])
@pytest.mark.parametrize("content", [SMALL, LARGE], ids=["small", "large"])
@pytest.mark.parametrize("spoil", [_cut, _of_something_longer, _without_a_size, _empty])
def test_a_frame_of_something_else_is_corrupt_and_what_it_was_can_be_kept_again(
    store: LocalStore, root: Path, content: bytes, spoil: Callable[[bytes], bytes], *, open_it: bool
) -> None:
    (digest,) = keep(store, content)
    (kept,) = objects(root)
    overwrite(kept, root, spoil(file_of(kept, root).read_bytes()))

    with pytest.raises(LostObjectError) as caught:
        look(store, digest, open_it=open_it)

    assert caught.value.reason == "is corrupt"
    assert store.objects.present([digest]) == set()
    assert (root / "quarantine" / digest.hex).exists() == (kept.pack is None)
    assert keep(store, content) == [digest]
    assert store.objects.read(BLOB, digest) == content


def look(store: LocalStore, digest: Digest, *, open_it: bool) -> None:
    if open_it:
        with store.objects.open(BLOB, digest) as stream:
            pytest.fail(f"it was handed out: {stream.read(10)!r}")
    else:
        store.objects.read(BLOB, digest)


def test_a_small_frame_with_a_tail_is_corrupt(store, root):
    (digest,) = keep(store, SMALL)
    (kept,) = objects(root)
    overwrite(kept, root, _with_a_tail(file_of(kept, root).read_bytes()))

    with pytest.raises(LostObjectError, match="is corrupt"):
        store.objects.read(BLOB, digest)


@pytest.mark.conforms("fault 22")
@pytest.mark.parametrize("says", ["what it had", "what the frame has"])
@pytest.mark.parametrize("content", [SMALL, LARGE], ids=["small", "large"])
def test_a_frame_that_unpacks_to_much_more_than_there_was_takes_no_memory(store, root, content, says):
    bomb = zstandard.compress(bytes(256 * MEGABYTE))
    (digest,) = keep(store, content)
    (kept,) = objects(root)
    overwrite(kept, root, bomb)
    if says == "what the frame has":
        with opened_index(root) as database:
            database.execute("UPDATE objects SET full_size = ?", (256 * MEGABYTE,))

    tracemalloc.start()
    try:
        with pytest.raises(LostObjectError, match="is corrupt"):
            store.objects.read(BLOB, digest)
        _now, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert most < 20 * MEGABYTE


def test_a_large_object_that_is_garbled_after_it_was_verified_is_corrupt_when_it_cannot_be_read(store, root):
    (digest,) = keep(store, LARGE)
    assert store.objects.read(BLOB, digest) == LARGE
    (kept,) = objects(root)
    file_of(kept, root).write_bytes(_cut(file_of(kept, root).read_bytes()))

    with pytest.raises(LostObjectError, match="is corrupt"):
        store.objects.read(BLOB, digest)
