from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from reeval_build import define_environment, docker, file, git
from reeval_build.errors import DefinitionError
from reeval_build.model.durations import seconds
from reeval_build.model.merge import merge
from tests import strategies
from tests.support.torture import examples

if TYPE_CHECKING:
    from collections.abc import Callable

FIELDS = ("egress", "env", "files", "mcp", "plugins", "rules", "sandbox", "setup", "skills", "workspace")


def refusal(make: Callable[[], object]) -> DefinitionError | None:
    """The `DefinitionError` that something is refused with; any other exception is a failure."""
    try:
        make()
    except DefinitionError as error:
        return error
    return None


def inside_itself() -> list[Any]:
    value: list[Any] = []
    value.append(value)
    return value


@pytest.mark.conforms("9")
@settings(max_examples=examples(400))
@given(st.sampled_from(FIELDS), strategies.junk)
@example("rules", inside_itself())
@example("setup", inside_itself())
@example("files", {"a": inside_itself()})
def test_anything_at_all_in_a_field_is_accepted_or_refused_with_a_message_that_names_the_field(field, value):
    error = refusal(lambda: define_environment("e", cast("Any", {field: value})))

    for problem in error.problems if error else ():
        assert field in problem
        assert 'defineEnvironment("e")' in problem
        assert problem.encode("utf-8")


@given(strategies.junk)
def test_anything_at_all_as_a_name_or_a_spec_is_accepted_or_refused(value):
    for make in (lambda: define_environment(value, {}), lambda: define_environment("e", value)):
        error = refusal(make)
        assert error is None or "defineEnvironment" in str(error)


OPTIONS: dict[str, Callable[[Any], object]] = {
    "git() repo": git,
    "git() ref": lambda value: git("github:o/r", ref=value),
    "git() path": lambda value: git("github:o/r", path=value),
    "git() init": lambda value: git("github:o/r", init=value),
    "git() token": lambda value: git("github:o/r", token=value),
    "docker() from_": lambda value: docker(from_=value),
    "docker() image": lambda value: docker(image=value),
    "docker() install": lambda value: docker(install=value),
    "docker() step": lambda value: docker(install=[value]),
    "docker() timeout": lambda value: docker(install=[{"run": "a", "timeout": value}]),
    "file() path": file,
}


@given(st.sampled_from(sorted(OPTIONS)), strategies.junk)
def test_anything_at_all_as_an_option_of_a_helper_is_accepted_or_refused_by_the_name_of_the_helper(option, value):
    error = refusal(lambda: OPTIONS[option](value))

    assert error is None or option.partition(" ")[0] in str(error)
    assert error is None or str(error).encode("utf-8")


@pytest.mark.conforms("17")
@given(
    strategies.variable_names,
    st.sampled_from(["TOKEN", "key", "Secret", "PASSWORD", "CREDENTIAL"]),
    st.text("0123456789abcdef", max_size=30).map(lambda text: f"sEcReT{text}"),
    strategies.junk,
)
def test_a_literal_secret_is_never_in_the_message_whatever_else_is_wrong(name, word, secret, other):
    spec: Any = {"env": {f"{name}_{word}": secret}, "rules": other, "nonsense": other}
    with pytest.raises(DefinitionError) as caught:
        define_environment("e", spec)

    assert f"env.{name}_{word}" in str(caught.value)
    assert secret not in str(caught.value)


@given(strategies.specs)
def test_a_valid_spec_is_accepted_and_means_the_same_in_any_order(spec):
    reverse: Any = {field: spec[field] for field in reversed(spec)}

    assert define_environment("e", spec) == define_environment("e", reverse)


@pytest.mark.conforms("120")
@settings(suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(strategies.specs, min_size=1, max_size=4))
def test_merging_is_what_the_table_of_the_documentation_says(specs):
    environment = define_environment("e", specs[0])
    for spec in specs[1:]:
        environment = environment.extend("e", spec)
    merged = merge(environment.layers)

    checked = [define_environment("e", spec).layers[0].spec for spec in specs]
    for field in ("rules", "workspace", "sandbox"):
        said = [getattr(spec, field) for spec in checked if getattr(spec, field) is not None]
        assert getattr(merged, field) == (said[-1] if said else None)
    for field in ("env", "files"):
        together: dict[str, Any] = {}
        for spec in checked:
            together |= dict(getattr(spec, field) or {})
        assert dict(getattr(merged, field)) == together
    assert merged.setup == tuple(step for spec in checked for step in spec.setup or ())


@pytest.mark.conforms("121", "122")
@given(st.lists(strategies.specs, min_size=1, max_size=4))
def test_overrides_are_the_keys_that_more_than_one_layer_set_each_once(specs):
    environment = define_environment("e", specs[0])
    for spec in specs[1:]:
        environment = environment.extend("e", spec)
    overrides = merge(environment.layers).overrides

    keys = [
        key
        for spec in specs
        for field in spec
        for key in ([f"{field}.{name}" for name in spec[field]] if field in {"env", "files"} else [field])
        if field != "setup"
    ]
    assert sorted(overrides) == sorted({key for key in keys if keys.count(key) > 1})


@pytest.mark.conforms("124")
@given(strategies.specs, st.data())
def test_a_spec_that_is_split_over_layers_merges_to_the_same(spec, data):
    upper = {field for field in spec if data.draw(st.booleans(), label=field)}
    whole = define_environment("e", spec)
    below: Any = {field: spec[field] for field in spec if field not in upper}
    above: Any = {field: spec[field] for field in upper}
    split = define_environment("base", below).extend("e", above)

    assert merge(split.layers) == merge(whole.layers)


@given(strategies.durations)
def test_a_valid_time_limit_is_positive(written):
    found = seconds(written)

    assert found is not None
    assert found > 0


@given(strategies.junk | st.text("0123456789.smh ", max_size=8))
def test_a_time_limit_is_a_positive_number_or_refused(written):
    found = seconds(written)

    assert found is None or 0 < found < float("inf")
