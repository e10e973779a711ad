"""Laws of everything that an environment may have, of what is written instead of it, and of its wire form."""

from __future__ import annotations

import json
from contextlib import suppress
from copy import deepcopy
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from reeval_build.errors import DefinitionError
from reeval_build.model.helpers.directories import DIRECTORY
from reeval_build.model.helpers.harnesses import SHAPES as HARNESSES
from reeval_build.model.helpers.harnesses import harness_from_wire
from reeval_build.model.helpers.host_files import FILE
from reeval_build.model.helpers.mcp import SERVERS
from reeval_build.model.helpers.plugins import MARKETPLACES, PLUGINS
from reeval_build.model.helpers.sandboxes import DOCKER, FAKE
from reeval_build.model.helpers.secrets import SECRET, TEMPLATE
from reeval_build.model.helpers.skills import SKILLS
from reeval_build.model.helpers.steps import STEP
from reeval_build.model.helpers.workspaces import GIT
from reeval_build.model.merge import merge, overrides
from reeval_build.model.named import Named, merge_by_name
from reeval_build.model.reading import Shape, read
from reeval_build.model.site import Site
from reeval_build.model.wire import checked_wire, environment_to_wire
from tests.definition_strategies import whole_specs
from tests.strategies import junk
from tests.support.definitions import HERE, chain, defined, mistakes
from tests.support.torture import examples

if TYPE_CHECKING:
    from reeval_build.model.environment import Environment

FIELDS = ("egress", "env", "files", "mcp", "plugins", "rules", "sandbox", "setup", "skills", "workspace")
SHAPED: list[Shape[Any]] = [
    *(DOCKER, FAKE, GIT, FILE, SECRET, TEMPLATE, STEP, DIRECTORY),
    *SKILLS.values(),
    *PLUGINS.values(),
    *MARKETPLACES.values(),
    *SERVERS.values(),
    *HARNESSES.values(),
]
slow = settings(suppress_health_check=[HealthCheck.too_slow], max_examples=examples(60))


def times(environment: Environment) -> list[float]:
    """Every time limit of an environment: it takes no part in equality."""
    steps = [step for layer in environment.layers for step in layer.spec.setup or ()]
    installs = [step for layer in environment.layers for step in getattr(layer.spec.sandbox, "install", ())]
    return [step.timeout_s for step in (*steps, *installs)]


@pytest.mark.conforms("125")
@slow
@given(st.lists(whole_specs, min_size=1, max_size=3))
def test_every_environment_can_be_written_as_json_and_read_again(specs):
    # A conflict between layers is a mistake, and not what this is about.
    layers = [{key: value for key, value in spec.items() if key != "files"} for spec in specs]
    environment = chain(*layers[:-1], specs[-1] if len(specs) == 1 else layers[-1])
    written = json.dumps(environment_to_wire(environment))

    found, problems = checked_wire(json.loads(written), directory="/elsewhere")

    assert problems == ()
    assert found == environment
    assert times(found) == times(environment)
    assert json.dumps(environment_to_wire(found)) == written


@slow
@given(st.sampled_from(FIELDS), junk)
def test_anything_at_all_in_a_field_is_accepted_or_refused_with_a_message_that_names_the_field(field, value):
    for problem in mistakes({field: value}):
        assert field in problem
        assert 'defineEnvironment("e")' in problem


@st.composite
def spoiled(draw: st.DrawFn) -> tuple[str, dict[str, Any]]:
    """The wire form of an environment with anything at all in one place, and the field that has it."""
    spec = draw(whole_specs.filter(bool))
    written = deepcopy(environment_to_wire(defined(spec))["layers"][0]["spec"])
    field = draw(st.sampled_from(sorted(written)))
    value: Any = written
    key: Any = field
    while isinstance(value[key], (dict, list)) and value[key] and draw(st.booleans()):
        value = value[key]
        key = draw(st.sampled_from(sorted(value) if isinstance(value, dict) else range(len(value))))
    value[key] = draw(junk)
    return field, written


@slow
@given(spoiled())
def test_anything_at_all_in_one_place_is_accepted_or_refused_with_a_message_that_names_the_field(spoilt):
    field, written = spoilt
    layer = {"name": "e", "spec": written}

    _found, problems = checked_wire({"kind": "environment", "name": "e", "layers": [layer]}, directory=HERE)

    for problem in problems:
        assert field in problem
        assert 'defineEnvironment("e")' in problem


@slow
@given(junk)
def test_anything_at_all_as_data_is_read_or_refused(value):
    layers = [{"name": "e", "spec": value}, value]
    for data in (value, {"kind": "environment", "name": "e", "layers": value}):
        checked_wire(data, directory=HERE)
    checked_wire({"kind": "environment", "name": "e", "layers": layers}, directory=HERE)
    with suppress(DefinitionError):
        harness_from_wire(value)


@settings(max_examples=examples(400))
@given(st.sampled_from(SHAPED), st.data())
def test_anything_at_all_as_an_option_is_accepted_or_refused_by_its_name(shape, data):
    chosen = data.draw(st.lists(st.sampled_from(sorted(shape.options)), min_size=1, max_size=3, unique=True))
    written = {key: data.draw(junk) for key in chosen}

    try:
        read(shape, written, Site(HERE))
    except DefinitionError as error:
        for problem in error.problems:
            assert problem.startswith(shape.called) or f" in {shape.called} " in problem or " in plugin." in problem


@pytest.mark.conforms("120")
@slow
@given(st.lists(whole_specs, min_size=1, max_size=3))
def test_what_replaces_and_what_merges_by_name(specs):
    specs = [{key: value for key, value in spec.items() if key != "files"} for spec in specs]
    layers = chain(*specs).layers
    merged = merge(layers)

    for field in ("rules", "workspace", "sandbox", "egress"):
        said = [getattr(layer.spec, field) for layer in layers if getattr(layer.spec, field) is not None]
        assert getattr(merged, field) == (said[-1] if said else None)
    for field in ("env", "mcp"):
        together: dict[str, Any] = {}
        for layer in layers:
            together |= dict(getattr(layer.spec, field) or {})
        assert dict(getattr(merged, field)) == together
    for field in ("skills", "plugins"):
        kept = [source for _layer, sources in getattr(merged, field) for source in sources]
        assert kept == [source for layer in layers for source in getattr(layer.spec, field) or ()]


@pytest.mark.conforms("121", "122")
@given(st.lists(st.dictionaries(st.sampled_from("abc"), st.integers(), max_size=3), max_size=4))
def test_of_each_name_the_last_is_kept_and_what_was_set_twice_is_an_override(layers):
    named = [
        (str(at), [Named(name=name, value=value, source="") for name, value in layer.items()])
        for at, layer in enumerate(layers)
    ]

    found = merge_by_name("skills", named)

    together: dict[str, int] = {}
    for layer in layers:
        together |= layer
    keys = [name for layer in layers for name in layer]
    assert dict(found.values) == together
    assert sorted(found.overrides) == sorted({f"skills.{name}" for name in keys if keys.count(name) > 1})


@slow
@given(st.lists(whole_specs, min_size=1, max_size=3))
def test_overrides_never_name_what_only_one_layer_set(specs):
    specs = [{key: value for key, value in spec.items() if key != "files"} for spec in specs]
    layers = chain(*specs).layers

    for key in overrides(layers):
        field, _, name = key.partition(".")
        values = [getattr(layer.spec, field) for layer in layers]
        assert sum(value is not None and (not name or name in value) for value in values) > 1
