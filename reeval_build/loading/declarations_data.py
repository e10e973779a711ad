"""Data of a declaration: what JSON can say, frozen all the way down."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from reeval_build.loading.eval_names import MOST_CHARACTERS, quoted
from reeval_build.model.shown import got

if TYPE_CHECKING:
    from collections.abc import Iterator

Data: TypeAlias = Any
"""None, a bool, an int of 64 bits, a finite float, text, a tuple of data, or a read-only mapping of text to data."""

Path: TypeAlias = tuple[str | int, ...]

MOST_LEVELS: Final = 100
_MOST_VALUES: Final = 1_000_000
_INTEGERS: Final = range(-(2**63), 2**63)


class NotDataError(Exception):
    """A value, at `path` in a larger one, is not data; `reason` ends a sentence that begins with what it is."""

    def __init__(self, path: Path, reason: str) -> None:
        super().__init__(reason)
        self.path = path
        self.reason = reason


def frozen(value: object) -> Data:
    """A frozen copy of a value that JSON can say.

    Raises:
        NotDataError: for anything else, for what is nested deeper than `MOST_LEVELS`, and for more than a million
            values, so that one that has itself in it comes to an end.
    """
    return _Freezer().freeze(value, ())


class _Freezer:
    def __init__(self) -> None:
        self._count = 0

    def freeze(self, value: object, path: Path) -> Data:
        self._count += 1
        if self._count > _MOST_VALUES:
            raise NotDataError(path, f"has more than {_MOST_VALUES} values before it")
        if value is None or isinstance(value, (bool, str)):
            return value
        if isinstance(value, int):
            if value not in _INTEGERS:
                raise NotDataError(path, "is a number of more than 64 bits")
            return value
        if isinstance(value, float):
            if not math.isfinite(value):
                raise NotDataError(path, f"is not a number that JSON has {got(value)}")
            return value
        if len(path) >= MOST_LEVELS:
            raise NotDataError(path, f"is nested deeper than {MOST_LEVELS} levels")
        if isinstance(value, Mapping):
            items = ((_key(key, path), item) for key, item in value.items())
            return MappingProxyType({key: self.freeze(item, (*path, key)) for key, item in items})
        if isinstance(value, (list, tuple)):
            return tuple(self.freeze(item, (*path, at)) for at, item in enumerate(value))
        raise NotDataError(path, f"is not data {got(value)}")


def _key(key: object, path: Path) -> str:
    if not isinstance(key, str):
        raise NotDataError(path, f"has a key that is not text {got(key)}")
    return key


def canonical(value: Data) -> str:
    """A text that two pieces of data share exactly when they are equal; unlike in Python, True is never 1."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), default=dict)


def spell(path: Path) -> str:
    """A path as an author writes it: `layers[0].spec.env`."""
    return "".join(_spelled(path)).removeprefix(".")


def _spelled(path: Path) -> Iterator[str]:
    for step in path:
        if isinstance(step, int):
            yield f"[{step}]"
        elif step.isidentifier() and len(step) <= MOST_CHARACTERS:
            yield f".{step}"
        else:
            yield f"[{quoted(step)}]"
