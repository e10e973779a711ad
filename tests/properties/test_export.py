"""What is exported comes in equal."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from reeval_build import fake_sandbox
from reeval_build.loading.declarations_json import parse_json
from reeval_build.loading.declared import found_in
from reeval_build.loading.found import NO_ENVIRONMENT, Found
from reeval_build.model.environment import Environment, define_environment
from reeval_build.model.harness_descriptors import HarnessDescriptor
from reeval_build.model.merge import merge
from reeval_build.model.support import unsupported_in
from reeval_build.render.export import export_json
from tests import strategies
from tests.definition_strategies import policies, variables, whole_specs
from tests.support.definitions import spec_of


def supported(spec: dict[str, Any]) -> Any:
    """The fields of a spec that this version builds: what it does not build is not read, either."""
    return {field: value for field, value in spec.items() if not unsupported_in(spec_of({field: value}), "")}


@st.composite
def environments(draw: st.DrawFn) -> Environment:
    """An environment of the API with anything that it may have, of some layers."""
    environment = define_environment(draw(strategies.environment_names), draw(whole_specs.map(supported)))
    for _ in range(draw(st.integers(0, 2))):
        environment = environment.extend(draw(strategies.environment_names), draw(whole_specs.map(supported)))
    return environment


_words = st.text("abc1-/", min_size=1, max_size=5)
harnesses = st.builds(
    HarnessDescriptor,
    kind=st.sampled_from(["codex", "goose", "cursor"]),
    model=_words,
    effort=st.none() | _words,
    id=st.none() | _words,
    max_concurrent=st.none() | st.integers(1, 9),
    start_timeout_s=st.none() | st.integers(1, 10**6).map(float),
) | st.builds(
    HarnessDescriptor,
    kind=st.just("fake"),
    layout=st.none() | st.sampled_from(["codex", "claude-code"]),
    behaviour=st.dictionaries(st.sampled_from(["text", "delayMs", "script"]), st.lists(st.integers(0, 9), max_size=2)),
)


@st.composite
def finds(draw: st.DrawFn) -> Found:
    """What an eval gives, or a module of ours."""
    environment = draw(environments() | st.just(NO_ENVIRONMENT))
    has_own = merge(environment.layers).sandbox is not None
    return Found(
        environment=environment,
        harness=draw(st.none() | harnesses),
        env=spec_of(supported({"env": draw(variables)})).env or {},
        egress=draw(st.none() | policies.map(lambda policy: spec_of({"egress": policy}).egress)),
        sandbox=None if has_own else draw(st.none() | st.just(fake_sandbox())),
        file="env.py",
    )


def read(text: str) -> tuple[Found, ...]:
    return found_in(parse_json(text.encode("utf-8")), file="x.json", directory=Path("/elsewhere"))


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(environments())
def test_an_environment_comes_in_equal_however_often_it_goes_out(environment):
    text = export_json([Found(environment=environment, file="env.py")])

    (found,) = read(text)

    assert found == Found(environment=environment, file="env.py")
    assert merge(found.environment.layers) == merge(environment.layers)
    assert export_json([found]) == text


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(finds(), min_size=1, max_size=3))
def test_everything_that_was_found_comes_in_equal_and_in_order(found):
    once = tuple(one for at, one in enumerate(found) if one not in found[:at])

    assert read(export_json(once)) == once
