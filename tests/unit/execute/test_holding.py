"""What a run needs of a store while it goes on."""

from __future__ import annotations

import pytest

from reeval_build.digest import BLOB, Digest
from reeval_build.execute.holding import Holding
from reeval_build.plan.graph import Graph, Node, Parent
from reeval_build.plan.work import RootWork
from reeval_build.state.state import Layout
from tests.support.memory_store import MemoryRecords

BASE, LEFT, RIGHT, TOP = (BLOB.digest(name) for name in (b"base", b"left", b"right", b"top"))
PARENTS = {BASE: (), LEFT: (BASE,), RIGHT: (BASE,), TOP: (LEFT, RIGHT)}
WORK = RootWork(layout=Layout((b"w",), (b"h",)))


class GivenUp(MemoryRecords):
    """Records that remember what was given up."""

    def __init__(self) -> None:
        super().__init__()
        self.keys: list[Digest] = []

    def give_up(self, keys) -> None:
        self.keys += keys


@pytest.fixture
def records() -> GivenUp:
    return GivenUp()


def graph() -> Graph:
    nodes = {
        recipe: Node(
            phase="root",
            recipe=recipe,
            parents=tuple(Parent(role=str(at), recipe=parent) for at, parent in enumerate(parents)),
            label="",
            work=WORK,
        )
        for recipe, parents in PARENTS.items()
    }
    return Graph(nodes=nodes, cells=())


def key(recipe: Digest) -> Digest:
    return BLOB.digest(recipe.raw)


def build(holding: Holding, *recipes: Digest) -> None:
    for recipe in recipes:
        holding.given(recipe, key(recipe))
        holding.end(recipe)
        holding.let_go()


def test_what_a_node_stands_on_is_needed_until_the_last_that_does_has_ended(records):
    holding = Holding(graph(), records, kept=set())

    build(holding, BASE, LEFT)
    assert records.keys == []
    build(holding, RIGHT)
    assert records.keys == [key(BASE)]
    build(holding, TOP)

    assert sorted(records.keys) == sorted(map(key, PARENTS))


def test_a_node_that_failed_needs_nothing_any_more(records):
    holding = Holding(graph(), records, kept=set())
    build(holding, BASE, LEFT)

    for failed in (RIGHT, TOP):
        holding.end(failed)
    holding.let_go()

    assert sorted(records.keys) == sorted([key(BASE), key(LEFT)])


def test_what_is_kept_is_never_given_up(records):
    holding = Holding(graph(), records, kept={TOP})

    build(holding, *PARENTS)

    assert key(TOP) not in records.keys


def test_what_a_node_that_is_built_again_stands_on_is_needed_again(records):
    holding = Holding(graph(), records, kept=set())
    build(holding, BASE, LEFT, RIGHT)

    holding.begin_again(LEFT)
    holding.given(BASE, key(BASE))
    holding.let_go()
    assert records.keys.count(key(BASE)) == 1
    build(holding, LEFT)

    assert records.keys.count(key(BASE)) == 2


def test_what_was_given_more_than_once_is_given_up_as_often(records):
    holding = Holding(graph(), records, kept=set())
    holding.given(BASE, key(BASE))

    build(holding, *PARENTS)

    assert records.keys.count(key(BASE)) == 2
