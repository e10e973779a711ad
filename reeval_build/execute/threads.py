"""The one place where threads start."""

from __future__ import annotations

from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from contextlib import contextmanager
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from concurrent.futures import Future

Name = TypeVar("Name")
Result = TypeVar("Result")


class Workers(Generic[Name, Result]):
    """A bounded number of threads, each of which takes one value and returns one value."""

    def __init__(self, pool: ThreadPoolExecutor) -> None:
        self._pool = pool
        self._running: dict[Future[Result], Name] = {}

    def __len__(self) -> int:
        """How many pieces of work are not finished."""
        return len(self._running)

    def begin(self, name: Name, work: Callable[[], Result]) -> None:
        """Do `work` when a thread is free."""
        self._running[self._pool.submit(work)] = name

    def finished(self) -> Iterable[tuple[Name, Future[Result]]]:
        """Wait until something is finished, and take what is."""
        done, _rest = wait(self._running, return_when=FIRST_COMPLETED)
        return [(self._running.pop(future), future) for future in done]


@contextmanager
def workers(count: int) -> Iterator[ThreadPoolExecutor]:
    """Threads for the block; what has not begun when it ends never begins, what has is waited for."""
    with ThreadPoolExecutor(count, thread_name_prefix="worker") as pool:
        try:
            yield pool
        finally:
            pool.shutdown(wait=False, cancel_futures=True)
