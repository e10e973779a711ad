"""Which cells a declaration tree makes, and by which names they are found."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from reeval_build.loading.cell_names import meant_by, shown_eval
from reeval_build.loading.declarations_json import parse_json
from reeval_build.loading.declared import found_in
from reeval_build.loading.selection import known_cells
from reeval_build.model.wire_values import value_to_wire
from reeval_build.render.export import export_json
from tests.loading.trees import environment, evaluate, group, tree

if TYPE_CHECKING:
    from collections.abc import Iterator

    from reeval_build.loading.cell_names import Known
    from reeval_build.model.cells import Cell

FAKE, ONE, OTHER = {"kind": "fake"}, {"kind": "docker", "from": "one"}, {"kind": "docker", "from": "other"}
PLAIN = environment("plain")
FULL = environment("full", sandbox=FAKE, env={"A": "1", "B": "own"}, egress="deny-all")
environments = st.sampled_from([PLAIN, FULL])
HARNESSES: dict[str, dict[str, str]] = {
    "fake": {"kind": "fake"},
    "codex:m": {"kind": "codex", "model": "m"},
    "fake#x": {"kind": "fake", "id": "fake#x"},
    "goose": {"kind": "goose", "id": "goose"},
}
harnesses = st.sampled_from([*HARNESSES.values()])
_options: dict[str, st.SearchStrategy[Any]] = {
    "environment": environments,
    "harness": st.lists(harnesses, min_size=1, max_size=2, unique_by=str),
    "env": st.dictionaries(st.sampled_from("AB"), st.sampled_from(["1", "2"]), max_size=2),
    "egress": st.sampled_from(["proxy", "deny-all", {"allow": ["a", "b"]}, {"allow": ["B", "a", "b"]}]),
    "sandbox": st.sampled_from([FAKE, ONE, OTHER]),
}
_compares = st.fixed_dictionaries({"variants": st.lists(environments, max_size=2)}, optional={"baseline": environments})
options = st.fixed_dictionaries({}, optional=_options)
eval_names = st.sampled_from(["x", "y", "x (2)", "a::b", ":::", "x@fake", "#", "p\u00e9 \n", "x \u203a y"])


def trees(own: st.SearchStrategy[dict[str, Any]]) -> st.SearchStrategy[dict[str, Any]]:
    """Declaration trees whose evals have such options."""
    evals = st.builds(lambda name, options: evaluate(name, **options), eval_names, own)
    nodes: st.SearchStrategy[dict[str, Any]] = st.recursive(
        evals,
        lambda inner: st.builds(
            lambda name, options, children: group(name, *children, **options),
            eval_names, options, st.lists(inner, max_size=4),
        ),
        max_leaves=8,
    )  # fmt: skip
    return st.lists(nodes, max_size=5).map(lambda children: tree(*children))


all_trees = trees(st.fixed_dictionaries({}, optional={**_options, "compare": _compares}))
trees_without_compare = trees(options)
slow = settings(suppress_health_check=[HealthCheck.too_slow])


def known(document: Any) -> tuple[Known, ...]:
    found = found_in(document, file="x.json", directory=Path("/project"))
    return known_cells(found, ("pi",), "docker")


def content(cell: Cell) -> tuple[object, ...]:
    """What a cell is, apart from what it is called."""
    egress = value_to_wire(cell.egress)
    return (
        cell.environment.name,
        cell.harness_name,
        tuple(sorted((name, str(value)) for name, value in cell.merged.env.items())),
        tuple(egress["allow"]) if isinstance(egress, dict) else egress,
        str(value_to_wire(cell.sandbox)),
    )


def expected(document: Any) -> set[tuple[object, ...]]:
    """The same for every eval of a tree, by the table of reeval's documentation."""
    return set(_below(document["children"], {}))


def _below(children: list[Any], above: dict[str, Any]) -> Iterator[tuple[object, ...]]:
    for child in children:
        own = child["options"]
        said = {**above, **own, "env": {**above.get("env", {}), **own.get("env", {})}}
        yield from _below(child["children"], said) if child["type"] == "group" else _of_eval(said)


def _of_eval(said: dict[str, Any]) -> Iterator[tuple[object, ...]]:
    chosen = said.get("environment") or environment("-")
    if compare := said.get("compare"):
        control = compare.get("baseline") or said.get("environment") or environment("baseline")
        chosen_ones = [control, *compare["variants"]]
    else:
        chosen_ones = [chosen]
    for one in chosen_ones:
        (layer,) = one["layers"]
        egress = said.get("egress", layer["spec"].get("egress", "proxy"))
        for harness in said.get("harness", [None]):
            yield (
                one["name"],
                next((name for name, descriptor in HARNESSES.items() if descriptor == harness), "pi"),
                tuple(sorted({**layer["spec"].get("env", {}), **said["env"]}.items())),
                egress if isinstance(egress, str) else tuple(sorted({host.lower() for host in egress["allow"]})),
                str(layer["spec"].get("sandbox") or said.get("sandbox") or {"kind": "docker"}),
            )


@pytest.mark.conforms("119", "126")
@slow
@given(all_trees)
def test_a_tree_makes_a_cell_for_everything_that_an_eval_runs_in_and_no_other(document):
    cells = [one.cell for one in known(document)]

    assert {content(cell) for cell in cells} == expected(document)
    assert len({content(cell) for cell in cells}) == len(cells)


@slow
@given(all_trees)
@example(tree(*(evaluate("x", environment=PLAIN, harness=[HARNESSES[one]], env={"A": str(at)})
                for at, one in enumerate(["fake", "fake#x", "fake"]))))  # fmt: skip
def test_every_cell_has_a_name_of_its_own_by_which_it_is_found(document):
    cells = known(document)

    names = [one.cell.name for one in cells]
    assert len(set(names)) == len(names)
    for one in cells:
        assert meant_by(one.cell.name, cells) == [one.cell]
        assert one.cell.name.isprintable()
        assert "::" not in one.cell.name


@slow
@given(all_trees)
def test_a_cell_is_called_after_an_eval_exactly_when_it_is_one_of_several(document):
    cells = known(document)
    short = [one.cell.short_name for one in cells]

    for one in cells:
        assert (one.cell.of_eval is not None) == (short.count(one.cell.short_name) > 1)
        if one.cell.of_eval is None:
            assert one.cell.name == one.cell.short_name
        for declaring in one.evals:
            called = f"{one.cell.short_name}#{shown_eval(declaring.name)}"
            assert one.cell in meant_by(called, cells) or called in {other.cell.name for other in cells}


@slow
@given(all_trees, st.data())
def test_the_order_of_evals_decides_nothing_of_what_cells_there_are(document, data):
    shuffled = known(tree(*data.draw(st.permutations(document["children"]))))

    assert {content(one.cell) for one in shuffled} == {content(one.cell) for one in known(document)}


@slow
@given(trees_without_compare.filter(lambda document: len(paths(document)) == len(set(paths(document)))))
def test_cells_keep_their_names_when_a_tree_goes_out_and_comes_in(document):
    found = found_in(document, file="x.json", directory=Path("/project"))

    again = known(parse_json(export_json(found).encode("utf-8"))) if found else ()

    assert [(one.cell.name, content(one.cell)) for one in again] == [
        (one.cell.name, content(one.cell)) for one in known(document)
    ]


def paths(document: Any) -> list[str]:
    """The whole name of every eval."""

    def below(children: list[Any], above: tuple[str, ...]) -> Iterator[str]:
        for child in children:
            path = (*above, child["name"])
            yield from below(child["children"], path) if child["type"] == "group" else [" \u203a ".join(path)]

    return list(below(document["children"], ()))
