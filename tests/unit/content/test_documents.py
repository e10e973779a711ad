from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reeval_build.content.documents import parse_json, parse_json_object
from reeval_build.content.problems import ContentError


def parse(data: bytes):
    return parse_json(data, "a/b.json", where='plugin.git("r")')


_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
    | st.text().filter(lambda text: "\0" not in text),
    lambda inner: st.lists(inner, max_size=3)
    | st.dictionaries(st.text().filter(lambda text: "\0" not in text), inner, max_size=3),
    max_leaves=8,
)  # fmt: skip


@given(_values, st.booleans())
def test_json_is_read_as_it_was_written_with_or_without_a_byte_order_mark(value, marked):
    assert parse((b"\xef\xbb\xbf" if marked else b"") + json.dumps(value).encode()) == value


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "is not JSON: Expecting value (line 1, column 1)"),
        (b"{", "is not JSON: Expecting property name enclosed in double quotes (line 1, column 2)"),
        (b'{"a": 1}\n}', "is not JSON: Extra data (line 2, column 1)"),
        (b"\xff\xfe", "is not UTF-8 text, from byte 0"),
        (b'{"a": 1, "a": 2}', 'has the key "a" twice in one object'),
        (b'[{"x": {"\\n": 1, "\\n": 2}}]', 'has the key "\\n" twice in one object'),
        (b"[NaN]", "has NaN, which is not JSON"),
        (b"[-Infinity]", "has -Infinity, which is not JSON"),
        (b"1e999", "has a number that is too large"),
        (b"9" * 5000, "has a number that is too long"),
        (b'["a\\u0000"]', "has a NUL in a text"),
        (b'{"\\u0000": 1}', "has a NUL in a text"),
        (b'"\\ud800"', "has half a surrogate pair in a text"),
        (b"[" * 61 + b"]" * 61, "is nested deeper than 60"),
        (b"[" * 200_000, "is nested deeper than 60"),
        (b'{"a":' * 200_000, "is nested deeper than 60"),
    ],
)
def test_hostile_json_is_refused_with_its_file(data, reason):
    with pytest.raises(ContentError) as caught:
        parse(data)

    assert (caught.value.where, caught.value.path, caught.value.reason) == ('plugin.git("r")', "a/b.json", reason)


def test_sixty_levels_are_not_too_deep():
    assert parse(b"[" * 60 + b"]" * 60)


@pytest.mark.parametrize(
    ("data", "kind"),
    [(b"null", "null"), (b"true", "true or false"), (b"1", "a number"), (b'"a"', "text"), (b"[]", "a list")],
)
def test_what_is_not_an_object_is_said_in_words(data, kind):
    with pytest.raises(ContentError, match=f"must be a JSON object, not {kind}"):
        parse_json_object(data, "a", where="b")


@given(st.binary(max_size=30))
def test_any_bytes_are_a_value_or_a_content_error(data):
    try:
        parse(data)
    except ContentError as error:
        caught = error
    else:
        return

    assert str(caught).startswith('"a/b.json" in plugin.git("r") ')
