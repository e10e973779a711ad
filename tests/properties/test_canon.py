from __future__ import annotations

from itertools import pairwise, product
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reeval_build import canon
from reeval_build.digest import Digest
from tests import strategies
from tests.support.torture import examples

if TYPE_CHECKING:
    from collections.abc import Callable


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


def near(value: Any, draw: st.DrawFn) -> Any:
    """The same value after one small change somewhere in it, of those that careless encodings do not see."""
    if isinstance(value, (list, dict)) and value and draw(st.booleans()):
        at = draw(st.sampled_from(range(len(value)) if isinstance(value, list) else sorted(value)))
        changed: Any = value.copy()
        changed[at] = near(value[at], draw)
        return changed
    return draw(st.sampled_from(changes(value)))


def changes(value: Any) -> list[Any]:
    """What one change makes of a value: a level more, and what its type has."""
    more = next(more for kind, more in CHANGES.items() if isinstance(value, kind))
    return [[value], {"": value}, [value, None], *more(value)]


def of_a_list(value: list[Any]) -> list[Any]:
    flat = [item for one in value for item in (one if isinstance(one, list) else [one])]
    found = [value[::-1], value[1:], [*value[:1], value[1:]], flat]
    if len(value) > 1 and all(isinstance(one, str) for one in value[:2]):
        # "a b", "c" and "a", "b c".
        whole = value[0] + value[1]
        found += [[whole[:at], whole[at:], *value[2:]] for at in range(len(whole) + 1)]
        found += [[whole, *value[2:]]]
    return found


def of_a_mapping(value: dict[str, Any]) -> list[Any]:
    found: list[Any] = [[*value.items()], [*value.values()], sorted(value), dict([*value.items()][1:])]
    for key, item in [*value.items()][:1]:
        rest = {name: one for name, one in value.items() if name != key}
        found += [{**rest, key + "\0": item}, {**rest, key[:-1]: item}]
        if isinstance(item, str):
            # A name that takes a character from its content.
            found += [{**rest, key + item[:1]: item[1:]}, {**rest, key[:-1]: key[-1:] + item}]
    return found


CHANGES: dict[type | tuple[type, ...], Callable[[Any], list[Any]]] = {
    (bool, type(None)): lambda value: [int(bool(value)), str(value), "", b"", [], not value],
    int: lambda value: [str(value), b"%d" % value, bool(value), -value, value * 10],
    str: lambda value: [value.encode(), f"{value}\0", f"{value} ", [*value], value.casefold(), value[::-1], value[1:]],
    Digest: lambda value: [value.raw, value.hex],
    bytes: lambda value: [value + b"\0", [*value], value[1:], value.hex()],
    list: of_a_list,
    dict: of_a_mapping,
}


@pytest.mark.conforms("fault 11")
@settings(max_examples=examples(500))
@given(st.data(), strategies.values)
def test_a_value_and_what_a_small_change_makes_of_it_encode_alike_only_when_nothing_changed(data, value):
    changed = near(value, data.draw)

    assert (canon.encode(changed) == canon.encode(value)) == (shape(changed) == shape(value))


@pytest.mark.conforms("fault 11")
@given(st.lists(st.text(alphabet="ab ,\0", max_size=3), max_size=4), st.data())
def test_texts_that_join_to_one_encode_apart(texts, data):
    """Every way to cut one text into pieces is another value."""
    whole = "".join(texts)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(whole)), max_size=4)))
    other = [whole[start:end] for start, end in pairwise([0, *cuts, len(whole)])]

    assert (canon.encode(texts) == canon.encode(other)) == (texts == other)
