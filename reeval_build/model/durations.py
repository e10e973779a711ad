"""Time limits as authors write them."""

from __future__ import annotations

import math
import re
from datetime import timedelta
from decimal import Decimal
from typing import Final

# More digits than a number of seconds can have make no sense.
_TEXT: Final = re.compile(r"([0-9]{1,400}(?:\.[0-9]{1,400})?)(ms|s|m|h)")
_SECONDS: Final = {"ms": Decimal("0.001"), "s": Decimal(1), "m": Decimal(60), "h": Decimal(3600)}


def seconds(value: object, *, number_s: float = 1.0) -> float | None:
    """The seconds of a number, a timedelta, or text such as `90s`, `15m` or `1h`; None for everything else.

    A number is that many times `number_s` seconds. A limit is above zero and finite.
    """
    match value:
        case bool():
            return None
        case int() | float():
            result = _as_float(value) * number_s
        case timedelta():
            result = value.total_seconds()
        case str() if found := _TEXT.fullmatch(value):
            result = float(Decimal(found[1]) * _SECONDS[found[2]])
        case _:
            return None
    return result if result > 0 and math.isfinite(result) else None


def _as_float(value: float) -> float:
    try:
        return float(value)
    except OverflowError:
        return math.inf


def duration_text(value_s: float) -> str:
    """A time limit as reeval writes it, in the largest unit that says it exactly: `1h`, `5m`, `90s` or `250ms`."""
    if value_s.is_integer():
        whole = int(value_s)
        for unit, size in (("h", 3600), ("m", 60)):
            if whole % size == 0:
                return f"{whole // size}{unit}"
        return f"{whole}s"
    return f"{Decimal(repr(value_s)).scaleb(3).normalize():f}ms"
