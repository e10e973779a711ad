"""Reads JSON that anyone may have written."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from reeval_build.content.problems import ContentError, shown

if TYPE_CHECKING:
    from collections.abc import Iterator

Json: TypeAlias = "bool | int | float | str | list[Json] | dict[str, Json] | None"

_MAX_DEPTH: Final = 60


class _RefusedError(ValueError):
    """Text that is JSON to Python's parser and not to this program."""


def parse_json(data: bytes, path: str, *, where: str) -> Json:
    """The value that a JSON file has; a byte order mark is allowed.

    Raises:
        ContentError: for what is not JSON in UTF-8, a key that is there twice, NaN or infinity, an integer too long
            to write out, a NUL or half a surrogate pair in a text, and nesting deeper than 60.
    """
    try:
        value: Json = json.loads(
            data.decode("utf-8-sig"),
            object_pairs_hook=_without_duplicates,
            parse_constant=_refuse_constant,
            parse_float=_finite,
        )
        _check(value)
    except UnicodeDecodeError as error:
        raise ContentError(where, path, f"is not UTF-8 text, from byte {error.start}") from error
    except json.JSONDecodeError as error:
        raise ContentError(
            where, path, f"is not JSON: {error.msg} (line {error.lineno}, column {error.colno})"
        ) from error
    except _RefusedError as error:
        raise ContentError(where, path, str(error)) from error
    except RecursionError as error:
        raise ContentError(where, path, f"is nested deeper than {_MAX_DEPTH}") from error
    except ValueError as error:  # an integer of more digits than Python reads
        raise ContentError(where, path, "has a number that is too long") from error
    return value


def parse_json_object(data: bytes, path: str, *, where: str) -> dict[str, Json]:
    """The object that a JSON file has. Raises ContentError as `parse_json` does, and for any other value."""
    value = parse_json(data, path, where=where)
    if not isinstance(value, dict):
        raise ContentError(where, path, f"must be a JSON object, not {kind_of(value)}")
    return value


def kind_of(value: object) -> str:
    """What a JSON value is, in words."""
    match value:
        case None:
            return "null"
        case bool():
            return "true or false"
        case int() | float():
            return "a number"
        case str():
            return "text"
        case list():
            return "a list"
        case _:
            return "an object"


def _without_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) != len(pairs):
        seen: set[str] = set()
        for key, _ in pairs:
            if key in seen:
                raise _RefusedError(f'has the key "{shown(key[:80])}" twice in one object')
            seen.add(key)
    return result


def _refuse_constant(name: str) -> None:
    raise _RefusedError(f"has {name}, which is not JSON")


def _finite(text: str) -> float:
    number = float(text)
    if math.isinf(number):
        raise _RefusedError("has a number that is too large")
    return number


def _check(value: Json) -> None:
    """Every text and every level of `value`, without recursion."""
    level: list[Json] = [value]
    for _ in range(_MAX_DEPTH):
        for item in level:
            for text in _texts(item):
                _check_text(text)
        level = [inner for item in level for inner in _inside(item)]
        if not level:
            return
    raise _RefusedError(f"is nested deeper than {_MAX_DEPTH}")


def _texts(value: Json) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        yield from value


def _inside(value: Json) -> Iterator[Json]:
    if isinstance(value, dict):
        yield from value.values()
    elif isinstance(value, list):
        yield from value


def _check_text(text: str) -> None:
    if "\0" in text:
        raise _RefusedError("has a NUL in a text")
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise _RefusedError("has half a surrogate pair in a text") from error
