from __future__ import annotations

from typing import Any

import attrs
import pytest

from reeval_build import define_environment, secret
from reeval_build.model.secrets import Secret
from reeval_build.plan.secrets import SecretView, host_variables, placeholder, views
from reeval_build.plan.work import SetupWork
from tests.support.plans import cell, graph_of, nodes

Env = dict[str, str | Secret]


def keys(spec: Any, *, variables=()) -> tuple[str, ...]:
    """The keys of the setup steps of an environment, and of its cell."""
    whole: Any = {"setup": ["s"], **spec}
    graph = graph_of(cell(define_environment("e", whole)), variables=variables)
    return (*(found.recipe.hex for found in nodes(graph, "setup")), graph.cells[0].key.hex)


def work(*environments, variables=()) -> SetupWork:
    graph = graph_of(*map(cell, environments), variables=variables)
    (found,) = nodes(graph, "setup")
    assert isinstance(found.work, SetupWork)
    return found.work


def test_a_view_says_what_is_seen_of_a_secret():
    env: Env = {
        "A": secret(),
        "B": secret.from_env("X", to="checks", hosts=["b.example.com", "a.example.com"]),
        "C": "c",
    }

    assert views(env, ()) == (
        SecretView(name="A", mode="raw", to="agent", present=True, variables=("A",)),
        SecretView(
            name="B",
            mode="brokered",
            hosts=("a.example.com", "b.example.com"),
            in_=("header",),
            to="checks",
            present=True,
            variables=("X",),
        ),
    )
    assert [view.variables for view in views(env, ())] == [("A",), ("X",)]
    assert host_variables(env) == {"A", "X"}


def test_hosts_and_places_are_sets():
    one = secret(hosts=["a.example.com", "b.example.com", "a.example.com"], in_=["query", "body", "query"])
    other = secret(hosts=["b.example.com", "a.example.com"], in_=["body", "query"])

    assert views({"A": one}, ()) == views({"A": other}, ())


def test_only_an_optional_secret_can_be_absent():
    env: Env = {"A": secret(), "B": secret(optional=True), "C": secret.from_env("X", optional=True)}

    assert [view.present for view in views(env, {"X"})] == [True, False, True]
    assert [view.present for view in views(env, {"B"})] == [True, True, False]


@pytest.mark.conforms("24")
def test_which_host_variable_fills_a_secret_and_whether_a_required_one_is_set_changes_no_key():
    expected = keys({"env": {"TOKEN": secret()}})

    assert keys({"env": {"TOKEN": secret.from_env("OTHER")}}) == expected
    assert keys({"env": {"TOKEN": secret()}}, variables={"TOKEN"}) == expected
    assert keys({"env": {"TOKEN": secret.from_env("OTHER")}}, variables={"OTHER", "TOKEN"}) == expected


@pytest.mark.conforms("25")
def test_an_optional_secret_that_is_set_or_not_changes_the_keys():
    spec = {"env": {"TOKEN": secret(optional=True)}}

    without, with_it = keys(spec), keys(spec, variables={"TOKEN"})

    assert not {*without} & {*with_it}
    assert keys(spec, variables={"OTHER"}) == without
    assert keys({"env": {"TOKEN": secret()}}) == with_it


@pytest.mark.conforms("26")
def test_every_part_of_what_is_seen_changes_the_keys():
    specs = [
        {},
        {"TOKEN": secret()},
        {"OTHER": secret()},
        {"TOKEN": secret(to="checks")},
        {"TOKEN": secret(hosts=["a.example.com"])},
        {"TOKEN": secret(hosts=["b.example.com"])},
        {"TOKEN": secret(hosts=["a.example.com"], in_=["query"])},
        {"TOKEN": secret(), "OTHER": secret()},
    ]

    found = [key for env in specs for key in keys({"env": env})]

    assert len(set(found)) == len(found)


def test_the_default_place_is_the_same_as_naming_it():
    assert keys({"env": {"A": secret(hosts=["h"])}}) == keys({"env": {"A": secret(hosts=["h"], in_=["header"])}})


def test_a_literal_and_a_secret_of_one_name_have_different_keys():
    assert not {*keys({"env": {"A": ""}})} & {*keys({"env": {"A": secret()}})}


def test_install_steps_have_no_secrets_in_their_keys():
    graphs = [
        graph_of(cell(define_environment("e", {"sandbox": {"kind": "docker", "install": ["i"]}, "env": env})))
        for env in ({}, {"A": secret()})
    ]

    assert nodes(graphs[0], "install") == nodes(graphs[1], "install") != []


def test_a_node_that_environments_share_can_be_filled_from_either_host_variable():
    one, other = (
        define_environment(name, {"env": {"A": secret.from_env(name)}, "setup": ["s"]}) for name in ("X", "Y")
    )

    assert [view.variables for view in work(one, other).secrets] == [("X", "Y")]
    assert [view.variables for view in work(other, one).secrets] == [("Y", "X")]
    assert [view.variables for view in work(one, one).secrets] == [("X",)]


def test_a_planned_cell_has_its_secrets():
    graph = graph_of(cell(define_environment("e", {"env": {"B": secret(to="checks"), "A": secret()}})))

    assert [view.name for view in graph.cells[0].secrets] == ["A", "B"]


@pytest.mark.conforms("23")
def test_a_placeholder_is_what_it_was_in_every_version():
    assert placeholder("NPM_TOKEN") == "reeval-secret-NPM_TOKEN-a4a5e754d88a0171"
    assert placeholder("A") == "reeval-secret-A-55bed0d7d77d047b"


def test_no_placeholder_is_part_of_another():
    names = ["A", "AA", "A_", "_A", "B", "A_B"]

    for one in names:
        assert [other for other in names if placeholder(one) in placeholder(other)] == [one]


def test_only_equal_views_are_joined():
    view = SecretView.of("A", secret(), ())

    with pytest.raises(AssertionError):
        view.joined(attrs.evolve(view, to="checks"))
