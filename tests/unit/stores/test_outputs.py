"""What nodes left, as the text that the database has."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reeval_build.digest import BLOB
from reeval_build.plan.outputs import SnapshotOutput, StateOutput, TreeOutput
from reeval_build.state.state import PlacedTree, State, StepDelta
from reeval_build.stores.local.outputs import cell_of, output_of, output_text
from tests.strategies import digests, paths

states = st.builds(
    State,
    digests,
    st.lists(
        st.builds(PlacedTree, at=paths, tree=digests, replaces=st.booleans())
        | st.builds(StepDelta, delta=digests, times=digests)
    ).map(tuple),
    st.none() | st.lists(st.text(max_size=5), max_size=3).map(tuple),
)
outputs = (
    st.builds(TreeOutput, workspace=st.none() | digests, home=st.none() | digests)
    | st.builds(StateOutput, state=states)
    | st.builds(SnapshotOutput, state=states, baseline=digests, placed=digests)
)


@given(outputs)
def test_what_was_written_is_read(output):
    read = output_of(output_text(output))

    assert read == output
    # Of a step's delta the times are no part of what is compared.
    assert output_text(read) == output_text(output)


def test_a_state_with_the_environment_of_its_base_is_written_as_it_always_was():
    written = json.loads(output_text(StateOutput(state=State(BLOB.digest(b"")))))

    assert written["state"].keys() == {"base", "deltas"}


def test_what_is_no_output_is_refused():
    text = output_text(TreeOutput(workspace=BLOB.digest(b"")))

    with pytest.raises(ValueError, match="no output"):
        output_of(json.dumps(json.loads(text) | {"_type": "Other"}))


@pytest.mark.parametrize("text", ["", "{}", '{"name": 1}', "[]"])
def test_what_is_no_record_of_a_cell_is_none(text):
    assert cell_of(text) is None
