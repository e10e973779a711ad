"""How many bytes a store counts, and what it does when that is too many."""

from __future__ import annotations

import os
import threading
from typing import TYPE_CHECKING

import pytest

from reeval_build.stores.local.keeper import BudgetKeeper
from tests.support.local_store import LARGE, MEGABYTE, keep, noise

if TYPE_CHECKING:
    from reeval_build.ports.events import Event
    from reeval_build.stores.local import LocalStore

BUDGET = 8 * MEGABYTE


@pytest.fixture
def said() -> list[Event]:
    return []


@pytest.fixture
def keeper(store: LocalStore, said: list[Event]) -> BudgetKeeper:
    keeper = BudgetKeeper(store, BUDGET, cancel=threading.Event())
    keeper.listen = said.append
    return keeper


def test_a_tally_that_was_damaged_stops_nothing(store: LocalStore) -> None:
    (store.root / "tally").write_bytes(b"\xff" * 8)

    keep(store, LARGE)

    assert store.tally.total > 0


def test_a_tally_that_was_damaged_is_right_again_when_there_is_a_budget(
    store: LocalStore, keeper: BudgetKeeper, said: list[Event]
) -> None:
    (store.root / "tally").write_bytes(b"\xff" * 8)
    store.tally.watch = keeper.make_room

    keep(store, noise(MEGABYTE))

    assert MEGABYTE < store.tally.total < BUDGET
    assert said == []


def test_room_that_is_made_of_old_logs_is_enough(store: LocalStore, keeper: BudgetKeeper, said: list[Event]) -> None:
    log = store.logs / f"{'0' * 64}.log"
    log.write_bytes(bytes(2 * BUDGET))
    os.utime(log, (0, 0))

    keeper.make_room(1)

    assert not log.exists()
    assert said == []


def test_after_room_was_made_a_thread_does_not_wait_for_the_disk_at_each_of_its_writes(
    store: LocalStore, keeper: BudgetKeeper
) -> None:
    before = store.database.connection.execute("PRAGMA synchronous").fetchone()
    keep(store, noise(2 * BUDGET))
    store.leases.close()

    keeper.make_room(1)

    assert store.tally.total < BUDGET
    assert store.database.connection.execute("PRAGMA synchronous").fetchone() == before
