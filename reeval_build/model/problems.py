"""What happens to a mistake: it is raised, or kept while the rest of a file is checked."""

from __future__ import annotations

from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Final, TypeVar

from reeval_build.errors import DefinitionError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

Value = TypeVar("Value")

_collected: Final[ContextVar[list[str] | None]] = ContextVar("collected", default=None)


@contextmanager
def collecting_problems() -> Iterator[list[str]]:
    """Keep every mistake in the list that is given, each once, instead of raising the first.

    Meanwhile `define_environment`, `extend` and the helpers return something of the right type for what they refuse,
    so that a file runs to its end and all its mistakes are found at once. What they returned is not to be used: who
    opens this looks into the list, and raises.
    """
    problems: list[str] = []
    token = _collected.set(problems)
    try:
        yield problems
    finally:
        _collected.reset(token)


def has_collected() -> bool:
    """Whether a mistake was kept already."""
    return bool(_collected.get())


def refuse(problems: Iterable[str], *, instead: Value) -> Value:
    """Raise a DefinitionError with `problems`; or keep them and return `instead`, while they are collected."""
    collected = _collected.get()
    if collected is None:
        raise DefinitionError(*problems)
    collected.extend(problem for problem in problems if problem not in collected)
    return instead
