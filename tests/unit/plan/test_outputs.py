from __future__ import annotations

from reeval_build.digest import BLOB
from reeval_build.plan.outputs import Output, SnapshotOutput, StateOutput, TreeOutput, content_of
from reeval_build.state.state import PlacedTree, State, StepDelta

ONE, TWO, THREE = (BLOB.digest(text) for text in (b"one", b"two", b"three"))
STATE = State(ONE, (PlacedTree(at=(b"w",), tree=TWO, replaces=True), StepDelta(delta=TWO, times=THREE)))


def test_outputs_that_differ_are_told_apart():
    outputs: list[Output] = [
        TreeOutput(),
        TreeOutput(workspace=ONE),
        TreeOutput(home=ONE),
        TreeOutput(workspace=ONE, home=ONE),
        TreeOutput(workspace=ONE, home=TWO),
        TreeOutput(workspace=TWO, home=ONE),
        StateOutput(state=State(ONE)),
        StateOutput(state=State(TWO)),
        StateOutput(state=STATE),
        SnapshotOutput(state=STATE, baseline=ONE, placed=TWO),
        SnapshotOutput(state=STATE, baseline=TWO, placed=ONE),
        SnapshotOutput(state=STATE, baseline=ONE, placed=ONE),
        SnapshotOutput(state=State(ONE), baseline=ONE, placed=TWO),
    ]

    assert len({content_of(output) for output in outputs}) == len(outputs)


def test_a_step_that_left_the_same_at_other_times_left_the_same():
    again = State(ONE, (STATE.deltas[0], StepDelta(delta=TWO, times=ONE)))

    assert content_of(StateOutput(state=again)) == content_of(StateOutput(state=STATE))
