"""Keeps a store within a budget while this process writes to it."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Final

from reeval_build.model.sizes import size_text
from reeval_build.ports.events import BudgetExceeded, InUse, StoreWaiting
from reeval_build.stores.local.alone import upkeep
from reeval_build.stores.local.collect import collect_alone
from reeval_build.stores.local.limits import Limits
from reeval_build.stores.local.locks import this_process
from reeval_build.stores.local.reach import Reach, named_by

if TYPE_CHECKING:
    from collections.abc import Iterator

    from reeval_build.ports.engine import Cancellation
    from reeval_build.ports.events import Listener
    from reeval_build.stores.local.store import LocalStore

# Of the budget: how much room is made at once, and how much more has to be written before it is tried again in vain.
_AT_ONCE: Final = 8
_AGAIN: Final = 16
# How often nothing goes before it is given up while other processes write, and how long they are left alone between.
_IN_VAIN: Final = 4
_PAUSE_S: Final = 0.05


class BudgetKeeper:
    """Collects when there are more bytes than `budget_bytes`, in whichever thread is about to write more.

    What is tallied may be too much, so all is measured before anything goes. A little more goes than must, for else it
    would be the same for each file.
    """

    def __init__(self, store: LocalStore, budget_bytes: int, *, cancel: Cancellation) -> None:
        self._store = store
        self._budget_bytes = budget_bytes
        self._cancel = cancel
        self._reach = Reach(store.objects)
        self._guard = threading.Lock()
        self._in_vain: tuple[int, int] | None = None
        self._said = False
        self.listen: Listener | None = None
        """Is told when the budget cannot hold."""

    def make_room(self, coming: int) -> None:
        """Have room for bytes that are coming. Raises CancelledError when the run is told to stop meanwhile."""
        if not self._store.tally.is_sure:
            with self._guard:
                if not self._store.tally.is_sure:
                    self._store.tally.measure()
        if self._is_due(coming):
            with self._guard:
                if self._is_due(coming):
                    self._collect(coming)

    def settle(self) -> None:
        """Make room when there is too little, for all that is known: nothing is measured for that."""
        if self._is_due(0):
            self.make_room(0)

    def _is_due(self, coming: int) -> bool:
        total = self._store.tally.total + coming
        if total <= self._budget_bytes:
            self._in_vain = None
            return False
        # Once, for another thread may find room meanwhile.
        in_vain = self._in_vain
        if in_vain is None:
            return True
        left, given_up = in_vain
        return self._store.leases.given_up != given_up or total > left + self._budget_bytes // _AGAIN

    def _collect(self, coming: int) -> None:
        given_up = self._store.leases.given_up
        in_vain = 0
        # More than once, for others write meanwhile: what they put here a moment ago is in no record yet, and stays.
        while in_vain < _IN_VAIN:
            in_vain = 0 if self._has_freed(coming) else in_vain + 1
            total = self._store.tally.total + coming
            if total <= self._budget_bytes:
                return
            if in_vain and not self._has_company():
                break
            if in_vain:
                self._cancel.wait(_PAUSE_S)
        self._in_vain = total, given_up
        self._say(total)

    def _has_company(self) -> bool:
        return any(lease.owner != this_process() for lease in self._store.leases.all())

    def _has_freed(self, coming: int) -> bool:
        """Collect, unless there is room; whether there is room, or more than before."""
        with upkeep(self._store, cancel=self._cancel, waiting=self._wait_for):
            # Another process may have done it.
            if self._store.tally.measure().bytes + coming <= self._budget_bytes:
                return True
            limits = Limits(budget_bytes=max(0, self._budget_bytes - max(self._budget_bytes // _AT_ONCE, coming)))
            rule = f"budget {size_text(self._budget_bytes)} of a build"
            return collect_alone(self._store, limits, self._reach, rule=rule).freed_bytes > 0

    def _say(self, total: int) -> None:
        if self.listen is not None and not self._said:
            self._said = True
            self.listen(BudgetExceeded(budget_bytes=self._budget_bytes, bytes=total, uses=tuple(self._uses())))

    def _uses(self) -> Iterator[InUse]:
        with self._store.database.errors():
            sizes = dict(self._store.database.connection.execute("SELECT digest, size FROM objects"))
        outputs = {one.key: one.record.output for one in self._store.records.all() if one.record is not None}
        used: dict[str, set[bytes]] = {}
        for lease in self._store.leases.all():
            roots = [named for key in lease.held["record"] & outputs.keys() for named in named_by(outputs[key])]
            roots += lease.objects
            for _ in self._reach.walk(roots, used.setdefault(lease.owner, set())):
                pass
        for owner, digests in used.items():
            of_it = sum(sizes.get(digest, 0) for digest in digests)
            yield InUse(owner="this build" if owner == this_process() else owner, bytes=of_it)

    def _wait_for(self, owner: str) -> None:
        if self.listen is not None:
            self.listen(StoreWaiting(owner=owner))
