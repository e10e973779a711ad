"""Asks the world about many things at once."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, TypeVar

import attrs

from reeval_build.errors import HostError, InfraError
from reeval_build.execute.context import Context
from reeval_build.execute.threads import Workers, workers

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

Name = TypeVar("Name")
Result = TypeVar("Result")


@attrs.frozen
class Questions:
    """Asks with as many threads as there are `jobs`."""

    _context: Context
    _jobs: int

    def __call__(self, names: Iterable[Name], question: Callable[[Name], Result]) -> dict[Name, Result | InfraError]:
        """The answer to each name, each asked for once, or why there is none.

        Raises:
            CancelledError: when the run is told to stop.
        """
        answers: dict[Name, Result | InfraError] = {}
        with workers(self._jobs) as threads:
            pool: Workers[Name, Result] = Workers(threads)
            for name in dict.fromkeys(names):
                pool.begin(name, partial(question, name))
            try:
                while len(pool):
                    for name, future in pool.finished():
                        try:
                            answers[name] = future.result()
                        except InfraError as error:
                            answers[name] = error
                        except OSError as error:
                            answers[name] = HostError(error)
            except BaseException:
                self._context.cancel.set()
                raise
        return {name: answers[name] for name in dict.fromkeys(names)}
