"""Makes what a runner says fit into one clause of a message, without what may be a secret."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from reeval_build.model.shown import names_secret
from reeval_build.paths import display

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

_MOST_CHARACTERS: Final = 500
_FEWEST_CHARACTERS: Final = 4
_HIDDEN: Final = "…"
_USER_IN_URL: Final = re.compile(r"(?<=://)[^/?#\s@]*@")
_SYNTAX_PLACE: Final = re.compile(r" \(([^()]*), line (\d+)\)$")


class Clause:
    """Cleans text for messages of a run in which `environ` is the host's environment.

    Hidden are values of variables whose names say that they are secrets, and what a URL has before its host.
    """

    def __init__(self, environ: Mapping[str, str]) -> None:
        values = (value for name, value in environ.items() if names_secret(name))
        lines = {line.strip() for value in values for line in (value, *value.splitlines())}
        # Longer ones first, for one can have another in it; what is shorter is a word and no secret.
        self._secrets = sorted((line for line in lines if len(line) >= _FEWEST_CHARACTERS), key=len, reverse=True)

    def __call__(self, text: str) -> str:
        """`text` on one line, cut when it is long."""
        for secret in self._secrets:
            text = text.replace(secret, _HIDDEN)
        text = " ".join(_USER_IN_URL.sub(f"{_HIDDEN}@", text).split())
        shown = display(text.encode("utf-8", "backslashreplace"))
        return shown if len(shown) <= _MOST_CHARACTERS else shown[:_MOST_CHARACTERS] + _HIDDEN


def line_of(file: Path, traceback: str) -> int | None:
    """The line of `file` in which a traceback was last; None when it was not there."""
    found = re.findall(rf'File "{re.escape(str(file))}", line (\d+)', traceback)
    return int(found[-1]) if found else None


def with_line(message: str, line: int | None, *, file: Path) -> str:
    """A message and the line of `file` it is about, spelled alike for errors of syntax and others."""
    if found := _SYNTAX_PLACE.search(message):
        there = "" if found[1] == file.name else f" of {found[1]}"
        return f"{message[: found.start()]} (line {found[2]}{there})"
    return message if line is None else f"{message} (line {line})"
