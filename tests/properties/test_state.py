from __future__ import annotations

import itertools
from contextlib import suppress

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reeval_build import canon
from reeval_build.digest import BLOB, Digest
from reeval_build.paths import PathError, display
from reeval_build.state.delta import DeltaEntry, DeltaKind, decode, encode, in_order
from reeval_build.state.placed import placed_entries
from reeval_build.state.state import PlacedTree, State, StepDelta
from reeval_build.state.workspace import apply_entries, tree_at
from reeval_build.tree.draft import Draft
from tests import strategies
from tests.support.differences import delta_between
from tests.support.directories import Directories

PLACE = (b"srv", b"work")
BASE = BLOB.digest(b"base")


@given(strategies.deltas)
def test_a_delta_and_its_times_are_decoded_as_they_were_encoded(entries):
    decoded = decode(*encode(entries))

    assert decoded == entries
    assert [entry.mtime_s for entry in decoded] == [entry.mtime_s for entry in entries]


@given(strategies.deltas, st.randoms(use_true_random=False))
def test_a_delta_does_not_depend_on_the_order_its_entries_came_in(entries, random):
    shuffled = random.sample(entries, len(entries))

    assert encode(shuffled) == encode(entries)


@given(strategies.deltas, strategies.deltas)
def test_two_deltas_encode_alike_exactly_when_they_are_equal(one, other):
    assert (encode(one)[0] == encode(other)[0]) == (one == other)


@given(strategies.delta_entries(), strategies.delta_entries(), st.sampled_from(attrs.fields(DeltaEntry)))
def test_a_field_is_part_of_a_delta_exactly_when_it_is_part_of_equality(entry, donor, field):
    changed = attrs.evolve(entry, **{field.name: getattr(donor, field.name)})

    assert (encode([changed])[0] == encode([entry])[0]) == (changed == entry)


@given(strategies.entries_of_any_shape)
def test_a_delta_is_written_and_read_exactly_when_nothing_in_it_is_below_something_else_than_a_directory(entries):
    leaves = [entry.parts for entry in entries if entry.kind is not DeltaKind.DIRECTORY]
    below = {one.path for one in entries for leaf in leaves if one.parts != leaf and one.parts[: len(leaf)] == leaf}
    alone = [encode([entry]) for entry in in_order(entries)]
    data, times = (canon.encode([row for one in alone for row in as_list(canon.decode(one[at]))]) for at in (0, 1))

    if not below:
        assert encode(entries) == (data, times)
        assert decode(data, times) == in_order(entries)
        return
    for refused in (lambda: encode(entries), lambda: decode(data, times)):
        with pytest.raises(PathError) as caught:
            refused()
        assert caught.value.path in {display(path) for path in below}


def as_list(value: canon.Value) -> list[canon.Value]:
    assert isinstance(value, list)
    return value


@given(strategies.deltas, st.data())
def test_damaged_bytes_are_refused_or_are_another_delta(entries, data):
    encoded, times = encode(entries)
    damaged = bytearray(encoded)
    damaged[data.draw(st.integers(0, len(damaged) - 1))] = data.draw(st.sampled_from(b"\0\1nTFfdlhpcb-/.12i"))

    with suppress(canon.DecodeError, PathError):
        assert encode(decode(bytes(damaged), times)) == (bytes(damaged), times)


@pytest.mark.conforms("91")
@given(strategies.trees, strategies.trees, st.data())
def test_a_delta_between_two_trees_turns_the_first_into_the_second(before, after, data):
    kept = Directories()
    entries = delta_between(before, after, at=PLACE, draw=data.draw)
    draft = Draft(kept.load, kept.keep(before))

    apply_entries(draft, PLACE, decode(*encode(entries)))

    assert draft.save(kept.save) == kept.keep(after)


@given(st.lists(strategies.trees, min_size=2, max_size=4), st.data())
def test_the_tree_of_a_state_is_what_its_last_step_left(models, data):
    kept = Directories()
    steps: dict[Digest, tuple[DeltaEntry, ...]] = {}
    deltas: list[PlacedTree | StepDelta] = [PlacedTree(at=PLACE, tree=kept.keep(models[0]), replaces=True)]
    for before, after in itertools.pairwise(models):
        step = StepDelta(delta=BLOB.digest(b"%d" % len(steps)), times=BASE)
        elsewhere = DeltaEntry(parts=(b"home", b"x"), kind=DeltaKind.FILE, digest=BASE)
        steps[step.delta] = (elsewhere, *delta_between(before, after, at=PLACE, draw=data.draw))
        deltas.append(step)

    draft = tree_at(State(BASE, tuple(deltas)), PLACE, kept.load, lambda step: steps[step.delta])

    assert draft.save(kept.save) == kept.keep(models[-1])


@given(strategies.trees, strategies.trees)
def test_a_placed_tree_read_as_entries_is_that_tree(below, placed):
    kept = Directories()
    delta = PlacedTree(at=PLACE, tree=kept.keep(placed), replaces=True)
    draft = Draft(kept.load, kept.keep(below))

    apply_entries(draft, PLACE, placed_entries(delta, kept.load))

    assert draft.save(kept.save) == delta.tree


@given(
    strategies.digests,
    st.lists(strategies.placed_trees | strategies.step_deltas, max_size=4),
    strategies.digests,
    st.lists(strategies.placed_trees | strategies.step_deltas, max_size=4),
)
def test_two_states_have_one_content_exactly_when_they_are_equal(base, deltas, other_base, other_deltas):
    states = [State(one, tuple(some)) for one in (base, other_base) for some in (deltas, other_deltas)]

    for one in states:
        for other in states:
            assert (one.content == other.content) == (one == other)


@given(strategies.digests, st.data())
def test_kinds_of_deltas_are_never_mixed_up_though_they_name_one_thing(digest, data):
    placed = PlacedTree(at=data.draw(strategies.near_paths), tree=digest, replaces=data.draw(st.booleans()))
    step = StepDelta(delta=digest, times=digest)

    assert State(BASE, (placed,)).content != State(BASE, (step,)).content
    assert State(BASE, (placed, step)).content != State(BASE, (step, placed)).content
