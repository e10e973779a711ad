"""What every store of objects does."""

from __future__ import annotations

import io
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from threading import Barrier
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from reeval_build.digest import BLOB, DELTA, TREE, Digest
from reeval_build.errors import InfraError
from reeval_build.ports.objects import LostObjectError
from tests.contract.conftest import empty_shelf
from tests.support.torture import examples

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from reeval_build.ports.objects import Objects
    from tests.contract.conftest import Shelf

# A store may keep small and large objects in different ways; these are on either side of any sensible border.
SIZES = (0, 1, 1000, 256 * 1024 - 1, 256 * 1024, 256 * 1024 + 1, 3 * 1024 * 1024 + 7)
SMALL, LARGE = b"small", b"large " * 100_000


class Trickle(io.RawIOBase):
    """A stream that gives a few bytes at a time, as a pipe may."""

    def __init__(self, data: bytes, step: int) -> None:
        self._rest = io.BytesIO(data)
        self._step = step

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        return self._rest.read(self._step if size < 0 else min(size, self._step))


@pytest.fixture(params=["local", "memory", "below", "on top"])
def shelf(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Shelf]:
    """Each store of objects there is, empty."""
    with empty_shelf(request.param, tmp_path) as made:
        yield made


@pytest.fixture
def objects(shelf: Shelf) -> Objects:
    return shelf.objects


def keep(objects: Objects, *contents: bytes) -> list[Digest]:
    with objects.batch() as batch:
        return [batch.add(BLOB, content) for content in contents]


def add_and_raise(objects: Objects, error: BaseException, *contents: bytes) -> None:
    """Add to a batch, by value and as streams, and end it with an exception."""
    with objects.batch() as batch:
        for content in contents:
            batch.add(BLOB, content)
            batch.add_stream(BLOB, io.BytesIO(content))
        raise error


