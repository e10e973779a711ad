"""Records of cells in the database of a store."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from reeval_build.digest import Digest
from reeval_build.errors import InfraError
from reeval_build.stores.local.outputs import cell_of, cell_text
from reeval_build.stores.local.records import now, today

if TYPE_CHECKING:
    from reeval_build.plan.record import CellRecord
    from reeval_build.stores.local.database import Database


class LocalCells:
    """See `ports.cells.Cells`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def keep(self, record: CellRecord) -> None:
        """See `ports.cells.Cells.keep`. A record that says the same is not written again."""
        key, text = Digest.parse(record.key).raw, cell_text(record)
        with self._database.errors():
            known = self._database.connection.execute(
                "SELECT record, used_on FROM cells WHERE key = ?", (key,)
            ).fetchone()
        if known is not None and known[0] == text:
            if known[1] != today():
                self._note_use(key)
            return
        row = (key, record.name, text, now(), today())
        with self._database.writing() as connection:
            connection.execute(
                "INSERT OR REPLACE INTO cells (key, name, record, built_at, used_on) VALUES (?, ?, ?, ?, ?)", row
            )

    def _note_use(self, key: bytes) -> None:
        # As for records.
        with suppress(InfraError), self._database.writing() as connection:
            connection.execute("UPDATE cells SET used_on = ? WHERE key = ?", (today(), key))

    def find(self, key: Digest) -> CellRecord | None:
        """See `ports.cells.Cells.find`."""
        return self._first("WHERE key = ?", key.raw)

    def last(self, name: str) -> CellRecord | None:
        """See `ports.cells.Cells.last`."""
        return self._first("WHERE name = ? ORDER BY built_at DESC, rowid DESC LIMIT 1", name)

    def _first(self, where: str, value: bytes | str) -> CellRecord | None:
        with self._database.errors():
            row = self._database.connection.execute(f"SELECT record FROM cells {where}", (value,)).fetchone()  # noqa: S608 - ours
        return None if row is None else cell_of(row[0])
