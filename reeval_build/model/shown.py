"""How a refused value is shown: compact JSON, as reeval prints it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TypeGuard, cast

import attrs

_MAX_CHARACTERS = 200


def got(value: object) -> str:
    """`(got …)` for the end of a message: compact JSON, cut when it is long."""
    text = json.dumps(_plain(value), separators=(",", ":"), ensure_ascii=False)
    if len(text) > _MAX_CHARACTERS:
        text = text[:_MAX_CHARACTERS] + "…"
    return f"(got {text})"


def _plain(value: object) -> object:
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if attrs.has(type(value)):
        return _plain(attrs.asdict(cast("attrs.AttrsInstance", value), recurse=False))
    return f"<{type(value).__name__}>"


def is_encodable(value: str) -> bool:
    """Whether text is valid Unicode: a lone surrogate has no UTF-8."""
    try:
        value.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def is_text(value: object) -> TypeGuard[str]:
    """Whether a value is text that can stand in a key and on a command line: valid Unicode without NUL."""
    return isinstance(value, str) and "\0" not in value and is_encodable(value)
