"""Records in the database of a store."""

from __future__ import annotations

import os
import time
from contextlib import suppress
from datetime import UTC, datetime
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

import attrs

from reeval_build import canon
from reeval_build.digest import Digest, Domain
from reeval_build.errors import InfraError
from reeval_build.ports.records import Eviction, Record
from reeval_build.stores.local.locks import exclusive
from reeval_build.stores.local.outputs import output_of, output_text

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable, Iterable, Mapping
    from contextlib import AbstractContextManager
    from pathlib import Path

    from reeval_build.ports.engine import Cancellation
    from reeval_build.stores.local.database import Database
    from reeval_build.stores.local.leases import Leases

RECORD: Final = Domain("record", 1)

_COLUMNS: Final = 'key, phase, output, material, seconds, log, "check"'
_LOOK_UP_AT_ONCE: Final = 500
# Where the columns of a record begin in what is looked up by recipe keys.
_KEY: Final = 2
_DAY_S: Final = 24 * 60 * 60


@attrs.frozen(kw_only=True)
class Listed:
    """A record in the list of all, by its raw key; none when its row is damaged.

    `check` is a digest of the row, `used_on` is in days since 1970.
    """

    key: bytes
    phase: str
    check: bytes
    record: Record | None
    used_on: int


class LocalRecords:
    """See `ports.records.Records`."""

    def __init__(self, database: Database, leases: Leases, locks: Path) -> None:
        self._database = database
        self._leases = leases
        self._locks = locks

    def by_recipe(self, recipes: Iterable[Digest]) -> Mapping[Digest, Record]:
        """See `ports.records.Records.by_recipe`."""
        wanted = [recipe.raw for recipe in recipes]
        rows: list[tuple[Any, ...]] = []
        with self._database.errors(), self._leases.taking():
            for start in range(0, len(wanted), _LOOK_UP_AT_ONCE):
                some = wanted[start : start + _LOOK_UP_AT_ONCE]
                marks = ",".join("?" * len(some))
                rows += self._database.connection.execute(
                    f"SELECT recipe, used_on, {_COLUMNS}"  # noqa: S608 - only question marks
                    " FROM recipes JOIN records USING (key)"
                    f" WHERE recipe IN ({marks})",
                    some,
                )
            self._leases.hold("record", (row[_KEY] for row in rows))
        self._note_use((row[_KEY], row[_KEY - 1]) for row in rows)
        found = ((Digest(row[0]), _record(row[_KEY:])) for row in rows)
        return {recipe: record for recipe, record in found if record is not None}

    def find(self, key: Digest) -> Record | None:
        """See `ports.records.Records.find`."""
        with self._database.errors(), self._leases.taking():
            row = self._database.connection.execute(
                f"SELECT used_on, {_COLUMNS} FROM records WHERE key = ?",  # noqa: S608 - ours
                (key.raw,),
            ).fetchone()
            if row is not None:
                self._leases.hold("record", [key.raw])
        if row is None:
            return None
        self._note_use([(key.raw, row[0])])
        return _record(row[1:])

    def publish(self, record: Record, *, recipe: Digest, work: Digest | None = None) -> None:
        """See `ports.records.Records.publish`."""
        output = output_text(record.output)
        # The path of a store may be any bytes.
        log = None if record.log is None else os.fsencode(record.log)
        row = (record.key.raw, record.phase, output, record.material, record.seconds, log)
        with self._leases.taking(), self._database.writing() as connection:
            connection.execute(
                f"INSERT OR REPLACE INTO records ({_COLUMNS}, built_at, used_on) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",  # noqa: S608 - ours
                (*row, _check(row), now(), today()),
            )
            _lead(connection, recipe, record.key)
            if work is not None:
                connection.execute(
                    "INSERT OR REPLACE INTO durations (work, phase, seconds, measured_on) VALUES (?, ?, ?, ?)",
                    (work.raw, record.phase, record.seconds, today()),
                )
            self._leases.hold("record", [record.key.raw])

    def expected(self, works: Mapping[Digest, str]) -> Mapping[Digest, float]:
        """See `ports.records.Records.expected`."""
        with self._database.errors():
            connection = self._database.connection
            means = dict(connection.execute("SELECT phase, avg(seconds) FROM durations GROUP BY phase"))
            found = {work: means[phase] for work, phase in works.items() if phase in means}
            wanted = [work.raw for work in found]
            for start in range(0, len(wanted), _LOOK_UP_AT_ONCE):
                some = wanted[start : start + _LOOK_UP_AT_ONCE]
                marks = ",".join("?" * len(some))
                rows = connection.execute(
                    f"SELECT work, seconds FROM durations WHERE work IN ({marks})",  # noqa: S608 - only question marks
                    some,
                )
                found.update((Digest(work), seconds) for work, seconds in rows)
        return found

    def link(self, recipe: Digest, key: Digest) -> None:
        """See `ports.records.Records.link`."""
        with self._database.writing() as connection:
            _lead(connection, recipe, key)

    def working(self) -> AbstractContextManager[None]:
        """See `ports.records.Records.working`."""
        return self._leases.working()

    def give_up(self, keys: Iterable[Digest]) -> None:
        """See `ports.records.Records.give_up`."""
        self._leases.give_up(key.raw for key in keys)

    def all(self, *, besides: Mapping[bytes, bytes] | None = None) -> list[Listed]:
        """Every record but those of `besides`, which has the `check` of each by its raw key, if they are as they were.

        Without a lease: what looks after the store reads all, and uses none.
        """
        known = besides or {}
        with self._database.errors():
            rows = self._database.connection.execute(f"SELECT built_at, used_on, {_COLUMNS} FROM records").fetchall()  # noqa: S608 - ours
        return [
            Listed(
                key=row[0],
                phase=row[1],
                check=row[-1],
                record=_record(tuple(row)),
                used_on=day_of(built_at) if used_on is None else used_on,
            )
            for built_at, used_on, *row in rows
            if known.get(row[0]) != row[-1]
        ]

    def _note_use(self, used: Iterable[tuple[bytes, int | None]]) -> None:
        """Write down that records were used today: a day is exact enough, and one write a day is next to nothing."""
        day = today()
        stale = [(day, key) for key, used_on in used if used_on != day]
        # Nobody's result depends on it: a store that cannot be written to is still read.
        with suppress(InfraError):
            if stale:
                with self._database.writing() as connection:
                    connection.executemany("UPDATE records SET used_on = ? WHERE key = ?", stale)

    def forget(self, key: Digest) -> None:
        """See `ports.records.Records.forget`."""
        with self._database.writing() as connection:
            connection.execute("DELETE FROM recipes WHERE key = ?", (key.raw,))
            connection.execute("DELETE FROM records WHERE key = ?", (key.raw,))

    def evictions(self, recipes: Iterable[Digest]) -> Mapping[Digest, Eviction]:
        """See `ports.records.Records.evictions`."""
        found: dict[Digest, Eviction] = {}
        rest = iter([recipe.raw for recipe in recipes])
        with self._database.errors():
            while some := list(islice(rest, _LOOK_UP_AT_ONCE)):
                marks = ",".join("?" * len(some))
                rows = self._database.connection.execute(
                    f"SELECT recipe, phase, evicted_at, rule FROM evictions WHERE recipe IN ({marks})",  # noqa: S608 - only question marks
                    some,
                )
                for recipe, phase, evicted_at, rule in rows:
                    found[Digest(recipe)] = Eviction(phase=phase, evicted_at=evicted_at, rule=rule)
        return found

    def exclusive(
        self, key: Digest, *, cancel: Cancellation, waiting: Callable[[str], None]
    ) -> AbstractContextManager[None]:
        """See `ports.records.Records.exclusive`."""
        return exclusive(self._locks / key.hex, cancel=cancel, waiting=waiting)


