"""Where it is written down what cells were built of."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from reeval_build.digest import Digest
    from reeval_build.plan.record import CellRecord


class Cells(Protocol):
    """Keeps and finds the records of cells; safe to use from several threads and processes."""

    def keep(self, record: CellRecord) -> None:
        """Keep the record of a cell under its key, in place of an earlier one."""

    def find(self, key: Digest) -> CellRecord | None:
        """The record of a cell."""

    def last(self, name: str) -> CellRecord | None:
        """The record of those of a name that was kept last."""
