from __future__ import annotations

import re
import subprocess
import sys
from types import MappingProxyType

import pytest

from reeval_build import canon
from reeval_build.digest import Digest
from tests.support.names import name_of


def scalar(tag: bytes, content: bytes) -> bytes:
    return tag + len(content).to_bytes(8) + content


def collection(tag: bytes, count: int, *items: bytes) -> bytes:
    return tag + count.to_bytes(8) + b"".join(items)


NOTHING = b"n"
EMPTY_TEXT = scalar(b"s", b"")


def test_a_tuple_and_a_list_are_one_sequence():
    assert canon.encode((1, ("a", ()))) == canon.encode([1, ["a", []]])


def test_mappings_of_every_kind_and_order_are_one_mapping():
    expected = canon.encode({"a": 1, "b": 2, "": 3})

    assert canon.encode({"": 3, "b": 2, "a": 1}) == expected
    assert canon.encode(MappingProxyType({"b": 2, "": 3, "a": 1})) == expected


def test_keys_are_sorted_by_their_utf_8_bytes():
    # By UTF-16 code units, as JavaScript sorts, the second would come first.
    high, astral = "\ufb01", "\U0001f600"

    encoded = canon.encode({astral: None, high: None})

    assert encoded.index(high.encode()) < encoded.index(astral.encode())


@pytest.mark.conforms("fault 11")
@pytest.mark.parametrize(
    ("one", "other"),
    [
        (["a b", "c"], ["a", "b c"]),
        (["ab", "c"], ["a", "bc"]),
        ({"ab": "c"}, {"a": "bc"}),
        ({"a": ["b"], "c": []}, {"a": [], "c": ["b"]}),
        (["a"], ["a", ""]),
        ([[], []], [[[]]]),
        ([["a"], "b"], [["a", "b"]]),
        ("1", 1),
        (1, True),
        (0, False),
        (None, False),
        (None, ""),
        ("", b""),
        ([], {}),
        ([], None),
        (["a", "b"], {"a": "b"}),
        ("a", b"a"),
        (b"\1" * 32, Digest(b"\1" * 32)),
        ("\u00e9", "e\u0301"),
        ("i1", 1),
        ("n", None),
    ],
)
def test_values_that_joined_strings_or_json_would_mix_up_encode_apart(one, other):
    assert canon.encode(one) != canon.encode(other)


@pytest.mark.parametrize(
    "value",
    [1.0, float("nan"), {"a"}, frozenset(), bytearray(b"a"), memoryview(b"a"), object(), 1j, range(3), [1, [2, 3.0]]],
    ids=name_of,
)
def test_what_has_no_canonical_encoding_is_refused(value):
    with pytest.raises(TypeError, match="has no canonical encoding"):
        canon.encode(value)


@pytest.mark.parametrize("key", [1, None, True, b"a", ("a",), 1.5])
def test_only_text_can_be_a_key(key):
    with pytest.raises(TypeError, match="a mapping key must be a string"):
        canon.encode({key: "a"})


@pytest.mark.parametrize("text", ["\ud800", "a\udfffb", "\ude00\ud83d"])
def test_lone_surrogates_are_refused_in_text_and_in_keys(text):
    with pytest.raises(UnicodeEncodeError):
        canon.encode(text)
    with pytest.raises(UnicodeEncodeError):
        canon.encode({text: None})


def test_an_integer_too_long_to_be_written_is_refused():
    with pytest.raises(ValueError, match="digits"):
        canon.encode(10**5000)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"x",
        b"N",
        b"i",
        b"s" + bytes(7),
        scalar(b"s", b"abc")[:-1],
        scalar(b"i", b""),
        scalar(b"i", b"+1"),
        scalar(b"i", b"01"),
        scalar(b"i", b"-0"),
        scalar(b"i", b"1_0"),
        scalar(b"i", b" 1"),
        scalar(b"i", "\u0661".encode()),
        scalar(b"i", b"1" * 5000),
        scalar(b"s", b"\xff"),
        scalar(b"s", b"\xed\xa0\x80"),
        scalar(b"s", b"\xc0\x80"),
        scalar(b"h", bytes(31)),
        scalar(b"h", bytes(33)),
        scalar(b"z", b"a"),
        NOTHING + NOTHING,
        canon.encode([1, 2]) + b"\0",
        collection(b"l", 2, NOTHING),
        collection(b"l", 2**64 - 1, NOTHING),
        collection(b"d", 1, NOTHING, NOTHING),
        collection(b"d", 1, scalar(b"b", b"a"), NOTHING),
        collection(b"d", 1, EMPTY_TEXT),
        collection(b"d", 2, scalar(b"s", b"b"), NOTHING, scalar(b"s", b"a"), NOTHING),
        collection(b"d", 2, scalar(b"s", b"a"), NOTHING, scalar(b"s", b"a"), NOTHING),
        collection(b"d", 1, collection(b"l", 0), NOTHING),
        b"s" + (2**64 - 1).to_bytes(8) + b"a",
    ],
    ids=lambda data: re.sub(r"(.{30}).*", r"\1...", data.hex()) or "nothing",
)
def test_bytes_that_no_value_is_written_as_are_refused(data):
    with pytest.raises(canon.DecodeError):
        canon.decode(data)


def test_however_deep_a_value_is_nested_it_is_decoded_or_refused():
    in_lists = [collection(b"l", 1) * depth + NOTHING for depth in range(300, 700)]
    in_mappings = [(collection(b"d", 1) + EMPTY_TEXT) * depth + NOTHING for depth in range(300, 700)]
    decoded = 0

    for data in in_lists + in_mappings:
        try:
            assert canon.encode(canon.decode(data)) == data
        except canon.DecodeError:
            continue
        decoded += 1

    assert decoded > 100


def test_an_encoding_is_as_documented():
    value: canon.Value = {"b": [None, True, False, -12, b"\0"], "a": "é", "c": Digest(b"\2" * 32)}

    assert canon.encode(value) == (
        b"d" + bytes([0, 0, 0, 0, 0, 0, 0, 3])
        + b"s" + bytes([0, 0, 0, 0, 0, 0, 0, 1]) + b"a"
        + b"s" + bytes([0, 0, 0, 0, 0, 0, 0, 2]) + b"\xc3\xa9"
        + b"s" + bytes([0, 0, 0, 0, 0, 0, 0, 1]) + b"b"
        + b"l" + bytes([0, 0, 0, 0, 0, 0, 0, 5])
        + b"nTF"
        + b"i" + bytes([0, 0, 0, 0, 0, 0, 0, 3]) + b"-12"
        + b"b" + bytes([0, 0, 0, 0, 0, 0, 0, 1]) + b"\0"
        + b"s" + bytes([0, 0, 0, 0, 0, 0, 0, 1]) + b"c"
        + b"h" + bytes([0, 0, 0, 0, 0, 0, 0, 32]) + b"\2" * 32
    )  # fmt: skip


def test_the_encoder_loads_no_more_than_it_needs():
    loaded = "import sys; import reeval_build.canon; print(*sorted(m for m in sys.modules if 'reeval_build' in m))"

    said = subprocess.run([sys.executable, "-c", loaded], capture_output=True, text=True, check=True).stdout

    assert said.split() == ["reeval_build", "reeval_build.canon", "reeval_build.digest"]
