"""TOML and YAML of the few shapes that configuration files here have."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, TypeAlias

from reeval_build.content.inline_skill import quoted

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

Plain: TypeAlias = "str | bool | int | Sequence[str] | Mapping[str, str]"

_BARE_KEY: Final = re.compile(r"[A-Za-z0-9_-]+")
_DELETE: Final = 0x7F


def toml_tables(above: str, tables: Mapping[str, Mapping[str, Plain]]) -> bytes:
    """`[above.<name>]` for every table, in order."""
    blocks = []
    for name, table in tables.items():
        lines = [f"[{above}.{_toml_key(name)}]", *(f"{_toml_key(key)} = {_toml(item)}" for key, item in table.items())]
        blocks.append("\n".join(lines) + "\n")
    return "\n".join(blocks).encode("utf-8")


def _toml_key(key: str) -> str:
    return key if _BARE_KEY.fullmatch(key) else _toml_text(key)


def _toml(value: Plain) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, str):
        return _toml_text(value)
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(_toml_text(item) for item in value) + "]"
    assert hasattr(value, "items"), "what is left is a mapping"
    inside = ", ".join(f"{_toml_key(key)} = {_toml_text(item)}" for key, item in value.items())
    return f"{{ {inside} }}" if inside else "{}"


def _toml_text(text: str) -> str:
    """A basic string: TOML takes every character in one but a quote, a backslash and control characters."""
    escaped = (
        f"\\u{ord(character):04X}"
        if ord(character) < ord(" ") or ord(character) == _DELETE
        else ("\\" + character if character in '"\\' else character)
        for character in text
    )
    return '"' + "".join(escaped) + '"'


def yaml_tables(above: str, tables: Mapping[str, Mapping[str, Plain]]) -> bytes:
    """`above:` with every table below it, in order; every text is quoted."""
    lines = [f"{above}:"]
    for name, table in tables.items():
        lines.append(f"  {quoted(name)}:")
        for key, value in table.items():
            lines.extend(f"    {line}" for line in _yaml(key, value))
    return ("\n".join(lines) + "\n").encode("utf-8")


def _yaml(key: str, value: Plain) -> Iterator[str]:
    if isinstance(value, bool):
        yield f"{key}: {'true' if value else 'false'}"
    elif isinstance(value, int):
        yield f"{key}: {value}"
    elif isinstance(value, str):
        yield f"{key}: {quoted(value)}"
    elif isinstance(value, (list, tuple)):
        yield f"{key}:" if value else f"{key}: []"
        yield from (f"  - {quoted(item)}" for item in value)
    else:
        assert hasattr(value, "items"), "what is left is a mapping"
        yield f"{key}:" if value else f"{key}: {{}}"
        yield from (f"  {quoted(name)}: {quoted(item)}" for name, item in value.items())
