"""From the variables of the host to those of a command."""

from __future__ import annotations

import attrs
import pytest

from reeval_build import secret
from reeval_build.execute.secrets import MissingSecretError, UnusableSecretError, given, reveal
from reeval_build.model.secrets import Secret
from reeval_build.plan.secrets import SecretView, placeholder, views

Env = dict[str, str | Secret]


def seen(env: Env, variables: dict[str, str]) -> dict[str, str]:
    """The variables of a command, on a host on which these are set."""
    found = views(env, variables)
    return given(found, reveal(found, variables))


@pytest.mark.conforms("18")
def test_a_secret_is_filled_from_the_variable_of_its_key_or_of_its_name():
    env: Env = {"A": secret(), "B": secret.from_env("X"), "C": "literal"}

    assert seen(env, {"A": "1", "B": "2", "X": "3", "C": "4"}) == {"A": "1", "B": "3"}


@pytest.mark.conforms("22", "23")
def test_of_a_brokered_secret_a_command_has_the_placeholder_whatever_the_value():
    env: Env = {"A": secret(hosts=["h"])}

    assert seen(env, {"A": "one"}) == seen(env, {"A": "another"}) == {"A": placeholder("A")}


@pytest.mark.conforms("20")
def test_an_optional_secret_that_is_not_set_is_not_there():
    env: Env = {"A": secret(optional=True), "B": secret.from_env("X", optional=True, hosts=["h"])}

    assert seen(env, {}) == {}
    assert seen(env, {"X": "", "A": "1"}) == {"A": "1", "B": placeholder("B")}


def test_a_variable_that_is_set_to_nothing_is_set():
    assert seen({"A": secret(), "B": secret(optional=True)}, {"A": "", "B": ""}) == {"A": "", "B": ""}


@pytest.mark.conforms("19")
@pytest.mark.parametrize("options", [{}, {"hosts": ["h"]}, {"to": "checks"}])
def test_a_required_secret_that_is_not_set_is_named_with_its_variable(options):
    env: Env = {"NPM_TOKEN": secret.from_env("HOST_TOKEN", **options)}

    with pytest.raises(MissingSecretError) as caught:
        seen(env, {"NPM_TOKEN": "x"})

    assert str(caught.value) == (
        "env.NPM_TOKEN needs the host variable HOST_TOKEN, which is not set (export it, or make the secret optional)"
    )
    assert caught.value.missing == (("env.NPM_TOKEN", ("HOST_TOKEN",)),)


def test_all_that_are_missing_are_named():
    with pytest.raises(MissingSecretError) as caught:
        seen({"A": secret(), "B": secret.from_env("X"), "C": secret()}, {"C": "c"})

    assert str(caught.value) == (
        "env.A needs the host variable A; env.B needs the host variable X, none of which is set "
        "(export them, or make the secrets optional)"
    )


def test_a_node_that_is_shared_is_filled_from_the_first_variable_that_is_set():
    one, other = (SecretView.of("A", secret.from_env(name), ()) for name in ("X", "Y"))
    shared = one.joined(other)

    assert reveal([shared], {"Y": "y"}) == {"A": "y"}
    assert reveal([shared], {"Y": "y", "X": "x"}) == {"A": "x"}
    with pytest.raises(MissingSecretError, match=r"env\.A needs the host variable X or Y, which is not set"):
        reveal([shared], {})


@pytest.mark.parametrize("hosts", [None, ["h"]])
def test_a_value_with_a_nul_is_refused_by_its_name(hosts):
    view = SecretView.of("A", secret.from_env("X", hosts=hosts), ())

    with pytest.raises(UnusableSecretError) as caught:
        reveal([view], {"X": "hunter2\0"})

    assert str(caught.value) == "the host variable X, which env.A needs, has a NUL in its value"


def test_what_is_not_present_is_not_given_even_when_it_could_be():
    view = attrs.evolve(SecretView.of("A", secret(optional=True), ()), present=False)

    assert given([view], reveal([view], {"A": "1"})) == {}
