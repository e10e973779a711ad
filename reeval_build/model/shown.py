"""How a refused value is shown: compact JSON, as reeval prints it, without what may be a secret."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Final, TypeGuard, cast

import attrs

_MAX_CHARACTERS: Final = 200
_SECRET_WORDS: Final = ("KEY", "TOKEN", "SECRET", "PASSWORD", "CREDENTIAL")
_USER_IN_URL: Final = re.compile(r"(?<=://)[^/?#\s]*@")
_HIDDEN: Final = "…"


def names_secret(name: str) -> bool:
    """Whether a variable's name says that its value is a secret."""
    return any(word in name.upper() for word in _SECRET_WORDS)


def got(value: object) -> str:
    """`(got …)` for the end of a message: compact JSON, cut when it is long.

    Hidden are what a URL has before its host, and values whose names say that they are secrets.
    """
    try:
        text = json.dumps(_plain(value), separators=(",", ":"), ensure_ascii=False)
    except (RecursionError, ValueError):
        # It is inside itself, or an integer of more digits than Python writes out.
        text = f'"<{type(value).__name__}>"'
    if len(text) > _MAX_CHARACTERS:
        text = text[:_MAX_CHARACTERS] + "…"
    return f"(got {text})"


def _plain(value: object) -> object:
    if isinstance(value, str):
        return _USER_IN_URL.sub(f"{_HIDDEN}@", value)
    if value is None or isinstance(value, (bool, int, float)):
        return value
    if isinstance(value, Mapping):
        return {str(key): _HIDDEN if names_secret(str(key)) else _plain(item) for key, item in value.items()}
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
