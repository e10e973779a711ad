from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, rule

from reeval_build import canon
from reeval_build.paths import PathError
from reeval_build.tree.compare import compare
from reeval_build.tree.directory import Entry, decode, encode, walk
from reeval_build.tree.draft import Draft
from tests import strategies
from tests.support.directories import Directories, at, directories, leaves

if TYPE_CHECKING:
    from reeval_build.paths import Parts

_entries = strategies.leaves | strategies.digests.map(Entry.directory)
_directories = st.dictionaries(strategies.names, _entries, max_size=6)


@given(_directories)
def test_a_directory_is_decoded_as_it_was_encoded(entries):
    assert decode(encode(entries)) == entries


@given(_directories)
def test_a_directory_is_written_as_the_one_canonical_encoding_writes_its_rows(entries):
    rows = [[name, one.kind.value, one.digest or one.target, one.size] for name, one in sorted(entries.items())]

    assert encode(entries) == canon.encode(rows)


@given(_directories, _directories)
def test_two_directories_encode_alike_exactly_when_they_are_equal(one, other):
    assert (encode(one) == encode(other)) == (one == other)


@given(_directories, st.data())
def test_bytes_are_refused_or_are_what_a_directory_is_written_as(entries, data):
    encoded = bytearray(encode(entries))
    for _ in range(data.draw(st.integers(1, 3))):
        encoded[data.draw(st.integers(0, len(encoded) - 1))] = data.draw(st.sampled_from(b"\0\1fxdlTFnsbhi/.12"))

    try:
        decoded = decode(bytes(encoded))
    except (canon.DecodeError, PathError):
        return

    assert encode(decoded) == encoded


@pytest.mark.conforms("fault 14")
@given(strategies.trees, st.randoms(use_true_random=False))
def test_a_tree_does_not_depend_on_the_order_it_was_made_in(model, random):
    kept = Directories()
    in_order, shuffled = Draft(kept.load), Draft(kept.load)
    everything = list(leaves(model))
    for parts in directories(model):
        in_order.make_directory(parts)
    for parts, entry in everything:
        in_order.put(parts, entry)

    random.shuffle(everything)
    for parts, entry in everything:
        shuffled.put(parts, entry)
    for parts in random.sample(list(directories(model)), len(list(directories(model)))):
        shuffled.make_directory(parts)

    assert in_order.save(kept.save) == shuffled.save(kept.save) == kept.keep(model)


@given(strategies.trees)
def test_walking_finds_every_file_link_and_directory_once(model):
    kept = Directories()

    found = [parts for parts, _entry in walk(kept.keep(model), kept.load)]

    assert sorted(found) == sorted([*directories(model), *(parts for parts, _entry in leaves(model))])


@given(strategies.trees, strategies.trees)
def test_what_differs_is_what_brute_force_finds(before, after):
    kept = Directories()
    old, new = dict(leaves(before)), dict(leaves(after))

    found = list(compare(kept.keep(before), kept.keep(after), kept.load))

    expected = {parts for parts in old.keys() | new.keys() if old.get(parts) != new.get(parts)}
    assert {(change.parts, change.before, change.after) for change in found} == {
        (parts, old.get(parts), new.get(parts)) for parts in expected
    }
    assert [change.parts for change in found] == sorted(expected)


@given(strategies.trees, strategies.trees)
def test_an_equal_directory_is_never_loaded(before, after):
    kept = Directories()
    old_root, new_root = kept.keep(before), kept.keep(after)
    shared = {
        kept.keep(item)
        for parts in [(), *directories(before)]
        if isinstance(item := at(before, parts), dict) and item == at(after, parts)
    }
    differing = {
        kept.keep(item)
        for model, other in ((before, after), (after, before))
        for parts in [(), *directories(model)]
        if isinstance(item := at(model, parts), dict) and item != at(other, parts)
    }

    list(compare(old_root, new_root, kept.load))

    assert not shared.difference(differing).intersection(kept.loaded)