def _lead(connection: sqlite3.Connection, recipe: Digest, key: Digest) -> None:
    """Have a recipe key lead to a record, which whoever asks holds a lease of."""
    connection.execute("INSERT OR REPLACE INTO recipes (recipe, key) VALUES (?, ?)", (recipe.raw, key.raw))
    connection.execute("DELETE FROM evictions WHERE recipe = ?", (recipe.raw,))


def today() -> int:
    """Days since 1970."""
    return int(time.time() // _DAY_S)


def day_of(moment: str) -> int:
    """The day of a time as `now` writes it; the first one of all for anything else."""
    try:
        return int(datetime.fromisoformat(moment).timestamp() // _DAY_S)
    except ValueError:
        return 0


def now() -> str:
    """The time as the index has it."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def _check(row: tuple[bytes, str, str, bytes, float, bytes | None]) -> bytes:
    """A digest of what a row says: the database does not notice a byte that changed on the disk."""
    key, phase, output, material, seconds, log = row
    return RECORD.digest(canon.encode([key, phase, output, material, repr(seconds), log])).raw


def _record(row: tuple[bytes, str, str, bytes, float, bytes | None, bytes]) -> Record | None:
    """The record of a row of `_COLUMNS`, or None for one that is not as it was written, which is as good as none."""
    key, phase, output, material, seconds, log, check = row
    try:
        is_as_written = _check((key, phase, output, material, seconds, log)) == check
    except TypeError:
        is_as_written = False
    if not is_as_written:
        return None
    return Record(
        key=Digest(key),
        phase=phase,
        output=output_of(output),
        material=material,
        seconds=seconds,
        log=None if log is None else os.fsdecode(log),
    )
