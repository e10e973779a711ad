from __future__ import annotations

from itertools import product
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from reeval_build import canon
from reeval_build.digest import Digest
from tests import strategies


def shape(value: Any) -> Any:
    """A value that is equal only for values that are the same to a key: `True` is not 1 here."""
    if isinstance(value, (list, tuple)):
        return ("sequence", *map(shape, value))
    if isinstance(value, dict):
        return ("mapping", frozenset((key, shape(item)) for key, item in value.items()))
    return type(value), value


def shuffled(value: Any, draw: st.DrawFn) -> Any:
    """The same value with every mapping in another order and sequences of another type."""
    if isinstance(value, list):
        return tuple(shuffled(item, draw) for item in value)
    if isinstance(value, dict):
        return {key: shuffled(value[key], draw) for key in draw(st.permutations(list(value)))}
    return value


@given(strategies.values)
def test_decode_gives_back_what_was_encoded(value):
    assert shape(canon.decode(canon.encode(value))) == shape(value)


@given(strategies.values, strategies.values)
def test_values_encode_alike_exactly_when_they_are_the_same(one, other):
    assert (canon.encode(one) == canon.encode(other)) == (shape(one) == shape(other))


@given(st.data(), strategies.values)
def test_order_of_insertion_and_type_of_sequence_do_not_matter(data, value):
    again = shuffled(value, data.draw)

    assert canon.encode(again) == canon.encode(value)


@given(strategies.values, strategies.values)
def test_no_encoding_begins_with_another(one, other):
    first, second = canon.encode(one), canon.encode(other)

    assert first == second or not second.startswith(first)


def test_small_values_that_are_easily_confused_all_encode_apart():
    leaves: list[Any] = [None, True, False, 0, 1, -1, "", "1", "n", b"", b"1", Digest(bytes(32)), bytes(32), [], {}]
    small = leaves + [list(pair) for pair in product(leaves, repeat=2)] + [[leaf] for leaf in leaves]
    small += [{key: leaf} for key, leaf in product(["", "1", "n"], leaves)]
    small += [{"": one, "1": other} for one, other in product(leaves, repeat=2)]
    nested = small + [[value] for value in small] + [{"n": value} for value in small] + [[value, 0] for value in small]

    encodings: dict[bytes, Any] = {}
    for value in nested:
        known = encodings.setdefault(canon.encode(value), value)
        assert shape(known) == shape(value)

    assert len(encodings) > 1500


@st.composite
def damaged(draw: st.DrawFn) -> tuple[bytes, bytes]:
    """An encoding, and the same with some of its bytes changed, lost, doubled or added."""
    data = canon.encode(draw(strategies.values))
    at = draw(st.integers(0, len(data)))
    end = draw(st.integers(at, min(len(data), at + 9)))
    patch = draw(st.binary(max_size=9) | st.just(data[at:end] * 2) | st.sampled_from([b"T", b"n", b"\0", b"1"]))
    return data, data[:at] + patch + data[end:]


@given(damaged())
def test_damaged_bytes_are_refused_or_are_the_encoding_of_another_value(case):
    before, after = case

    try:
        value = canon.decode(after)
    except canon.DecodeError:
        return

    assert canon.encode(value) == after
    assert (shape(value) == shape(canon.decode(before))) == (after == before)


@given(st.binary(max_size=60))
def test_any_bytes_are_refused_or_are_an_encoding(data):
    try:
        value = canon.decode(data)
    except canon.DecodeError:
        return

    assert canon.encode(value) == data
