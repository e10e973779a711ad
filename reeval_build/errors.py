"""Errors for readers: which thing, what is wrong with it, what to do next."""

from __future__ import annotations

import errno
import os
import re
from contextlib import contextmanager
from typing import TYPE_CHECKING, ClassVar, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

# What moves a terminal's cursor, changes its colours or breaks a line.
_CONTROLS: Final = re.compile("[\0-\x1f\x7f-\x9f\u2028\u2029]")
# Twice the longest path there is, and room for a sentence.
_MAX_CHARACTERS: Final = 10_000


class ReevalError(Exception):
    """Something outside this program is wrong, and the reader can act on it.

    A bug in this program is never a `ReevalError`; it stays an `AssertionError` or whatever it was. Each of its lines
    is `printable`, whatever it quotes.
    """

    def __init__(self, *lines: str, hint: str | None = None) -> None:
        self.message = "\n".join(map(printable, lines))
        self.hint = None if hint is None else printable(hint)
        super().__init__(self.message)

    def __str__(self) -> str:
        return f"{self.message} ({self.hint})" if self.hint else self.message


class DefinitionError(ReevalError):
    """One or more mistakes in what the author wrote: nothing is built (exit 2)."""

    def __init__(self, *problems: str, file: str | None = None) -> None:
        super().__init__(*problems)
        self.problems = tuple(map(printable, problems))
        self.file = file


class PlanError(ReevalError):
    """What was asked for cannot be planned: nothing is built (exit 2)."""


class InfraError(ReevalError):
    """The world did not do its part: only what needs it fails (exit 3).

    `category` is the sort of failure, as programs read it.
    """

    category: ClassVar[str] = "other"


_FULL: Final = frozenset({errno.ENOSPC, errno.EDQUOT})
_MAKE_ROOM: Final = "make room on its file system, in the store with: reeval-build cache gc --budget SIZE"


class HostError(InfraError):
    """The host did not do what was asked of it: a disk is full, access is denied, a directory is gone."""

    def __init__(self, error: OSError) -> None:
        reason = error.strerror or str(error) or type(error).__name__
        path = os.fsdecode(error.filename) if isinstance(error.filename, bytes) else error.filename
        is_full = path is not None and error.errno in _FULL
        super().__init__(reason if path is None else f"{path}: {reason}", hint=_MAKE_ROOM if is_full else None)
        self.error = error


@contextmanager
def filling(path: str | os.PathLike[str]) -> Iterator[None]:
    """Have an error that says that a disk is full say where that is, when all that it knows is a descriptor."""
    try:
        yield
    except OSError as error:
        if error.filename is None and error.errno in _FULL:
            error.filename = os.fspath(path)
        raise


class StopRequest(SystemExit):
    """A signal told the program to end. Nothing may take it for somebody's `sys.exit()`."""


class CancelledError(ReevalError):
    """The run was told to stop before this piece of work was done (exit 130)."""

    def __init__(self) -> None:
        super().__init__("the run was stopped before this was done")


def printable(text: str) -> str:
    """`text`, which may quote anything, as one line for people.

    What is not valid Unicode, control characters and ends of lines are escaped; what is very long is cut.
    """
    valid = text.encode("utf-8", "backslashreplace").decode("utf-8")
    line = _CONTROLS.sub(lambda found: found[0].encode("unicode_escape").decode("ascii"), valid)
    if len(line) <= _MAX_CHARACTERS:
        return line
    kept = _MAX_CHARACTERS - 50  # room for the rest, so that what was cut is not cut again
    return f"{line[:kept]}… and {len(line) - kept:,} characters more"
