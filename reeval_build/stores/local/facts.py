"""What follows from the content of objects, in the database of a store."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Final

from blake3 import blake3

from reeval_build.digest import Digest
from reeval_build.stores.local.database import StoreAccessError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from reeval_build.content.facts import Fact
    from reeval_build.stores.local.database import Database

_LOOK_UP_AT_ONCE: Final = 500

# Made when something is first remembered, as what is known of files is: any version can do without.
_SCHEMA: Final = (
    'CREATE TABLE IF NOT EXISTS facts (question BLOB PRIMARY KEY, about BLOB, answer BLOB, "check" BLOB)',
    "CREATE INDEX IF NOT EXISTS facts_about ON facts (about)",
    # Whoever deletes the row of an object, a collector among them, deletes what is known of it.
    (
        "CREATE TRIGGER IF NOT EXISTS facts_go AFTER DELETE ON objects"
        " BEGIN DELETE FROM facts WHERE about = OLD.digest; END"
    ),
)
# Of an object that is not there, nothing would ever delete a fact.
_INSERT: Final = "INSERT OR REPLACE INTO facts SELECT ?, digest, ?, ? FROM objects WHERE digest = ?"


class LocalFacts:
    """See `content.facts.Facts`. A disk that takes no more only has everything be read again."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def known(self, questions: Iterable[Digest], /) -> Mapping[Digest, bytes]:
        """See `content.facts.Facts.known`."""
        wanted = [question.raw for question in questions]
        found: dict[Digest, bytes] = {}
        with self._database.errors():
            connection = self._database.connection
            if connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'facts'").fetchone() is None:
                return {}
            for start in range(0, len(wanted), _LOOK_UP_AT_ONCE):
                some = wanted[start : start + _LOOK_UP_AT_ONCE]
                marks = ",".join("?" * len(some))
                for question, about, answer, check in connection.execute(
                    f'SELECT question, about, answer, "check" FROM facts WHERE question IN ({marks})',  # noqa: S608 - only question marks
                    some,
                ):
                    if _check(question, about, answer) == check:
                        found[Digest(question)] = answer
        return found

    def keep(self, facts: Iterable[Fact], /) -> None:
        """See `content.facts.Facts.keep`."""
        rows = [_row(fact.question.raw, fact.about.raw, fact.answer) for fact in facts]
        if not rows:
            return
        with suppress(StoreAccessError), self._database.writing() as connection:
            for statement in _SCHEMA:
                connection.execute(statement)
            connection.executemany(_INSERT, rows)


def _row(question: bytes, about: bytes, answer: bytes) -> tuple[bytes, bytes, bytes, bytes]:
    return question, answer, _check(question, about, answer), about


def _check(question: bytes, about: bytes, answer: bytes) -> bytes:
    """A digest of a row: what was damaged on the disk is not known."""
    hasher = blake3()
    for part in (question, about, answer):
        hasher.update(b"%d:" % len(part))
        hasher.update(part)
    return hasher.digest()
