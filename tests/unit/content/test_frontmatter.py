from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reeval_build.content.frontmatter import MAX_FRONTMATTER_BYTES, read_frontmatter
from reeval_build.content.problems import ContentError


def read(data: bytes):
    return read_frontmatter(data, "a/SKILL.md", where='skill.git("r")')


@pytest.mark.parametrize(
    "data",
    [
        b"---\nname: a\n---\nbody",
        b"---\nname: a\n---",
        b"\xef\xbb\xbf---\nname: a\n---\n",
        b"---\r\nname: a\r\n---\r\nbody",
        b"---\rname: a\r---\rbody",
        b"--- \t\nname: a\n---  \n",
        b"---\nname: a\n---\n---\nname: b\n---\n",
        b"---\n# a remark\nname: 'a'\n---\n",
    ],
)
def test_frontmatter_is_read_with_any_line_ending_and_a_byte_order_mark(data):
    assert read(data) == {"name": "a"}


def test_a_line_of_dashes_inside_a_text_does_not_end_it_when_it_is_indented():
    assert read(b"---\ntext: |\n  a\n  ---\n  b\n---\n") == {"text": "a\n---\nb\n"}


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", 'has no frontmatter: its first line is not "---"'),
        (b"# Title\n", 'has no frontmatter: its first line is not "---"'),
        (b"\n---\nname: a\n---\n", 'has no frontmatter: its first line is not "---"'),
        (b"----\nname: a\n---\n", 'has no frontmatter: its first line is not "---"'),
        (b"---", 'has no frontmatter: its first line is not "---"'),
        (b"---\nname: a\n", 'has frontmatter without the "---" that ends it'),
        (b"---\nname: a\n ---\n", 'has frontmatter without the "---" that ends it'),
        (b"---\n---\n", "has frontmatter that is not a map of names to values"),
        (b"---\n- a\n---\n", "has frontmatter that is not a map of names to values"),
        (b"---\ntext\n---\n", "has frontmatter that is not a map of names to values"),
        (b"---\n1: a\n---\n", "has frontmatter that is not a map of names to values"),
        (b"---\nname: \xff\n---\n", "has frontmatter that is not UTF-8 text"),
        (b"---\nname: a\nname: b\n---\n", 'has frontmatter that is not YAML: the key "name" twice'),
        (b"---\nx: {a: 1, a: 2}\n---\n", 'has frontmatter that is not YAML: the key "a" twice'),
        (
            b"---\na: &x [1]\nb: *x\n---\n",
            "has frontmatter that is not YAML: an alias (*name), which is not supported here",
        ),
        (
            b"---\ndescription: Use when: it rains\n---\n",
            (
                "has frontmatter that is not YAML: mapping values are not allowed here (line 2); "
                'text that has ": " in it needs quotes'
            ),
        ),
        (b"---\na: \0\n---\n", "has frontmatter that is not YAML: it has a character that YAML does not allow"),
        (b"---\na: 2026-02-31\n---\n", "has frontmatter with a number or a date that cannot be read"),
        (b"---\na: " + b"9" * 5000 + b"\n---\n", "has frontmatter with a number or a date that cannot be read"),
        (b"---\na: " + b"[" * 5000 + b"\n---\n", "has frontmatter that is nested too deep"),
        (b"---\n? [a]\n: 1\n---\n", "has frontmatter that is not YAML: found unhashable key (line 2)"),
    ],
)
def test_what_is_wrong_with_frontmatter_is_said_with_its_file(data, reason):
    with pytest.raises(ContentError) as caught:
        read(data)

    assert (caught.value.where, caught.value.path) == ('skill.git("r")', "a/SKILL.md")
    assert caught.value.reason == reason


@pytest.mark.parametrize("value", ["!!python/object/apply:os.getcwd []", "!!timestamp ''", "!!bool x", "!x y", "! z"])
def test_a_tag_in_frontmatter_is_refused_before_anything_is_made(value):
    with pytest.raises(ContentError, match="not YAML: a tag"):
        read(f"---\na: {value}\n---\n".encode())


def test_frontmatter_that_does_not_end_soon_is_refused_without_parsing_it():
    with pytest.raises(ContentError, match=f"within {MAX_FRONTMATTER_BYTES} bytes"):
        read(b"---\na: " + b"x" * (2 * MAX_FRONTMATTER_BYTES) + b"\n---\n")


_pieces = st.sampled_from(
    [
        *(
            "---",
            "\n",
            "\r\n",
            "name",
            ": ",
            "- ",
            "{",
            "}",
            "[",
            "]",
            "&a",
            "*a",
            "!!",
            "|",
            ">",
            "'",
            '"',
            "\\",
            "\0",
        ),
        *("<<", "2026-99-99", "0o", "0x", "1e999", ".inf", "\u2028", "\ufeff", "?", "%YAML 1.1", "#", "\t", " ", "a"),
        *("1:30", "~", "=", "@", "`", "\ud800", "\x85", "!!binary", "!!set", "!!omap", "!!timestamp"),
    ]
)


def outcome(data: bytes):
    """The frontmatter, or the error that reading it is."""
    try:
        return read(data)
    except ContentError as error:
        return error


@given(st.lists(_pieces, max_size=12).map("".join) | st.text(max_size=30))
def test_any_text_is_a_map_or_an_error_in_one_line_that_names_the_file(text):
    found = outcome(f"---\n{text}\n---\n".encode("utf-8", "surrogatepass"))

    assert isinstance(found, dict) or (found.path == "a/SKILL.md" and str(found).isprintable())


@given(st.binary(max_size=40))
def test_any_bytes_are_a_map_or_an_error_that_names_the_file(data):
    found = outcome(data)

    assert isinstance(found, dict) or found.path == "a/SKILL.md"
