"""An engine on which only so many sandboxes run at once."""

from __future__ import annotations

import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from reeval_build.errors import CancelledError
from reeval_build.model.start_options import UNLIMITED

if TYPE_CHECKING:
    from collections.abc import Iterator

    from reeval_build.model.spec import Sandbox as SandboxSpec
    from reeval_build.model.start_options import StartOptions
    from reeval_build.plan.resolution import Base
    from reeval_build.ports.engine import Cancellation, Engine, Sandbox
    from reeval_build.state.state import Layout, State

_LOOK_AGAIN_S: Final = 0.1


class BoundedEngine:
    """See `ports.engine.Engine`: another engine, of whose sandboxes at most `limit` are there at any time.

    Whoever asks for one more waits until one is gone, or until the run is told to stop.
    """

    def __init__(self, engine: Engine, limit: int) -> None:
        self._engine = engine
        self._free = threading.BoundedSemaphore(limit)

    @property
    def layout(self) -> Layout:
        """See `ports.engine.Engine.layout`."""
        return self._engine.layout

    def resolve(self, sandbox: SandboxSpec, *, cancel: Cancellation) -> Base:
        """See `ports.engine.Engine.resolve`."""
        return self._engine.resolve(sandbox, cancel=cancel)

    def keep_private(self, state: State) -> None:
        """See `ports.engine.Engine.keep_private`."""
        self._engine.keep_private(state)

    def close(self) -> None:
        """See `ports.engine.Engine.close`."""
        self._engine.close()

    @contextmanager
    def start(self, state: State, *, options: StartOptions = UNLIMITED, cancel: Cancellation) -> Iterator[Sandbox]:
        """See `ports.engine.Engine.start`."""
        while not self._free.acquire(timeout=_LOOK_AGAIN_S):
            if cancel.is_set():
                raise CancelledError
        try:
            with self._engine.start(state, options=options, cancel=cancel) as sandbox:
                yield sandbox
        finally:
            self._free.release()
