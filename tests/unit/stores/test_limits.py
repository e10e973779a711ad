"""Which records stay when there is not room for all."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from hypothesis import given
from hypothesis import strategies as st

from reeval_build.digest import BLOB, TREE, Digest, Domain
from reeval_build.plan.outputs import TreeOutput
from reeval_build.ports.records import Record
from reeval_build.stores.local.limits import Candidate, Choice, choose
from reeval_build.stores.local.reach import Reach
from reeval_build.tree import directory
from reeval_build.tree.directory import Entry

if TYPE_CHECKING:
    from collections.abc import Sequence

    from reeval_build.stores.local.objects import LocalObjects

MEGABYTE = 1024 * 1024


class Shelf:
    """Trees in memory whose files are only sizes."""

    def __init__(self) -> None:
        self.sizes: dict[bytes, int] = {}
        self._trees: dict[Digest, bytes] = {}

    def peek(self, _domain: Domain, digest: Digest) -> bytes | None:
        return self._trees.get(digest)

    def record(
        self, name: str, files: Sequence[str], *, seconds: float, age_days: int = 0, owner: str | None = None
    ) -> Candidate:
        """A record of a tree of files, each of them a megabyte."""
        blobs = {file: BLOB.digest(file.encode()) for file in files}
        data = directory.encode({file.encode(): Entry.file(blob, MEGABYTE) for file, blob in blobs.items()})
        tree, key = TREE.digest(data), BLOB.digest(b"key " + name.encode())
        self._trees[tree] = data
        self.sizes |= {tree.raw: 0, **{blob.raw: MEGABYTE for blob in blobs.values()}}
        output = TreeOutput(workspace=tree)
        record = Record(key=key, phase=name, output=output, material=b"", seconds=seconds)
        return Candidate(key=key.raw, record=record, age_days=age_days, roots=((TREE, tree.raw),), owner=owner)

    def choose(
        self, *candidates: Candidate, megabytes: int | None = None, older_than_days: int | None = None
    ) -> Choice:
        return choose(
            candidates,
            Reach(cast("LocalObjects", self)),
            self.sizes,
            older_than_days=older_than_days,
            budget_bytes=None if megabytes is None else megabytes * MEGABYTE,
            rule="budget",
        )


def names(choice: Choice) -> list[str]:
    return sorted(one.record.phase for one in choice.kept)


def test_what_took_longer_for_its_bytes_stays():
    shelf = Shelf()
    quick, slow, wide = (
        shelf.record("quick", ["a"], seconds=1),
        shelf.record("slow", ["b"], seconds=5),
        shelf.record("wide", ["c", "d", "e"], seconds=6),
    )

    assert names(shelf.choose(quick, slow, wide, megabytes=1)) == ["slow"]
    assert names(shelf.choose(quick, slow, wide, megabytes=4)) == ["slow", "wide"]
    assert names(shelf.choose(quick, slow, wide)) == ["quick", "slow", "wide"]


def test_a_week_without_use_halves_what_something_is_worth():
    shelf = Shelf()
    old = shelf.record("old", ["a"], seconds=10, age_days=14)
    worth_less, worth_more = (shelf.record(f"new {seconds}", ["b"], seconds=seconds) for seconds in (2.4, 2.6))

    assert names(shelf.choose(old, worth_less, megabytes=1)) == ["old"]
    assert names(shelf.choose(old, worth_more, megabytes=1)) == ["new 2.6"]


def test_something_that_was_never_used_is_worth_nothing_and_can_be_weighed():
    shelf = Shelf()
    ancient, new = shelf.record("ancient", ["a"], seconds=1e6, age_days=20_000), shelf.record("new", ["b"], seconds=0.1)

    assert names(shelf.choose(ancient, new, megabytes=1)) == ["new"]


def test_what_adds_nothing_stays_however_little_it_is_worth():
    shelf = Shelf()
    slow = shelf.record("slow", ["a", "b"], seconds=60)
    quick = shelf.record("quick", ["a"], seconds=0.001)

    assert names(shelf.choose(slow, quick, megabytes=2)) == ["quick", "slow"]


def test_what_is_in_use_stays_and_leaves_less_for_others():
    shelf = Shelf()
    used = shelf.record("used", ["a"], seconds=0.001, age_days=100, owner="process 1")
    slow = shelf.record("slow", ["b"], seconds=60)

    assert names(shelf.choose(used, slow, megabytes=0)) == ["used"]
    assert names(shelf.choose(used, slow, megabytes=1, older_than_days=30)) == ["used"]
    assert names(shelf.choose(used, slow, megabytes=2)) == ["slow", "used"]


@given(
    st.lists(
        st.tuples(
            st.sets(st.sampled_from("abcdef")),
            st.floats(0, 100),
            st.integers(0, 40),
            st.sampled_from([None, "process"]),
        ),
        max_size=8,
    ),
    st.integers(0, 6),
)
def test_what_is_kept_has_its_objects_and_fits_but_for_what_is_in_use(described, megabytes):
    shelf = Shelf()
    candidates = [
        shelf.record(str(number), sorted(files), seconds=seconds, age_days=age, owner=owner)
        for number, (files, seconds, age, owner) in enumerate(described)
    ]

    choice = shelf.choose(*candidates, megabytes=megabytes)

    reach, seen = Reach(cast("LocalObjects", shelf)), set[bytes]()
    for one in choice.kept:
        list(reach.walk(one.roots, seen))
    in_use = set().union(*(files for files, _seconds, _age, owner in described if owner))
    assert choice.needed == seen
    assert sum(shelf.sizes[raw] for raw in seen) <= max(megabytes, len(in_use)) * MEGABYTE
    assert len(choice.kept) + len(choice.evicted) == len(candidates)
    assert all(one.owner is None for one, _rule in choice.evicted)
