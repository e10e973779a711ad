"""Names in a sentence, no more than a reader can take in."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable


def some(names: Iterable[str], most: int = 10) -> str:
    """The first of some names, each once, and how many more there are."""
    once = list(dict.fromkeys(names))
    more = len(once) - most
    return ", ".join(once[:most]) + (f" and {more:,} more" if more > 0 else "")
