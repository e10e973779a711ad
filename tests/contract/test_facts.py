"""What every memory of facts does, and what the one of a store in a directory does besides."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from reeval_build.content.facts import Fact, question
from reeval_build.digest import BLOB, Digest, Domain
from reeval_build.stores.local import LocalStore
from tests.support.memory_store import MemoryFacts

if TYPE_CHECKING:
    from reeval_build.content.facts import Facts

SIZE = Domain("fact size", 1)
COLOUR = Domain("fact colour", 1)


def keep(store: LocalStore, data: bytes) -> Digest:
    """An object that facts can be about."""
    with store.objects.batch() as batch:
        return batch.add(BLOB, data)


def fact(about: Digest, answer: bytes, domain: Domain = SIZE) -> Fact:
    return Fact(question=question(domain, about), about=about, answer=answer)


@pytest.fixture(params=["local", "memory"])
def facts(request: pytest.FixtureRequest, store: LocalStore) -> Facts:
    return store.facts if request.param == "local" else MemoryFacts()


def test_nothing_is_known_of_what_was_never_asked(facts: Facts, store: LocalStore) -> None:
    one = keep(store, b"one")
    assert facts.known([question(SIZE, one)]) == {}

    facts.keep([fact(one, b"3")])

    assert facts.known([question(SIZE, keep(store, b"other")), question(COLOUR, one), question(SIZE, one, "a")]) == {}


def test_what_was_found_out_is_known(facts: Facts, store: LocalStore) -> None:
    digests = [keep(store, b"%d" % number) for number in range(1200)]

    facts.keep([fact(digest, b"%d" % number) for number, digest in enumerate(digests)])
    facts.keep([])

    known = facts.known([question(SIZE, digest) for digest in digests])
    assert known == {question(SIZE, digest): b"%d" % number for number, digest in enumerate(digests)}


def test_what_is_found_out_later_counts(facts: Facts, store: LocalStore) -> None:
    one = keep(store, b"one")

    facts.keep([fact(one, b"3")])
    facts.keep([fact(one, b"4"), fact(one, b"red", COLOUR)])

    assert facts.known([question(SIZE, one), question(COLOUR, one)]) == {
        question(SIZE, one): b"4",
        question(COLOUR, one): b"red",
    }


def count(store: LocalStore) -> int:
    with closing(sqlite3.connect(store.root / "store.sqlite")) as database:
        number: int = database.execute("SELECT count(*) FROM facts").fetchone()[0]
        return number


def test_a_fact_goes_with_the_object_that_it_is_about(store: LocalStore) -> None:
    one, other = keep(store, b"one"), keep(store, b"other")
    store.facts.keep([fact(one, b"3"), fact(one, b"red", COLOUR), fact(other, b"5")])

    store.objects.drop(one)

    assert store.facts.known([question(SIZE, one), question(SIZE, other)]) == {question(SIZE, other): b"5"}
    assert count(store) == 1


def test_nothing_is_kept_of_an_object_that_is_not_there(store: LocalStore) -> None:
    store.facts.keep([fact(BLOB.digest(b"never kept"), b"3")])

    assert count(store) == 0


@pytest.mark.conforms("fault 22")
@pytest.mark.parametrize("column", ["about", "answer", '"check"'])
def test_a_fact_that_is_damaged_is_not_known(store: LocalStore, column: str) -> None:
    one, other = keep(store, b"one"), keep(store, b"other")
    store.facts.keep([fact(one, b"3"), fact(other, b"5")])
    with closing(sqlite3.connect(store.root / "store.sqlite")) as database, database:
        statement = f"UPDATE facts SET {column} = ? WHERE about = ?"  # noqa: S608 - a name from above
        database.execute(statement, (b"damaged " * 4, one.raw))

    assert store.facts.known([question(SIZE, one), question(SIZE, other)]) == {question(SIZE, other): b"5"}


def test_another_process_knows_them(store: LocalStore) -> None:
    one = keep(store, b"one")
    store.facts.keep([fact(one, b"3")])

    with LocalStore(store.root) as again:
        assert again.facts.known([question(SIZE, one)]) == {question(SIZE, one): b"3"}


def test_a_store_that_cannot_be_written_to_only_forgets(store: LocalStore) -> None:
    one = keep(store, b"one")
    store.facts.keep([fact(one, b"3")])
    store.database.connection.execute("PRAGMA query_only = 1")

    store.facts.keep([fact(one, b"4")])

    assert store.facts.known([question(SIZE, one)]) == {question(SIZE, one): b"3"}
