"""What nodes are called in front of people."""

from __future__ import annotations

from typing import Final

_LABEL_CHARACTERS: Final = 60


def shorten(text: str) -> str:
    """One line of at most 60 characters, for people."""
    line = " ".join(text.split())
    return line if len(line) <= _LABEL_CHARACTERS else line[: _LABEL_CHARACTERS - 1] + "…"


def shorten_path(path: str) -> str:
    """The end of a path of the host, which tells it apart: as many whole names as there is room for."""
    line = " ".join(path.split())
    if len(line) <= _LABEL_CHARACTERS:
        return line
    end = line[1 - _LABEL_CHARACTERS :]
    return "…" + end[max(end.find("/"), 0) :]
