from __future__ import annotations

import pytest

from reeval_build import define_environment
from reeval_build.digest import BLOB
from reeval_build.errors import InfraError
from reeval_build.plan.graph import Drawing, Node, Parent, content_key
from reeval_build.plan.work import RootWork, SetupWork
from reeval_build.state.state import Layout
from tests.support.plans import cell, graph_of, node

ONE, TWO, THREE = (BLOB.digest(text) for text in (b"one", b"two", b"three"))
WORK = RootWork(layout=Layout((b"w",), (b"h",)))


def step(run: str = "a", timeout_s: float = 1) -> SetupWork:
    return SetupWork(run=run, cwd=".", env=(), secrets=(), egress="proxy", timeout_s=timeout_s, engine="fake")


def above(*pairs) -> list[Parent]:
    return [Parent(role=role, recipe=recipe) for role, recipe in pairs]


def test_a_recipe_follows_from_work_and_parents_and_from_no_label():
    one, other = (Node.of(WORK, above(("state", ONE)), label=label) for label in ("a", "b"))

    assert one.recipe == other.recipe
    assert one == other


def test_parents_in_each_others_roles_are_another_node():
    straight = above(("files", ONE), ("rules", TWO))
    crossed = above(("files", TWO), ("rules", ONE))
    renamed = above(("rules", ONE), ("files", TWO))
    missing = above(("files", ONE))

    recipes = [Node.of(WORK, parents, label="").recipe for parents in (straight, crossed, renamed, missing)]

    assert len(set(recipes)) == 4


def test_a_content_key_follows_from_what_the_parents_left_and_not_from_how_it_was_made():
    one, other = Node.of(WORK, above(("state", ONE)), label=""), Node.of(WORK, above(("state", TWO)), label="")

    assert one.recipe != other.recipe
    assert content_key(one.material({ONE: THREE})) == content_key(other.material({TWO: THREE}))
    assert content_key(one.material({ONE: THREE})) != content_key(one.material({ONE: TWO}))


def test_contents_in_each_others_roles_have_another_content_key():
    parents = Node.of(WORK, above(("files", ONE), ("rules", TWO)), label="")

    assert parents.material({ONE: TWO, TWO: THREE}) != parents.material({ONE: THREE, TWO: TWO})


def test_one_content_in_two_roles_has_two_content_keys():
    as_files = Node.of(WORK, above(("files", ONE)), label="").material({ONE: THREE})
    as_rules = Node.of(WORK, above(("rules", ONE)), label="").material({ONE: THREE})

    assert content_key(as_files) != content_key(as_rules)


def test_a_recipe_key_is_never_a_content_key():
    alone = Node.of(WORK, label="")

    assert alone.recipe != content_key(alone.material({}))


def test_a_broken_node_has_no_content_key_and_asking_for_it_is_a_bug():
    with pytest.raises(AssertionError):
        Node.broken("workspace", InfraError("gone"), label="x").material({})


def test_a_broken_node_says_what_is_wrong_and_is_told_from_another():
    gone = Node.broken("workspace", InfraError("gone"), label="x")

    assert str(gone.problem) == "gone"
    assert gone.recipe == Node.broken("workspace", InfraError("gone"), label="x").recipe
    others = [
        Node.broken("workspace", InfraError("refused"), label="x"),
        Node.broken("workspace", InfraError("gone"), label="y"),
        Node.broken("files", InfraError("gone"), label="x"),
    ]
    assert len({gone.recipe, *(other.recipe for other in others)}) == 4


def test_a_node_that_is_drawn_twice_is_there_once_with_the_longer_time_limit():
    drawing = Drawing()

    first = drawing.add(Node.of(step(timeout_s=5), label="first"), "state")
    again = drawing.add(Node.of(step(timeout_s=9), label="second"), "root")
    drawing.add(Node.of(step(timeout_s=7), label="third"), "state")

    assert (first.recipe, first.role, again.role) == (again.recipe, "state", "root")
    (drawn,) = drawing.nodes.values()
    assert isinstance(drawn.work, SetupWork)
    assert (drawn.work.timeout_s, drawn.label) == (9, "first")


def test_everything_a_node_stands_on_comes_before_it_and_once():
    graph = graph_of(cell(define_environment("e", {"files": {"a": ""}, "rules": "r", "setup": ["s"]})))

    found = [graph.nodes[recipe].phase for recipe in graph.above(graph.cells[0].snapshot)]

    assert found == ["base", "files", "rules", "root", "setup", "snapshot"]


def test_what_a_node_stands_on_is_nothing_of_its_neighbours():
    graph = graph_of(*(cell(define_environment(name, {"setup": [name]})) for name in "ab"))

    first, second = (set(graph.above(planned.snapshot)) for planned in graph.cells)

    assert len(first & second) == 2
    assert first | second == set(graph.nodes)


def test_every_node_knows_the_cells_that_need_it():
    environment = define_environment("e", {"rules": "r"})
    graph = graph_of(*(cell(environment, harness) for harness in ("claude-code", "codex", "fake")))

    cells_of = graph.cells_of

    assert cells_of[node(graph, "base").recipe] == ("e@claude-code", "e@codex", "e@fake")
    assert sorted(cells_of[found.recipe] for found in graph.nodes.values() if found.phase == "rules") == [
        ("e@claude-code",),
        ("e@codex", "e@fake"),
    ]