class Editing(RuleBasedStateMachine):
    """A draft does what a nested dictionary does."""

    def __init__(self) -> None:
        super().__init__()
        self.kept = Directories()
        self.draft = Draft(self.kept.load)
        self.model: dict[bytes, Any] = {}

    @rule(parts=strategies.near_paths, entry=strategies.leaves)
    def put(self, parts: Parts, entry: Entry) -> None:
        blocked = any(isinstance(at(self.model, parts[:count]), Entry) for count in range(1, len(parts)))
        if blocked or isinstance(at(self.model, parts), dict):
            with pytest.raises(PathError):
                self.draft.put(parts, entry)
        else:
            self.draft.put(parts, entry)
            self._directory(parts[:-1])[parts[-1]] = entry

    @rule(parts=strategies.near_paths)
    def make_directory(self, parts: Parts) -> None:
        if any(isinstance(at(self.model, parts[:count]), Entry) for count in range(1, len(parts) + 1)):
            with pytest.raises(PathError):
                self.draft.make_directory(parts)
        else:
            self.draft.make_directory(parts)
            self._directory(parts)

    @rule(parts=strategies.near_paths, entry=strategies.leaves)
    def replace(self, parts: Parts, entry: Entry) -> None:
        self.draft.replace(parts, entry)
        self._directory(parts[:-1])[parts[-1]] = entry

    @rule(parts=strategies.near_paths)
    def make_room(self, parts: Parts) -> None:
        self.draft.make_room(parts)
        self._directory(parts)

    @rule(parts=strategies.near_paths)
    def remove(self, parts: Parts) -> None:
        self.draft.remove(parts)
        above = at(self.model, parts[:-1])
        if isinstance(above, dict):
            above.pop(parts[-1], None)

    @rule(parts=strategies.near_paths | st.just(()))
    def clear(self, parts: Parts) -> None:
        self.draft.clear(parts)
        self._directory(parts).clear()

    @rule(over=strategies.trees)
    def overlay(self, over: dict[bytes, Any]) -> None:
        tree = self.kept.keep(over)
        if _fits(self.model, over):
            self.draft.overlay(tree)
            for parts in directories(over):
                self._directory(parts)
            for parts, entry in leaves(over):
                self._directory(parts[:-1])[parts[-1]] = entry
        else:
            with pytest.raises(PathError):
                self.draft.overlay(tree)
            # How far a refused overlay got does not matter: what it was for has failed.
            self.draft = Draft(self.kept.load, self.kept.keep(self.model))

    @rule(parts=strategies.near_paths)
    def look(self, parts: Parts) -> None:
        expected = at(self.model, parts)
        found = self.draft.get(parts)
        if isinstance(expected, dict):
            assert found is not None
            assert found.kind is Entry.directory(self.kept.keep({})).kind
        else:
            assert found == expected

    @rule()
    def save(self) -> None:
        assert self.draft.save(self.kept.save) == self.kept.keep(self.model)

    @rule()
    def save_and_begin_again(self) -> None:
        root = self.draft.save(self.kept.save)
        assert root == self.kept.keep(self.model)
        self.draft = Draft(self.kept.load, root)

    def teardown(self) -> None:
        assert self.draft.save(self.kept.save) == self.kept.keep(self.model)

    def _directory(self, parts: Parts) -> dict[bytes, Any]:
        directory = self.model
        for name in parts:
            if not isinstance(directory.get(name), dict):
                directory[name] = {}
            directory = directory[name]
        return directory


def _fits(under: dict[bytes, Any], over: dict[bytes, Any]) -> bool:
    for name, item in over.items():
        below = under.get(name)
        if below is None:
            continue
        if isinstance(below, dict) != isinstance(item, dict):
            return False
        if isinstance(below, dict) and not _fits(below, item):
            return False
    return True


TestEditing = Editing.TestCase
