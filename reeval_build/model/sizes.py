"""Amounts of memory as authors write them."""

from __future__ import annotations

import re
from typing import Final

# What the options of Docker's own client take: `512m`, `1.5G`, `4gb`, `4GiB`, `4096`. Every unit is a power of 1024.
_TEXT: Final = re.compile(r"([0-9]{1,20}(?:\.[0-9]{1,20})?) ?(?:([kmgt])i?)?b?", re.IGNORECASE)
_UNITS: Final = {"t": 1024**4, "g": 1024**3, "m": 1024**2, "k": 1024}
_SHORT_UNITS: Final = (("G", 1024**3), ("M", 1024**2), ("K", 1024))


def size_bytes(value: object) -> int | None:
    """The bytes of a whole number, or of text such as `512m` or `4g`; None for everything else."""
    match value:
        case bool():
            return None
        case int():
            return value if value >= 0 else None
        case str() if found := _TEXT.fullmatch(value):
            whole, _point, part = found[1].partition(".")
            unit: int = _UNITS.get((found[2] or "").lower(), 1)
            return int(whole + part) * unit // int("1" + "0" * len(part))
        case _:
            return None


def size_text(size: int) -> str:
    """A number of bytes in the largest unit that says it exactly: `4g`, `1536m`, or `1000b`."""
    return next((f"{size // unit}{name}" for name, unit in _UNITS.items() if size and size % unit == 0), f"{size}b")


def size_short(size: int) -> str:
    """A number of bytes for people, with two or three digits that count: `512B`, `1.5K`, `20G`."""
    for name, unit in _SHORT_UNITS:
        if size >= unit:
            count = size / unit
            return f"{count:.0f}{name}" if count >= 10 else f"{count:.1f}{name}"  # noqa: PLR2004 - one digit before the point
    return f"{size}B"
