"""What happens to a mistake: it is raised, or kept while the rest of a file is checked."""

from __future__ import annotations

from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Final, TypeVar

import attrs

from reeval_build.errors import DefinitionError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

Value = TypeVar("Value")


@attrs.frozen
class _Collected:
    """What was refused so far; `unsupported` only counts when there is no mistake."""

    mistakes: list[str] = attrs.field(factory=list)
    unsupported: list[str] = attrs.field(factory=list)


_collected: Final[ContextVar[_Collected | None]] = ContextVar("collected", default=None)


@contextmanager
def collecting_problems() -> Iterator[list[str]]:
    """Keep every mistake in the list that is given, each once and in the order of their calls.

    Meanwhile `define_environment`, `extend` and the helpers return something of the right type for what they refuse,
    so that a file runs to its end and all its mistakes are found at once. What they returned is not to be used: who
    opens this looks into the list, and raises. What is only not supported yet is put into the list at the end, when
    there is no mistake, also when the block raises.
    """
    collected = _Collected()
    token = _collected.set(collected)
    try:
        yield collected.mistakes
    finally:
        _collected.reset(token)
        if not collected.mistakes:
            collected.mistakes.extend(collected.unsupported)


def refuse(problems: Iterable[str], *, instead: Value, unsupported: bool = False) -> Value:
    """Raise a DefinitionError with `problems`; or keep them and return `instead`, while they are collected.

    Without any problem, `instead` is the thing itself. `unsupported` says that all is right, but not built yet.
    """
    problems = tuple(problems)
    collected = _collected.get()
    if problems and collected is None:
        raise DefinitionError(*problems)
    if collected is not None:
        kept = collected.unsupported if unsupported else collected.mistakes
        kept.extend(problem for problem in dict.fromkeys(problems) if problem not in kept)
    return instead
