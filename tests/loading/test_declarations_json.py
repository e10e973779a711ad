"""Declarations that are written as JSON."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

import pytest

from reeval_build.errors import DefinitionError
from reeval_build.loading.declarations_json import JsonError, parse_json, read_json
from tests.loading.trees import declared_in

if TYPE_CHECKING:
    from pathlib import Path
    from typing import BinaryIO


def reason(text: bytes) -> str:
    with pytest.raises(JsonError) as caught:
        parse_json(text)
    return str(caught.value)


def refusal(source: str | Path, stdin: BinaryIO | None = None) -> str:
    """What is said of a source, with the name it is said of."""
    with pytest.raises(DefinitionError) as caught:
        read_json(source, stdin=stdin)
    return f"{caught.value.file}: {caught.value.message}"


# Texts ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (b' {"a": [1, 1.5, -0, true, null, "\\u00e9"]}\n', {"a": [1, 1.5, 0, True, None, "é"]}),
        (b"\xef\xbb\xbf[]", []),
        (b'"\xc3\xa9"', "é"),
        (b'"\\ud800"', "\ud800"),
        (b"1e300", 1e300),
    ],
)
def test_what_json_says_is_read(text: bytes, value: object) -> None:
    assert parse_json(text) == value


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (b"", "is not JSON at line 1 column 1: Expecting value"),
        (b'{\n "a": 1,\n "b" 2}', "is not JSON at line 3 column 6: Expecting ':' delimiter"),
        (b"[] []", "is not JSON at line 1 column 4: Extra data"),
        (b"'a'", "is not JSON at line 1 column 1: Expecting value"),
        (b'"a', "is not JSON at line 1 column 1: Unterminated string starting at"),
        (b'["\xff"]', "is not UTF-8 at byte 2"),
        ('["é"]'.encode("utf-16"), "is not UTF-8 at byte 0"),
        (b'{"a": {"b": 1, "c": 2, "b": 1}}', 'has the key "b" twice in one object'),
        (b"[NaN]", "has NaN, which is not JSON"),
        (b"[-Infinity]", "has -Infinity, which is not JSON"),
        (b"[1e400]", "has the number 1e400, which is too large"),
        (b"9" * 5000, "has a number of more than 100 digits"),
        (b"[" * 100_000, "is nested deeper than 100 levels"),
        (b'{"a":' * 100_000, "is nested deeper than 100 levels"),
    ],
)
def test_what_json_does_not_say_is_refused_with_its_place(text: bytes, said: str) -> None:
    assert reason(text).startswith(said)


# Sources -------------------------------------------------------------------------------------------------------------


def test_an_object_is_read_from_a_file(tmp_path: Path) -> None:
    file = tmp_path / "tree.json"
    file.write_text('{"children": []}')

    assert read_json(file) == read_json(str(file)) == {"children": []}


def test_a_dash_is_standard_input() -> None:
    assert read_json("-", stdin=io.BytesIO(b'{"children": []}')) == {"children": []}
    assert refusal("-", stdin=io.BytesIO(b"")).startswith("standard input: it is not JSON at line 1 column 1")


def test_standard_input_is_the_process_s_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "input").write_text('{"a": 1}')
    with (tmp_path / "input").open() as stdin:
        monkeypatch.setattr("sys.stdin", stdin)
        assert read_json("-") == {"a": 1}
    monkeypatch.setattr("sys.stdin", None)

    assert refusal("-").startswith("standard input: it is not JSON")


@pytest.mark.parametrize("text", ["[]", "3", '"x"', "null"])
def test_what_is_no_object_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "x.json").write_text(text)

    said = refusal(tmp_path / "x.json")

    assert said == f"{tmp_path}/x.json: it must be a JSON object: a declaration tree or an environment (got {text})"


def test_an_object_nested_too_deep_is_refused_when_it_is_looked_at(tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text('{"children":' + "[" * 150 + "]" * 150 + "}")

    with pytest.raises(DefinitionError, match="is nested deeper than 100 levels"):
        declared_in(read_json(tmp_path / "x.json"), file="x.json")


def test_a_source_that_is_too_large_is_refused(tmp_path: Path) -> None:
    with (tmp_path / "x.json").open("wb") as file:
        file.truncate(64 * 1024 * 1024 + 1)

    assert refusal(tmp_path / "x.json") == f"{tmp_path}/x.json: it is larger than 64 MiB"
    with (tmp_path / "x.json").open("rb") as stdin:
        assert refusal("-", stdin=stdin) == "standard input: it is larger than 64 MiB"


def test_a_source_that_cannot_be_read_is_refused(tmp_path: Path) -> None:
    assert refusal(tmp_path / "none.json") == f"{tmp_path}/none.json: there is no such file"
    assert refusal(tmp_path) == f"{tmp_path}: it cannot be read: Is a directory"
    assert refusal("a\0b") == "a\\x00b: it cannot be read: its name has a NUL in it"
    assert refusal("a" * 1000).endswith(": it cannot be read: File name too long")
