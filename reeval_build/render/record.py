"""Records of cells, as files."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final
from urllib.parse import quote

import attrs

from reeval_build.digest import Domain
from reeval_build.execute.recording import records_of

if TYPE_CHECKING:
    from pathlib import Path

    from reeval_build.execute.outcome import Outcome
    from reeval_build.plan.record import CellRecord

LONG_NAME: Final = Domain("name of a cell", 1)
# Of the 255 that file systems allow; what programs put behind a name while they write has room.
_MAX_BYTES: Final = 200
_MARK_DIGITS: Final = 16


def write_records(outcome: Outcome, directory: Path) -> None:
    """Write `record.json` for every cell that did not fail, in a directory of its name below `directory`.

    Raises:
        OSError: when that cannot be written.
    """
    for planned, record in records_of(outcome):
        place = directory / directory_name(planned.cell.name)
        place.mkdir(parents=True, exist_ok=True)
        (place / "record.json").write_text(record_json(record) + "\n", encoding="utf-8")


def record_json(record: CellRecord) -> str:
    """One object. The shape is in `docs/reference/json.md`."""
    return json.dumps(attrs.asdict(record), indent=2)


def directory_name(cell: str) -> str:
    """The name of a cell as that of a directory: a slash, and what else a path cannot have, is percent-encoded.

    One that is too long for a path is cut, and ends in a digest of all of it.
    """
    name = quote(cell, safe=" !#$&'()+,;=@[]^`{}~:")
    if len(name) <= _MAX_BYTES:
        return name
    mark = LONG_NAME.digest(cell.encode()).hex[:_MARK_DIGITS]
    return f"{name[: _MAX_BYTES - _MARK_DIGITS - 1]}~{mark}"
