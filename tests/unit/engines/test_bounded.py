from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import pytest

from reeval_build.engines.bounded import BoundedEngine
from reeval_build.engines.fake.engine import FakeEngine
from reeval_build.errors import CancelledError
from reeval_build.model.spec import FakeSandbox
from reeval_build.state.state import State
from tests.support.memory_store import MemoryObjects

if TYPE_CHECKING:
    from pathlib import Path

STOPPED = threading.Event()
STOPPED.set()
NEVER = threading.Event()


@pytest.fixture
def bounded(tmp_path: Path) -> BoundedEngine:
    engine = FakeEngine(MemoryObjects(), scratch=tmp_path, scratch_in=lambda above: above)
    return BoundedEngine(engine, 2)


@pytest.fixture
def state(bounded: BoundedEngine) -> State:
    return State(bounded.resolve(FakeSandbox(), cancel=NEVER).identity)


def try_to_start(bounded: BoundedEngine, state: State) -> None:
    """Start a sandbox if that is possible at once."""
    with bounded.start(state, cancel=STOPPED):
        pass


def test_there_are_never_more_sandboxes_than_the_limit(bounded, state):
    with bounded.start(state, cancel=NEVER), bounded.start(state, cancel=NEVER), pytest.raises(CancelledError):
        try_to_start(bounded, state)


def test_a_sandbox_that_is_gone_makes_room_for_another(bounded, state):
    with bounded.start(state, cancel=NEVER):
        for _ in range(3):
            try_to_start(bounded, state)


def test_a_sandbox_whose_block_fails_makes_room_for_another(bounded, state):
    for _ in range(3):
        with pytest.raises(LookupError), bounded.start(state, cancel=NEVER):
            raise LookupError

    try_to_start(bounded, state)


def test_whoever_waits_goes_on_when_there_is_room(bounded, state):
    began, waiter = threading.Event(), None

    def wait() -> None:
        with bounded.start(state, cancel=NEVER):
            began.set()

    with bounded.start(state, cancel=NEVER):
        with bounded.start(state, cancel=NEVER):
            waiter = threading.Thread(target=wait)
            waiter.start()
        assert began.wait(60)
    waiter.join()
