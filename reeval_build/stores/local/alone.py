"""One process at a time looks after a store; any number use it meanwhile."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from reeval_build.stores.local.locks import exclusive, holder_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from reeval_build.ports.engine import Cancellation
    from reeval_build.stores.local.store import LocalStore


@contextmanager
def upkeep(store: LocalStore, *, cancel: Cancellation, waiting: Callable[[str], None]) -> Iterator[None]:
    """Hold the store against every other process that looks after it, and wait for one that does.

    `waiting` is called once with a description of that one.

    Raises:
        CancelledError: when the run is told to stop while it waits.
    """
    with exclusive(_lock_of(store), cancel=cancel, waiting=waiting):
        yield


def who_looks_after(store: LocalStore) -> str | None:
    """A description of the process that looks after the store at the moment, if one does."""
    return holder_of(_lock_of(store))


def _lock_of(store: LocalStore) -> Path:
    return store.root / "locks" / "upkeep"
