"""Errors for readers: which thing, what is wrong with it, what to do next."""

from __future__ import annotations

from typing import ClassVar


class ReevalError(Exception):
    """Something outside this program is wrong, and the reader can act on it.

    A bug in this program is never a `ReevalError`; it stays an `AssertionError` or whatever it was. A message can
    always be printed: what it quotes and is not valid Unicode is escaped.
    """

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        self.message = _printable(message)
        self.hint = hint
        super().__init__(self.message)

    def __str__(self) -> str:
        return f"{self.message} ({self.hint})" if self.hint else self.message


class DefinitionError(ReevalError):
    """One or more mistakes in what the author wrote: nothing is built (exit 2)."""

    def __init__(self, *problems: str, file: str | None = None) -> None:
        super().__init__("\n".join(problems))
        self.problems = tuple(_printable(problem) for problem in problems)
        self.file = file


class PlanError(ReevalError):
    """What was asked for cannot be planned: nothing is built (exit 2)."""


class InfraError(ReevalError):
    """The world did not do its part: only what needs it fails (exit 3).

    `category` is the sort of failure, as programs read it.
    """

    category: ClassVar[str] = "other"


class HostError(InfraError):
    """The host did not do what was asked of it: a disk is full, access is denied, a directory is gone."""

    def __init__(self, error: OSError) -> None:
        reason = error.strerror or str(error) or type(error).__name__
        super().__init__(reason if error.filename is None else f"{error.filename}: {reason}")
        self.error = error


class StopRequest(SystemExit):
    """A signal told the program to end. Nothing may take it for somebody's `sys.exit()`."""


class CancelledError(ReevalError):
    """The run was told to stop before this piece of work was done (exit 130)."""

    def __init__(self) -> None:
        super().__init__("the run was stopped before this was done")


def _printable(text: str) -> str:
    return text.encode("utf-8", "backslashreplace").decode("utf-8")
