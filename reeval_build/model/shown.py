"""How a refused value is shown: compact JSON, as reeval prints it, without what may be a secret."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Final, TypeGuard, cast

import attrs

_MAX_CHARACTERS: Final = 200
_SECRET_WORDS: Final = ("KEY", "TOKEN", "SECRET", "PASSWORD", "CREDENTIAL")
# Fields whose values are an author's own, whatever their names.
_PRIVATE_FIELDS: Final = frozenset({"env", "headers"})
_HIDDEN: Final = "…"

_PRIVATE_TEXT: Final = (
    (re.compile(r"(?<=://)[^/?#\s]*@"), f"{_HIDDEN}@"),
    (re.compile(r"(?<![^\s\"'=@])[^\s/:@\"'=]+:[^\s/@]+@"), f"{_HIDDEN}@"),
    (re.compile(r"(://[^\s?#\"']*\?)[^\s#\"']+"), rf"\1{_HIDDEN}"),
    (re.compile(rf"(?i)((?:{'|'.join(_SECRET_WORDS)})[\w-]*[\"']?\s?[=:]\s?)[^\s…]+"), rf"\1{_HIDDEN}"),
    (re.compile(r"(?i)\b(bearer\s+|basic\s+(?=\S{12}))[^\s$]\S*"), rf"\1{_HIDDEN}"),
    (re.compile(r"\b(gh[opsur]_|github_pat_|glpat-)\w[\w-]*"), rf"\1{_HIDDEN}"),
    (re.compile(r"\b(npm_|sk-|xox[abp]-)[\w-]{20,}"), rf"\1{_HIDDEN}"),
)


def names_secret(name: str) -> bool:
    """Whether a variable's name says that its value is a secret."""
    return any(word in name.upper() for word in _SECRET_WORDS)


def got(value: object) -> str:
    """`(got …)` for the end of a message: the value as `shown` shows it."""
    return f"(got {shown(value)})"


def shown(value: object) -> str:
    """A value as compact JSON, cut when it is long.

    Hidden are what a URL has before its host and in its query, values whose names say that they are secrets, those
    of variables and headers, and what looks like a token.
    """
    try:
        text = json.dumps(_plain(value), separators=(",", ":"), ensure_ascii=False)
    except (RecursionError, ValueError):
        # It is inside itself, or an integer of more digits than Python writes out.
        text = f'"<{type(value).__name__}>"'
    return text if len(text) <= _MAX_CHARACTERS else text[:_MAX_CHARACTERS] + "…"


def without_secrets(text: str) -> str:
    """Text without what may be a secret in it."""
    for pattern, replacement in _PRIVATE_TEXT:
        text = pattern.sub(replacement, text)
    return text


def _plain(value: object) -> object:
    if isinstance(value, str):
        return without_secrets(value)
    if value is None or isinstance(value, (bool, int, float)):
        return value
    if isinstance(value, Mapping):
        return {str(key): _plain_item(str(key), item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if attrs.has(type(value)):
        return _plain(attrs.asdict(cast("attrs.AttrsInstance", value), recurse=False))
    return f"<{type(value).__name__}>"


def _plain_item(key: str, value: object) -> object:
    if names_secret(key):
        return _HIDDEN
    if key in _PRIVATE_FIELDS:
        return dict.fromkeys(map(str, value), _HIDDEN) if isinstance(value, Mapping) else _HIDDEN
    return _plain(value)


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
