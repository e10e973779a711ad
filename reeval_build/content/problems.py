"""What is wrong with content that was fetched or read."""

from __future__ import annotations

from typing import Final

from reeval_build.errors import InfraError
from reeval_build.paths import display

_MOST: Final = 30


class ContentError(InfraError):
    """A source does not have what it must have: what needs it fails (exit 3).

    `where` is the source as its author wrote it, `path` the path in it, empty for the source itself.
    """

    def __init__(self, where: str, path: str, reason: str, *, hint: str | None = None) -> None:
        self.where, self.path, self.reason = where, shown(path), shown(reason)
        place = f'"{self.path}" in {where}' if path else where
        super().__init__(f"{place} {self.reason}", hint=hint)


def shown(text: str) -> str:
    """`text` from outside as it is shown to people: nothing in it can move a cursor or break a line."""
    return display(text.encode("utf-8", "backslashreplace"))


def listed(names: object, *, none: str = "none", near: str | None = None) -> str:
    """Names for a sentence, sorted, no more than a reader can take in.

    When there are more, those that are spelt like `near` come first, for it was meant to be one of them.
    """
    assert isinstance(names, (list, tuple, set, frozenset)), "names are a collection"
    texts = sorted(shown(str(name)) for name in names)
    if len(texts) <= _MOST:
        return ", ".join(texts) or none
    first = [] if near is None else _close(near, texts)
    texts = [*first, *(text for text in texts if text not in first)]
    return f"{', '.join(texts[:_MOST])} and {len(texts) - _MOST} more"


def _close(near: str, texts: list[str]) -> list[str]:
    from difflib import get_close_matches  # noqa: PLC0415 - only for who misspelt one of many

    return get_close_matches(near[:80], texts)
