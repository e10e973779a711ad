"""Time limits as authors write them."""

from __future__ import annotations

import math
import re
from datetime import timedelta
from typing import Final

_TEXT: Final = re.compile(r"([0-9]+(?:\.[0-9]+)?)(ms|s|m|h)")
_SECONDS: Final = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}


def seconds(value: object) -> float | None:
    """The seconds of a number of seconds, a timedelta, or text such as `90s`, `15m` or `1h`; None for all else.

    A limit is above zero and finite.
    """
    match value:
        case bool():
            return None
        case int() | float():
            result = _as_float(value)
        case timedelta():
            result = value.total_seconds()
        case str() if found := _TEXT.fullmatch(value):
            result = float(found[1]) * _SECONDS[found[2]]
        case _:
            return None
    return result if result > 0 and math.isfinite(result) else None


def _as_float(value: float) -> float:
    try:
        return float(value)
    except OverflowError:
        return math.inf
