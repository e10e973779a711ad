"""Names of parametrised tests: the same in every process, or tests could not be shared out between several."""

from __future__ import annotations

import re


def name_of(value: object) -> str:
    """What a value is called: text as it is, anything else by its `repr` without where in memory it is."""
    shown = value if isinstance(value, str) else repr(value)
    return re.sub(r" at 0x[0-9a-f]+", "", shown)
