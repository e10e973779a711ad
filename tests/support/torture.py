"""How hard tests try that go through seeds, sizes or moments: `make torture` has them try many times as many."""

from __future__ import annotations

import os
from typing import Final

TIMES: Final = int(os.environ.get("REEVAL_BUILD_TEST_SEEDS", "1"))
"""How many times as many seeds, examples and moments as in CI."""

assert TIMES >= 1, "REEVAL_BUILD_TEST_SEEDS is a factor"


def seeds(count: int) -> range:
    """So many seeds, or a multiple of that."""
    return range(count * TIMES)


def examples(count: int) -> int:
    """So many examples, or a multiple of that."""
    return count * TIMES
