"""Reads declarations that are written as JSON."""

from __future__ import annotations

import json
import math
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from reeval_build.errors import DefinitionError
from reeval_build.loading.declarations_data import MOST_LEVELS
from reeval_build.loading.eval_names import quoted
from reeval_build.model.shown import got
from reeval_build.paths import display

if TYPE_CHECKING:
    from typing import BinaryIO

STANDARD_INPUT: Final = "-"
MOST_BYTES: Final = 64 * 1024 * 1024
_MOST_DIGITS: Final = 100


class JsonError(ValueError):
    """Why bytes are not JSON, as a clause without a subject, such as `is not UTF-8`."""


def parse_json(text: bytes) -> object:
    """The value of a JSON text in UTF-8.

    Refused are also what JSON leaves open: two keys of one name, NaN and infinities, numbers too large for a float
    or of many digits, and nesting too deep to be read.

    Raises:
        JsonError: with the line and the column where there is one.
    """
    try:
        decoded = text.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise JsonError(f"is not UTF-8 at byte {error.start}") from error
    try:
        return _DECODER.decode(decoded)
    except json.JSONDecodeError as error:
        raise JsonError(f"is not JSON at line {error.lineno} column {error.colno}: {error.msg}") from error
    except RecursionError as error:
        raise JsonError(f"is nested deeper than {MOST_LEVELS} levels") from error


def _without_doubles(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) < len(pairs):
        seen: set[str] = set()
        double = next(name for name, _ in pairs if name in seen or seen.add(name))  # type: ignore[func-returns-value]
        raise JsonError(f"has the key {quoted(double)} twice in one object")
    return made


def _constant(name: str) -> float:
    raise JsonError(f"has {name}, which is not JSON")


def _float(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise JsonError(f"has the number {text[:_MOST_DIGITS]}, which is too large")
    return number


def _integer(text: str) -> int:
    if len(text) > _MOST_DIGITS:
        raise JsonError(f"has a number of more than {_MOST_DIGITS} digits")
    return int(text)


_DECODER: Final = json.JSONDecoder(
    object_pairs_hook=_without_doubles, parse_constant=_constant, parse_float=_float, parse_int=_integer
)


def read_json(source: str | Path, *, stdin: BinaryIO | None = None) -> Mapping[str, Any]:
    """The JSON object in a file; in standard input when `source` is `-`.

    What the object means is for `declarations.checked_declarations` to say.

    Raises:
        DefinitionError: when it cannot be read, is larger than 64 MiB, or is not an object in JSON; names the file as
            `source` does.
    """
    shown = "standard input" if source == STANDARD_INPUT else display(os.fsencode(source))
    text = _read_input(stdin) if source == STANDARD_INPUT else _read(source, shown)
    if len(text) > MOST_BYTES:
        raise DefinitionError(f"it is larger than {MOST_BYTES // 1024 // 1024} MiB", file=shown)
    try:
        value = parse_json(text)
    except JsonError as error:
        raise DefinitionError(f"it {error}", file=shown) from error
    if not isinstance(value, Mapping):
        raise DefinitionError(
            f"it must be a JSON object: a declaration tree or an environment {got(value)}", file=shown
        )
    return value


def _read_input(stdin: BinaryIO | None) -> bytes:
    # Python has none when the descriptor was closed; that is no text either.
    stream = stdin or (sys.stdin and sys.stdin.buffer)
    return stream.read(MOST_BYTES + 1) if stream else b""


def _read(source: str | Path, shown: str) -> bytes:
    try:
        with Path(source).open("rb") as file:
            return file.read(MOST_BYTES + 1)
    except FileNotFoundError as error:
        raise DefinitionError("there is no such file", file=shown) from error
    except OSError as error:
        raise DefinitionError(f"it cannot be read: {error.strerror}", file=shown) from error
    except ValueError as error:
        raise DefinitionError("it cannot be read: its name has a NUL in it", file=shown) from error
