"""Fetches what skills and plugins are in, and again what of it was lost."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias, TypeVar

from reeval_build.errors import InfraError
from reeval_build.execute.sources import fetch_source, forget_source
from reeval_build.ports.objects import LostObjectError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from reeval_build.execute.context import Context
    from reeval_build.execute.questions import Questions
    from reeval_build.plan.resolution import FetchedSource
    from reeval_build.plan.sources import SourceRequest

Result = TypeVar("Result")
Fetched: TypeAlias = "Mapping[SourceRequest, FetchedSource | InfraError]"


def fetch_all(requests: Iterable[SourceRequest], context: Context, ask: Questions) -> Fetched:
    """Each source, read into the store, or why it cannot be had."""
    return ask(list(requests), lambda request: fetch_source(request, context))


def had(answer: Result | InfraError) -> Result:
    """An answer. Raises the error that there is in place of one."""
    if isinstance(answer, InfraError):
        raise answer
    return answer


def whole(fetched: FetchedSource, context: Context, read: Callable[[FetchedSource], Result]) -> Result:
    """What `read` makes of a source, which is fetched again when the store has lost a piece of it."""
    try:
        return read(fetched)
    except LostObjectError:
        forget_source(fetched.source, context)
        context.git.distrust()
        return read(fetch_source(fetched.source.request, context, lost=True))
