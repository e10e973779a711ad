"""The one place where threads start.

`concurrent.futures` does the same, and brings logging with it, which a command that has nothing to do would wait for.
"""

from __future__ import annotations

import threading
from contextlib import contextmanager
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

Name = TypeVar("Name")
Result = TypeVar("Result")


class Threads:
    """At most so many threads, each begun when there is something for it to do."""

    def __init__(self, count: int) -> None:
        self._count = count
        self._begun: list[threading.Thread] = []
        self._waiting: SimpleQueue[Callable[[], None] | None] = SimpleQueue()

    def begin(self, work: Callable[[], None]) -> None:
        """Do `work`, which raises nothing, when a thread is free."""
        self._waiting.put(work)
        if len(self._begun) < self._count:
            thread = threading.Thread(target=self._work, name=f"worker-{len(self._begun)}")
            thread.start()
            self._begun.append(thread)

    def _work(self) -> None:
        while (work := self._waiting.get()) is not None:
            work()

    def end(self) -> None:
        """Begin nothing more, and wait for what was begun."""
        try:
            while True:
                self._waiting.get_nowait()
        except Empty:
            pass
        for _ in self._begun:
            self._waiting.put(None)
        for thread in self._begun:
            thread.join()


class Future(Generic[Result]):
    """What became of a piece of work."""

    def __init__(self, work: Callable[[], Result]) -> None:
        self._error: BaseException | None = None
        try:
            self._result = work()
        except BaseException as error:  # noqa: BLE001 - it is raised again where it is dealt with
            self._error = error

    def result(self) -> Result:
        """What it returned. Raises what it raised."""
        if self._error is not None:
            raise self._error
        return self._result


class Workers(Generic[Name, Result]):
    """A bounded number of threads, each of which takes one value and returns one value."""

    def __init__(self, threads: Threads) -> None:
        self._threads = threads
        self._count = 0
        self._finished: SimpleQueue[tuple[Name, Future[Result]]] = SimpleQueue()

    def __len__(self) -> int:
        """How many pieces of work are not finished."""
        return self._count

    def begin(self, name: Name, work: Callable[[], Result]) -> None:
        """Do `work` when a thread is free."""
        self._count += 1
        self._threads.begin(lambda: self._finished.put((name, Future(work))))

    def finished(self) -> Iterable[tuple[Name, Future[Result]]]:
        """Wait until something is finished, and take what is."""
        done = [self._finished.get()]
        try:
            while True:
                done.append(self._finished.get_nowait())
        except Empty:
            self._count -= len(done)
            return done


@contextmanager
def workers(count: int) -> Iterator[Threads]:
    """Threads for the block; what has not begun when it ends never begins, what has is waited for."""
    threads = Threads(count)
    try:
        yield threads
    finally:
        threads.end()
