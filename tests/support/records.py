"""What a store has written down of a cell."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reeval_build.digest import Digest
from reeval_build.stores.local import LocalStore

if TYPE_CHECKING:
    from pathlib import Path

    from reeval_build.plan.record import CellRecord
    from tests.support.cli import Built


def cell_records(built: Built, store: Path) -> dict[str, CellRecord]:
    """The record of every cell of a build that has one, by name."""
    with LocalStore(store) as opened:
        found = {cell["name"]: opened.cells.find(Digest.parse(cell["key"])) for cell in built.value["cells"]}
    return {name: record for name, record in found.items() if record is not None}
