"""What holds for every declaration tree, and for every one with something odd in it."""

from __future__ import annotations

import copy
import json
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from hypothesis import given
from hypothesis import strategies as st

from reeval_build.errors import DefinitionError
from reeval_build.loading.declarations_data import NotDataError, canonical, frozen
from reeval_build.loading.declarations_json import JsonError, parse_json
from tests import strategies
from tests.loading.trees import FILE, declared_in, environment, evaluate, group, same, tree

if TYPE_CHECKING:
    from collections.abc import Iterator

_names = st.text("abc \u00e9\n", max_size=4)
environments = st.builds(lambda name, spec: environment(name, **spec), st.sampled_from("ab"), strategies.specs)
_ids = {"id": st.sampled_from(["i", "j"])}
harnesses = st.fixed_dictionaries({"kind": st.just("fake")}, optional=_ids) | st.fixed_dictionaries(
    {"kind": st.just("codex"), "model": st.just("m")}, optional=_ids
)
_policies = st.sampled_from(["proxy", "deny-all", {"allow": ["a.example", "*.b.example"]}])
_values = st.text(max_size=3).filter(lambda text: "\0" not in text) | st.just({"kind": "secret"})
env = st.dictionaries(strategies.variable_names, _values, max_size=3)
compares = st.fixed_dictionaries(
    {"variants": st.lists(environments, max_size=2)}, optional={"baseline": environments, "minLift": st.just(0.1)}
)
options = st.fixed_dictionaries(
    {},
    optional={
        "environment": environments,
        "compare": compares,
        "harness": harnesses
        | st.lists(harnesses, min_size=1, max_size=2)
        | st.builds(lambda one: {"add": one}, harnesses),
        "env": env,
        "egress": _policies,
        "sandbox": st.sampled_from([{"kind": "fake"}, {"kind": "docker", "from": "x:1"}]),
        "tags": st.lists(_names, max_size=1),
    },
)
evals = st.builds(lambda name, options: evaluate(name, **options), _names, options)
nodes: st.SearchStrategy[dict[str, Any]] = st.recursive(
    evals | st.builds(lambda name: {"type": "todo", "name": name}, _names),
    lambda inner: st.builds(
        lambda name, options, children: group(name, *children, **options), _names, options, st.lists(inner, max_size=3)
    ),
    max_leaves=6,
)
trees = st.lists(nodes, max_size=3).map(lambda children: tree(*children))
data: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.sampled_from([0, 1, 0.0, 1.0, "1"]) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=2), inner, max_size=3),
    max_leaves=10,
)


def places(value: object, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Every place in a value, outermost first."""
    yield path
    steps = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for step, item in steps:
        yield from places(item, (*path, step))


@st.composite
def spoiled(draw: st.DrawFn) -> tuple[object, tuple[Any, ...]]:
    """A tree with junk in one place of it, and the place."""
    document = copy.deepcopy(draw(trees | environments))
    *above, last = draw(st.sampled_from(list(places(document)))) or [None]
    junk = draw(strategies.junk)
    if last is None:
        return junk, ()
    holder: Any = document
    for step in above:
        holder = holder[step]
    holder[last] = junk
    return document, (*above, last)


def evals_of(children: list[dict[str, Any]], above: tuple[dict[str, Any], ...] = ()) -> Iterator[list[dict[str, Any]]]:
    """For each eval of a tree the options of its groups and its own, outermost first."""
    for child in children:
        said = (*above, child.get("options", {}))
        if child["type"] == "eval":
            yield list(said)
        yield from evals_of(child.get("children", []), said)


@given(trees)
def test_every_sound_tree_declares_something_for_each_of_its_evals(document):
    found = declared_in(document, file=FILE)

    assert (len(found) > 0) == any(evals_of(document["children"]))
    assert len(set(found)) == len(found)


@given(trees)
def test_a_tree_declares_the_same_when_it_comes_as_json(document):
    found = declared_in(document, file=FILE)
    read = declared_in(parse_json(json.dumps(document).encode()), file=FILE)

    assert read == found
    assert [one.evals for one in read] == [one.evals for one in found]


@given(st.lists(options, max_size=2), options)
def test_the_innermost_word_counts_and_env_is_the_union(outer, own):
    document = evaluate("x", **own)
    for one in reversed(outer):
        document = group("g", document, **one)

    (found, *_) = declared_in(tree(document), file=FILE)

    said = [*outer, own]
    union: dict[str, object] = {}
    for one in said:
        union.update(one.get("env", {}))
    assert same(found.env, union)
    for name in ("egress", "sandbox"):
        assert same(getattr(found, name), next((one[name] for one in reversed(said) if name in one), None))


@given(spoiled())
def test_junk_anywhere_is_refused_in_clauses_or_is_part_of_a_spec(case):
    document, place = case

    try:
        declared_in(document, file=FILE)
    except DefinitionError as error:
        problems = error.problems
    else:
        problems = ()

    for problem in problems:
        assert problem.encode("utf-8")
        assert len(problem) < 2000
        if "options" in place:
            assert "evaluate(" in problem or "group(" in problem


@given(strategies.junk)
def test_only_data_is_frozen_and_it_stays_the_same(value):
    with suppress(NotDataError):
        assert json.loads(canonical(frozen(value))) == json.loads(json.dumps(value, default=list))


@given(data, data)
def test_two_texts_are_equal_exactly_when_the_data_are(left, right):
    alike = json.dumps(left, sort_keys=True) == json.dumps(right, sort_keys=True)

    assert (canonical(frozen(left)) == canonical(frozen(right))) == alike


@given(data)
def test_json_of_data_is_read_as_that_data(value):
    assert same(parse_json(json.dumps(value).encode()), value)


@given(st.binary() | st.text('{}[]",:0123456789.eE-+\\u nulltrueNaN').map(str.encode))
def test_any_bytes_are_read_or_refused(text):
    with suppress(JsonError):
        parse_json(text)
