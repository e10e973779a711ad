"""Objects of one process, on those of a store."""

from __future__ import annotations

import threading
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from reeval_build.digest import BLOB
from reeval_build.ports.objects import LostObjectError
from reeval_build.stores.layered import LayeredObjects
from reeval_build.stores.private import PrivateObjects
from tests.support.memory_store import MemoryObjects

if TYPE_CHECKING:
    from reeval_build.digest import Digest
    from reeval_build.ports.objects import Objects

CONTENTS = [b"small", b"large " * 100_000]


def keep(objects: Objects, content: bytes) -> Digest:
    with objects.batch() as batch:
        return batch.add(BLOB, content)


@pytest.mark.parametrize("content", CONTENTS, ids=["small", "large"])
def test_what_is_private_is_read_from_both_layers_and_is_not_in_the_store(tmp_path, content):
    shared, own = MemoryObjects(), PrivateObjects(scratch=tmp_path)
    with closing(own):
        objects = LayeredObjects(own, shared, into=shared)
        digest = keep(LayeredObjects(own, shared, into=own), content)

        assert objects.read(BLOB, digest) == content
        with objects.open(BLOB, digest) as stream:
            assert stream.read() == content
        assert objects.present([digest]) == {digest}
        assert shared.kept == {}


def test_both_layers_are_read_and_one_is_written_to(tmp_path):
    shared, own = MemoryObjects(), PrivateObjects(scratch=tmp_path)
    with closing(own):
        objects = LayeredObjects(own, shared, into=shared)
        below, above = keep(objects, b"0"), keep(LayeredObjects(own, shared, into=own), b"1")

        assert [objects.read(BLOB, digest) for digest in (below, above)] == [b"0", b"1"]
        assert objects.present([below, above, BLOB.digest(b"2")]) == {below, above}
        assert set(shared.kept) == {below}


def test_nothing_is_there_before_the_first_nor_after_the_end(tmp_path):
    own = PrivateObjects(scratch=tmp_path)
    absent = BLOB.digest(b"x")

    assert own.present([absent]) == set()
    with pytest.raises(LostObjectError):
        own.read(BLOB, absent)
    with pytest.raises(LostObjectError), own.open(BLOB, absent):
        pass
    assert list(tmp_path.iterdir()) == []
    for content in CONTENTS:
        keep(own, content)
    assert list(tmp_path.iterdir()) != []
    own.close()

    assert list(tmp_path.iterdir()) == []


def test_it_can_be_closed_when_there_was_nothing(tmp_path):
    PrivateObjects(scratch=tmp_path).close()

    assert list(tmp_path.iterdir()) == []


def test_only_the_user_can_look_into_it(tmp_path):
    with closing(PrivateObjects(scratch=tmp_path)) as own:
        keep(own, b"x")

        assert [path.stat().st_mode & 0o777 for path in tmp_path.iterdir()] == [0o700]


def test_threads_that_come_first_at_once_share_one(tmp_path):
    with closing(PrivateObjects(scratch=tmp_path)) as own:
        threads = [threading.Thread(target=keep, args=(own, b"%d" % at)) for at in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

        assert len(own.present(BLOB.digest(b"%d" % at) for at in range(8))) == 8
