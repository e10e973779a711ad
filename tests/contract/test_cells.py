"""What every place for the records of cells must do."""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs
import pytest

from reeval_build import define_environment, git
from reeval_build.digest import Digest, Domain
from reeval_build.plan.outputs import SnapshotOutput
from reeval_build.plan.recording import NodeEnd, cell_record
from reeval_build.state.state import PlacedTree, State
from tests.support.plans import cell, graph_of

if TYPE_CHECKING:
    from reeval_build.ports.cells import Cells
    from tests.contract.conftest import Shelf

_THINGS = Domain("test thing", 1)


def thing(name: str) -> Digest:
    return _THINGS.digest(name.encode())


SNAPSHOT = SnapshotOutput(
    state=State(thing("base"), (PlacedTree(at=(), tree=thing("tree"), replaces=False),)),
    baseline=thing("b"),
    placed=thing("p"),
)


@pytest.fixture
def cells(shelf: Shelf) -> Cells:
    return shelf.cells


def test_the_record_of_a_cell_is_found_as_it_was_kept_and_replaced_by_the_next(cells):
    environment = define_environment("e", {"workspace": git("github:o/r"), "env": {"A": "é"}, "setup": ["s"]})
    graph = graph_of(cell(environment))
    ends = {recipe: NodeEnd(status="ran", seconds=1.5) for recipe in graph.nodes}
    first = cell_record(graph.cells[0], graph, SNAPSHOT, ends)
    second = attrs.evolve(first, warnings=("w",), workspace=None)
    key = graph.cells[0].key
    assert cells.find(key) is None

    for one in (first, first, second):
        cells.keep(one)
        assert cells.find(key) == one

    assert cells.find(thing("another cell")) is None


def test_of_cells_of_one_name_the_last_that_was_kept_is_found(cells):
    graph = graph_of(*(cell(define_environment("e", {"setup": [step]})) for step in "ab"))
    ends = {recipe: NodeEnd(status="ran", seconds=1.5) for recipe in graph.nodes}
    one, other = (cell_record(planned, graph, SNAPSHOT, ends) for planned in graph.cells)
    assert cells.last("e@fake") is None

    for kept in (one, other, attrs.evolve(one, warnings=("again",))):
        cells.keep(kept)
        assert cells.last("e@fake") == kept

    assert cells.last("f@fake") is None