def content_of(size: int) -> bytes:
    return (bytes(range(256)) * (size // 256 + 1))[:size]


@pytest.mark.parametrize("size", SIZES)
def test_what_was_kept_is_read_back_whole_and_as_a_stream(objects, size):
    (digest,) = keep(objects, content_of(size))

    assert digest == BLOB.digest(content_of(size))
    assert objects.read(BLOB, digest) == content_of(size)
    with objects.open(BLOB, digest) as stream:
        assert stream.read() == content_of(size)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("step", [4096, 256 * 1024 + 1, 10**9])
def test_an_object_is_added_from_a_stream_that_gives_as_much_as_it_likes(objects, size, step):
    with objects.batch() as batch:
        added = batch.add_stream(BLOB, Trickle(content_of(size), step))

    assert added == (BLOB.digest(content_of(size)), size)
    assert objects.read(BLOB, added[0]) == content_of(size)


@pytest.mark.parametrize("content", [SMALL, LARGE], ids=["small", "large"])
def test_a_stream_is_read_a_piece_at_a_time_and_more_than_once(objects, content):
    (digest,) = keep(objects, content)

    for _ in range(2):
        with objects.open(BLOB, digest) as stream:
            assert stream.read(3) == content[:3]
            assert stream.read(2) == content[3:5]
            assert stream.read() == content[5:]


def test_many_are_read_in_the_order_in_which_they_are_asked_for(objects):
    contents = [b"%d" % number for number in range(1100)] + [LARGE]
    digests = keep(objects, *contents)

    assert list(objects.read_all(BLOB, iter(reversed(digests)))) == contents[::-1]
    assert list(objects.read_all(BLOB, [digests[3], digests[3], digests[0]])) == [b"3", b"3", b"0"]
    assert list(objects.read_all(BLOB, [])) == []


@pytest.mark.conforms("fault 22")
@pytest.mark.parametrize(("damage", "reason"), [("flip", "is corrupt"), ("lose", "is missing")])
def test_of_many_the_one_that_is_lost_is_named(shelf, damage, reason):
    (large,) = keep(shelf.objects, LARGE)
    digests = [*keep(shelf.objects, *(b"%d" % number for number in range(10))), large]
    (small,) = keep(shelf.objects, SMALL)
    for digest in (small, large):
        getattr(shelf, damage)(digest)

        with pytest.raises(LostObjectError) as caught:
            list(shelf.objects.read_all(BLOB, [*digests[:10], digest, *digests[:10]]))

        assert (caught.value.digest, caught.value.reason) == (digest, reason)


def test_nothing_is_there_before_the_batch_ends_and_everything_afterwards(objects):
    digests = [BLOB.digest(SMALL), BLOB.digest(LARGE), TREE.digest(SMALL)]

    with objects.batch() as batch:
        batch.add(BLOB, SMALL)
        batch.add(BLOB, LARGE)
        batch.add(TREE, SMALL)
        assert objects.present(digests) == set()
        for digest in digests:
            with pytest.raises(LostObjectError):
                objects.read(BLOB, digest)

    assert objects.present(digests) == set(digests)


@pytest.mark.parametrize("error", [InfraError("the step failed"), KeyboardInterrupt(), LookupError()], ids=repr)
def test_a_batch_that_ends_with_an_exception_keeps_nothing_and_passes_it_on(objects, error):
    with pytest.raises(type(error)) as caught:
        add_and_raise(objects, error, SMALL, LARGE)

    assert caught.value is error
    assert objects.present([BLOB.digest(SMALL), BLOB.digest(LARGE)]) == set()


def test_a_batch_of_nothing_is_no_matter(objects):
    with objects.batch():
        pass

    assert objects.present([BLOB.digest(b"")]) == set()


@pytest.mark.parametrize("content", [SMALL, LARGE], ids=["small", "large"])
def test_one_content_is_kept_however_often_it_is_added(objects, content):
    with objects.batch() as batch:
        first = batch.add(BLOB, content)
        assert batch.add(BLOB, content) == first
        assert batch.add_stream(BLOB, io.BytesIO(content)) == (first, len(content))
    (again,) = keep(objects, content)

    assert again == first
    assert objects.read(BLOB, first) == content


def test_one_content_in_two_domains_is_two_objects(objects):
    with objects.batch() as batch:
        blob, tree = batch.add(BLOB, SMALL), batch.add(TREE, SMALL)

    assert blob != tree
    assert (objects.read(BLOB, blob), objects.read(TREE, tree)) == (SMALL, SMALL)


def test_a_batch_that_failed_does_not_harm_what_was_kept_before(objects):
    (digest, large) = keep(objects, SMALL, LARGE)

    with pytest.raises(InfraError):
        add_and_raise(objects, InfraError("no"), SMALL, LARGE, b"new")

    assert (objects.read(BLOB, digest), objects.read(BLOB, large)) == (SMALL, LARGE)


@pytest.mark.parametrize("content", [SMALL, LARGE], ids=["small", "large"])
def test_one_batch_inside_another_publishes_on_its_own(objects, content):
    with objects.batch() as outer:
        outer.add(BLOB, content)
        (inner,) = keep(objects, content)
        assert objects.read(BLOB, inner) == content

    assert objects.read(BLOB, inner) == content


def test_those_present_of_many_are_found(objects):
    kept = keep(objects, *(b"%d" % number for number in range(1700)))
    absent = [BLOB.digest(b"absent %d" % number) for number in range(1700)]

    assert objects.present([]) == set()
    assert objects.present(absent) == set()
    assert objects.present(kept + absent) == set(kept)
    assert objects.present(iter([*kept[:3], *kept[:3], absent[0]])) == set(kept[:3])


def test_directories_present_of_many_are_found(objects):
    with objects.batch() as batch:
        kept = [batch.add(TREE, b"%d" % number) for number in range(1700)]
    absent = [TREE.digest(b"absent %d" % number) for number in range(1700)]

    assert objects.present_trees([]) == set()
    assert objects.present_trees(iter(kept + absent)) == set(kept)


@pytest.mark.conforms("fault 22")
@pytest.mark.parametrize("open_it", [False, True], ids=["read", "open"])
def test_an_object_that_was_never_kept_is_missing(objects, open_it):
    absent = BLOB.digest(b"never kept")

    with pytest.raises(LostObjectError) as caught:
        look(objects, absent, open_it=open_it)

    assert (caught.value.digest, caught.value.reason) == (absent, "is missing")
    assert absent.short in str(caught.value)


@pytest.mark.conforms("fault 22")
@pytest.mark.parametrize("open_it", [False, True], ids=["read", "open"])
@pytest.mark.parametrize("content", [SMALL, LARGE], ids=["small", "large"])
def test_an_object_whose_bytes_changed_is_corrupt_and_nothing_of_it_is_handed_out(shelf, content, open_it):
    (digest,) = keep(shelf.objects, content)
    shelf.flip(digest)

    with pytest.raises(LostObjectError) as caught:
        look(shelf.objects, digest, open_it=open_it)

    assert (caught.value.digest, caught.value.reason) == (digest, "is corrupt")


@pytest.mark.conforms("fault 22")
@pytest.mark.parametrize("open_it", [False, True], ids=["read", "open"])
@pytest.mark.parametrize(
    ("shelf", "content"),
    [
        ("local", SMALL),
        ("memory", SMALL),
        ("memory", LARGE),
    ],
    ids=["local small", "memory small", "memory large"],
    indirect=["shelf"],
)
def test_an_object_that_was_sound_when_it_was_read_before_is_verified_again(shelf, content, open_it):
    (digest,) = keep(shelf.objects, content)
    assert shelf.objects.read(BLOB, digest) == content
    shelf.flip(digest)

    with pytest.raises(LostObjectError, match="is corrupt"):
        look(shelf.objects, digest, open_it=open_it)


@pytest.mark.conforms("fault 22")
@pytest.mark.parametrize("open_it", [False, True], ids=["read", "open"])
@pytest.mark.parametrize("content", [SMALL, LARGE], ids=["small", "large"])
def test_an_object_whose_bytes_were_taken_away_is_missing(shelf, content, open_it):
    (digest,) = keep(shelf.objects, content)
    shelf.lose(digest)

    with pytest.raises(LostObjectError) as caught:
        look(shelf.objects, digest, open_it=open_it)

    assert (caught.value.digest, caught.value.reason) == (digest, "is missing")


@pytest.mark.conforms("fault 22")
@pytest.mark.parametrize("damage", ["flip", "lose"])
@pytest.mark.parametrize("content", [SMALL, LARGE], ids=["small", "large"])
def test_a_lost_object_is_no_longer_present_and_can_be_kept_again(shelf, content, damage):
    (digest,) = keep(shelf.objects, content)
    getattr(shelf, damage)(digest)
    with pytest.raises(LostObjectError):
        shelf.objects.read(BLOB, digest)

    assert shelf.objects.present([digest]) == set()
    assert keep(shelf.objects, content) == [digest]

    assert shelf.objects.read(BLOB, digest) == content
    with shelf.objects.open(BLOB, digest) as stream:
        assert stream.read() == content


@pytest.mark.conforms("fault 22")
@pytest.mark.parametrize("damage", ["flip", "lose"])
def test_a_lost_object_does_not_take_its_neighbours_with_it(shelf, damage):
    large, other = keep(shelf.objects, LARGE, LARGE + b"2")
    (small,) = keep(shelf.objects, SMALL)
    getattr(shelf, damage)(large)
    with pytest.raises(LostObjectError):
        shelf.objects.read(BLOB, large)

    assert shelf.objects.read(BLOB, other) == LARGE + b"2"
    assert shelf.objects.read(BLOB, small) == SMALL


@pytest.mark.conforms("fault 20")
def test_threads_that_keep_the_same_objects_at_once_all_find_them(objects):
    contents = [b"%d" % number for number in range(40)] + [LARGE + b"%d" % number for number in range(3)]
    together = Barrier(8)

    def work(_number: int) -> list[bytes]:
        together.wait()
        digests = keep(objects, *contents)
        return [objects.read(BLOB, digest) for digest in digests]

    with ThreadPoolExecutor(8) as threads:
        results = list(threads.map(work, range(8)))

    assert results == [contents] * 8


def test_threads_read_one_object_at_once(objects):
    small, large = keep(objects, SMALL, LARGE)
    together = Barrier(8)

    def work(number: int) -> bytes:
        together.wait()
        digest = (small, large)[number % 2]
        with objects.open(BLOB, digest) as stream:
            content: bytes = stream.read()
        return content

    with ThreadPoolExecutor(8) as threads:
        assert list(threads.map(work, range(8))) == [SMALL, LARGE] * 4


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=examples(30))
@given(
    st.lists(
        st.tuples(st.sampled_from([BLOB, TREE, DELTA]), st.binary(max_size=20) | st.just(LARGE), st.booleans()),
        max_size=8,
    ),
    st.booleans(),
)
def test_any_batch_is_kept_whole_or_not_at_all(shelf, additions, ends_well):
    objects = shelf.objects
    already = objects.present(domain.digest(data) for domain, data, _as_stream in additions)

    with nullcontext() if ends_well else pytest.raises(InfraError), objects.batch() as batch:
        for domain, data, as_stream in additions:
            added = batch.add_stream(domain, io.BytesIO(data))[0] if as_stream else batch.add(domain, data)
            assert added == domain.digest(data)
        end(well=ends_well)

    found = {domain.digest(data) for domain, data, _as_stream in additions}
    assert objects.present(found) == (found if ends_well else already)
    for domain, data, _as_stream in additions:
        if domain.digest(data) in objects.present(found):
            assert objects.read(domain, domain.digest(data)) == data


def end(*, well: bool) -> None:
    if not well:
        raise InfraError("no")


def look(objects: Objects, digest: Digest, *, open_it: bool) -> None:
    if open_it:
        with objects.open(BLOB, digest) as stream:
            pytest.fail(f"it was handed out: {stream.read(10)!r}")
    else:
        objects.read(BLOB, digest)
