"""What is to be done next."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hypothesis import given
from hypothesis import strategies as st

from reeval_build.digest import Digest, Domain
from reeval_build.execute.agenda import Agenda
from reeval_build.plan.graph import Graph, Node, Parent

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from hypothesis.strategies import DataObject

_NAMES = Domain("test name", 1)


def recipe(name: str) -> Digest:
    return _NAMES.digest(name.encode())


def graph(parents: Mapping[str, str]) -> Graph:
    """Nodes that are called by one letter each, with the letters of their parents."""
    nodes = {
        recipe(name): Node(
            phase="setup",
            recipe=recipe(name),
            parents=tuple(Parent(role=letter, recipe=recipe(letter)) for letter in above),
            label=name,
            work=None,
        )
        for name, above in parents.items()
    }
    return Graph(nodes=nodes, cells=())


def agenda(parents: Mapping[str, str], **seconds: float) -> Agenda:
    return full(Agenda(graph(parents), {recipe(name): value for name, value in seconds.items()}), parents)


def full(made: Agenda, parents: Mapping[str, str]) -> Agenda:
    for name in parents:
        made.put(recipe(name))
    return made


def take_all(agenda: Agenda) -> list[str]:
    """The names in the order in which one worker does them."""
    taken = []
    while (found := agenda.take(lambda _node: True)) is not None:
        taken.append(found)
        agenda.end(found)
    return [name for one in taken for name in "abcdefgh" if recipe(name) == one]


def test_what_the_longest_work_waits_for_comes_first():
    assert take_all(agenda({"a": "", "b": "", "c": "b", "d": "c"}, a=5.5, b=1, c=1, d=4)) == ["b", "a", "c", "d"]


def test_without_anything_known_the_longest_chain_comes_first_and_then_the_order_of_the_graph():
    assert take_all(agenda({"a": "", "b": "", "c": "", "d": "c"})) == ["c", "a", "b", "d"]


def test_what_waits_for_others_begins_when_the_last_of_them_has_ended():
    some = agenda({"a": "", "b": "", "c": "ab"})
    first, second = some.take(lambda _node: True), some.take(lambda _node: True)
    assert {first, second} == {recipe("a"), recipe("b")}

    assert some.take(lambda _node: True) is None
    some.end(recipe("a"))
    assert some.take(lambda _node: True) is None
    some.end(recipe("b"))
    assert some.take(lambda _node: True) == recipe("c")
    assert len(some) == 0
    assert recipe("c") in some


def test_what_may_not_begin_yet_lets_others_go_first_and_is_still_there():
    some = agenda({"a": "", "b": ""}, a=9)

    assert some.take(lambda node: node.label != "a") == recipe("b")
    assert some.take(lambda node: node.label != "a") is None
    assert some.take(lambda _node: True) == recipe("a")


def test_what_is_ready_waits_again_for_a_parent_that_is_put_back():
    some = agenda({"a": "", "b": "a"})
    some.take(lambda _node: True)
    some.end(recipe("a"))

    some.put(recipe("a"))

    assert take_all(some) == ["a", "b"]


def test_what_was_begun_and_is_put_back_is_begun_again_once():
    some = agenda({"a": "", "b": "a"})
    assert some.take(lambda _node: True) == recipe("a")

    some.put(recipe("a"))

    assert take_all(some) == ["a", "b"]


@given(st.data())
def test_everything_is_done_once_after_its_parents_whatever_is_put_back_meanwhile(data: DataObject):
    names: Sequence[str] = "abcdef"
    parents = {
        name: "".join(data.draw(st.sets(st.sampled_from(names[:at])))) if at else "" for at, name in enumerate(names)
    }
    some, done = agenda(parents, **data.draw(st.dictionaries(st.sampled_from(names), st.floats(0, 9)))), set[Digest]()
    nodes = graph(parents).nodes
    begun: list[Digest] = []
    for _ in range(100):
        found = some.take(lambda _node: True)
        if found is not None:
            assert all(parent.recipe in done for parent in nodes[found].parents)
            begun.append(found)
            continue
        if not begun:
            break
        ended: Digest = data.draw(st.sampled_from(begun))
        begun.remove(ended)
        lost = [parent.recipe for parent in nodes[ended].parents if parent.recipe not in some]
        is_lost: bool = data.draw(st.booleans())
        if lost and is_lost:
            # As when what a parent left turns out to be lost.
            some.put(ended)
            done -= set(lost)
            for parent in lost:
                some.put(parent)
        else:
            done.add(ended)
            some.end(ended)
    else:
        return  # more was put back than there are rounds
    assert done == set(nodes)
    assert len(some) == 0


def test_where_ends_come_first_little_is_in_hand_at_a_time():
    chains = {"a": "", "b": "", "c": "a", "d": "b", "e": "c", "f": "d"}

    assert take_all(agenda(chains, a=1, b=9, f=9)) == ["b", "d", "f", "a", "c", "e"]
    assert take_all(full(Agenda(graph(chains), {recipe("b"): 9}, ends_first=True), chains)) == [
        "a",
        "c",
        "e",
        "b",
        "d",
        "f",
    ]
    assert take_all(agenda(chains)) == ["a", "b", "c", "d", "e", "f"]
