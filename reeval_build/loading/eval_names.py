"""How messages name evals and groups, and what is written in them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final, Literal

if TYPE_CHECKING:
    from collections.abc import Iterable

NodeKind = Literal["eval", "group"]

MOST_CHARACTERS: Final = 100
"""How much of a text is quoted."""

_BETWEEN: Final = " \N{SINGLE RIGHT-POINTING ANGLE QUOTATION MARK} "
_CALLS: Final = {"eval": "evaluate", "group": "group"}


def call_of(kind: NodeKind, path: Iterable[str]) -> str:
    """How messages name an eval or a group: the call that declared it, with its path as reeval-python writes it."""
    return f"{_CALLS[kind]}({quoted(path_text(path))})"


def path_text(path: Iterable[str]) -> str:
    """Names of groups and of an eval as reeval-python writes them together."""
    return _BETWEEN.join(path)


def quoted(text: str) -> str:
    """Text in double quotes on one line, cut when it is long."""
    cut = text if len(text) <= MOST_CHARACTERS else text[:MOST_CHARACTERS] + "…"
    return json.dumps(cut, ensure_ascii=False)
