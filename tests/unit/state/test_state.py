from __future__ import annotations

from itertools import combinations

from reeval_build.digest import BLOB
from reeval_build.state.state import PlacedTree, State, StepDelta

BASE, OTHER_BASE, ONE, TWO = (BLOB.digest(text) for text in (b"base", b"other", b"one", b"two"))
PLACED = PlacedTree(at=(b"work",), tree=ONE, replaces=True)
STEP = StepDelta(delta=ONE, times=TWO)


def test_a_state_on_top_of_another_leaves_that_one_as_it_was():
    below = State(BASE, (PLACED,))

    above = below.on_top(STEP, STEP)

    assert below.deltas == (PLACED,)
    assert above == State(BASE, (PLACED, STEP, STEP))


def test_equal_bases_and_deltas_are_one_content():
    assert State(BASE).on_top(PLACED).on_top(STEP).content == State(BASE, (PLACED, STEP)).content


def test_what_is_put_on_a_state_and_what_it_lies_on_has_its_environment():
    state = State(BASE, (PLACED,), env=("A=b",))

    assert state.on_top(STEP) == State(BASE, (PLACED, STEP), env=("A=b",))
    assert state.on_top(STEP).lowest(1) == state


def test_the_times_of_a_step_are_no_part_of_a_state():
    later = StepDelta(delta=STEP.delta, times=ONE)

    assert State(BASE, (later,)) == State(BASE, (STEP,))
    assert State(BASE, (later,)).content == State(BASE, (STEP,)).content


def test_states_that_differ_in_anything_else_are_different_contents():
    states = [
        State(BASE),
        State(OTHER_BASE),
        State(ONE),
        State(BASE, (STEP,)),
        State(BASE, (STEP, STEP)),
        State(BASE, (StepDelta(delta=TWO, times=TWO),)),
        State(BASE, (PLACED,)),
        State(BASE, (PLACED, STEP)),
        State(BASE, (STEP, PLACED)),
        State(BASE, (PlacedTree(at=(b"work",), tree=ONE, replaces=False),)),
        State(BASE, (PlacedTree(at=(b"work",), tree=TWO, replaces=True),)),
        State(BASE, (PlacedTree(at=(b"wor", b"k"), tree=ONE, replaces=True),)),
        State(BASE, (PlacedTree(at=(b"wo", b"rk"), tree=ONE, replaces=True),)),
        State(BASE, (PlacedTree(at=(), tree=ONE, replaces=True),)),
        State(BASE, env=()),
        State(BASE, env=("A=b",)),
        State(BASE, env=("A=b", "C=d")),
        State(BASE, (STEP,), env=("A=b",)),
    ]

    assert all(one.content != other.content for one, other in combinations(states, 2))
