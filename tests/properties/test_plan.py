from __future__ import annotations

import attrs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reeval_build import canon, define_environment
from reeval_build.model.spec import DockerSandbox, FakeSandbox
from reeval_build.model.start_options import StartOptions
from reeval_build.plan.graph import Node, Parent, content_key
from reeval_build.plan.work import PHASES, PlacedFile, SetupWork, joined, material
from tests import strategies
from tests.support.plans import cell, graph_of
from tests.support.torture import examples

_parents = st.lists(
    st.builds(Parent, role=st.sampled_from(["state", "files", "rules", "root"]), recipe=strategies.digests),
    max_size=3,
    unique_by=lambda parent: parent.role,
)


def keys(work, parents=()) -> tuple[object, object]:
    node = Node.of(work, parents, label="")
    return node.recipe, content_key(node.material({parent.recipe: parent.recipe for parent in parents}))


@pytest.mark.conforms("fault 18")
@pytest.mark.parametrize("phase", PHASES)
@given(data=st.data(), parents=_parents)
def test_a_key_changes_exactly_when_the_work_does(phase, data, parents):
    work, donor = (data.draw(strategies.works[phase]) for _ in range(2))
    field = data.draw(st.sampled_from(attrs.fields(type(work))))
    changed = attrs.evolve(work, **{field.name: getattr(donor, field.name)})

    recipe, content = keys(work, parents)
    changed_recipe, changed_content = keys(changed, parents)

    assert (changed_recipe == recipe) == (changed == work)
    assert (changed_content == content) == (changed == work)


@pytest.mark.parametrize("phase", PHASES)
@given(data=st.data())
def test_every_field_that_takes_part_in_equality_is_in_the_key_by_name_and_no_other(phase, data):
    work = data.draw(strategies.works[phase])

    said = material(work)

    assert isinstance(said, list)
    assert said[:2] == [phase, work.schema]
    assert isinstance(said[2], dict)
    assert set(said[2]) == {field.name for field in attrs.fields(type(work)) if field.eq}


@given(st.data(), strategies.works["rules"], strategies.works["rules"])
def test_a_placed_file_counts_by_where_it_goes_and_what_it_is_and_not_by_its_source(data, work, donor):
    field = data.draw(st.sampled_from(attrs.fields(PlacedFile)))
    changed = attrs.evolve(work, file=attrs.evolve(work.file, **{field.name: getattr(donor.file, field.name)}))

    assert (keys(changed) == keys(work)) == (changed == work)
    assert field.name != "source" or changed == work


@settings(max_examples=examples(300))
@given(strategies.any_work, strategies.any_work, _parents, _parents)
def test_nodes_have_one_key_exactly_when_work_and_parents_are_the_same(work, other_work, parents, other_parents):
    cases = [(one, above) for one in (work, other_work) for above in (parents, other_parents)]

    for one, one_above in cases:
        for other, other_above in cases:
            same = type(one) is type(other) and one == other and one_above == other_above
            recipe, content = keys(one, one_above)
            other_recipe, other_content = keys(other, other_above)
            assert (recipe == other_recipe) == same
            assert (content == other_content) == same


@given(strategies.any_work)
def test_what_enters_a_key_can_be_read_back(work):
    node = Node.of(work, label="")

    assert canon.decode(node.material({})) == [material(work), []]


@given(strategies.works["setup"], st.floats(0.001, 10**6), st.floats(0.001, 10**6))
def test_the_longer_time_limit_counts_in_either_order(work, one, other):
    first, second = (attrs.evolve(work, timeout_s=limit) for limit in (one, other))

    assert [
        both.timeout_s for both in (joined(first, second), joined(second, first)) if isinstance(both, SetupWork)
    ] == [
        max(one, other),
        max(one, other),
    ]


@given(strategies.works["setup"], strategies.start_options, strategies.start_options)
def test_a_step_that_cells_share_is_given_what_each_of_them_asks_for(work, one, other):
    first, second = (attrs.evolve(work, start=options) for options in (one, other))

    both = joined(first, second)

    assert isinstance(both, SetupWork)
    assert both.start == one.joined(other)


@pytest.mark.conforms("78", "fault 18")
@pytest.mark.parametrize("kind", [DockerSandbox, FakeSandbox])
@given(data=st.data(), spec=strategies.specs)
def test_no_option_that_decides_how_a_sandbox_starts_or_what_it_is_called_changes_a_node(kind, data, spec):
    sandbox, donor = (data.draw(strategies.sandboxes[kind]) for _ in range(2))
    name = data.draw(st.sampled_from([field.name for field in attrs.fields(kind) if field.name in _IN_NO_KEY]))
    changed = attrs.evolve(sandbox, **{name: getattr(donor, name)})

    planned = cell(define_environment("e", spec))
    graphs = [graph_of(attrs.evolve(planned, sandbox=one, start=StartOptions.of(one))) for one in (sandbox, changed)]

    assert graphs[0].nodes == graphs[1].nodes
    assert (graphs[0].cells[0].key == graphs[1].cells[0].key) == (sandbox.id == changed.id)


_IN_NO_KEY = {"cpus", "memory", "swap", "pids", "capabilities", "max_concurrent", "dir", "start_timeout_s", "id"}


@given(strategies.specs, strategies.environment_names, st.sampled_from(["fake", "claude-code", "codex"]))
def test_a_plan_is_the_same_whenever_it_is_made_and_whatever_else_is_planned(spec, name, harness):
    environment = define_environment(name, spec)
    alone = graph_of(cell(environment, harness))

    among_others = graph_of(
        cell(define_environment("other", {"setup": ["x"], "rules": "y"})), cell(environment, harness)
    )

    assert set(alone.nodes) == set(among_others.above(among_others.cells[1].snapshot))
    assert alone.cells[0].key == among_others.cells[1].key


@given(st.lists(strategies.specs, min_size=1, max_size=3))
def test_every_node_comes_after_those_it_stands_on(specs):
    graph = graph_of(*(cell(define_environment(f"e{at}", spec)) for at, spec in enumerate(specs)))

    seen: set[object] = set()
    for recipe, node in graph.nodes.items():
        assert {parent.recipe for parent in node.parents} <= seen
        seen.add(recipe)


@given(strategies.specs, st.data())
def test_two_harnesses_share_every_node_exactly_when_their_rules_are_in_one_file_or_nowhere(spec, data):
    one, other = (data.draw(st.sampled_from(["fake", "claude-code", "codex"])) for _ in range(2))
    environment = define_environment("e", spec)
    same_file = cell(environment, one).harness.rules_file == cell(environment, other).harness.rules_file

    snapshots = {planned.snapshot for planned in graph_of(cell(environment, one), cell(environment, other)).cells}

    assert (len(snapshots) == 1) == (same_file or "rules" not in spec)
