from __future__ import annotations

import pytest

from reeval_build import mcp, skill
from reeval_build.model.merge import merge, overrides
from reeval_build.model.named import Named, NamesMerged, SameNameError, merge_by_name
from tests.support.definitions import chain


def named(name: str, value: int = 0, source: str = "here") -> Named[int]:
    return Named(name=name, value=value, source=source)


@pytest.mark.conforms("120")
def test_of_one_name_the_childs_is_kept_in_its_parents_place():
    found = merge_by_name("skills", [("a", [named("x", 1), named("y", 1)]), ("b", [named("z", 2), named("x", 2)])])

    assert list(found.values.items()) == [("x", 2), ("y", 1), ("z", 2)]
    assert found.overrides == ("skills.x",)


@pytest.mark.conforms("122")
def test_a_name_that_two_layers_replaced_is_listed_once():
    found = merge_by_name("plugins", [(name, [named("x"), named("a")]) for name in "abc"])

    assert found.overrides == ("plugins.a", "plugins.x")


def test_two_of_one_name_in_a_layer_are_refused_with_both_sources():
    twice = [named("x", source='skill.local("a")'), named("x", source='skill.git("b")')]

    with pytest.raises(SameNameError) as caught:
        merge_by_name("skills", [("base", [named("x")]), ("e", twice)])

    assert caught.value.message == (
        'skills in defineEnvironment("e") has "x" twice: from skill.local("a") and from skill.git("b")'
    )
    assert (caught.value.name, caught.value.layer) == ("x", "e")


def test_nothing_merges_to_nothing():
    found: NamesMerged[int] = merge_by_name("skills", [])

    assert (dict(found.values), found.overrides) == ({}, ())


@pytest.mark.conforms("121", "122")
def test_overrides_of_skills_and_plugins_take_their_place_among_the_others():
    everything = {
        "egress": "deny-all",
        "mcp": {"docs": mcp.stdio("x")},
        "rules": "r",
        "skills": [skill.local("/s")],
        "plugins": [{"kind": "plugin", "source": "local", "path": "/p"}],
        "files": {"b": ""},
        "sandbox": {"kind": "fake"},
    }
    layers = chain(everything, {}, everything).layers

    found = overrides(layers, skills=[["one", "two"], ["two"]], plugins=[["review"], ["review"]])

    assert found == ("sandbox", "files.b", "skills.two", "plugins.review", "mcp.docs", "rules", "egress")
    assert merge(layers).overrides == ("sandbox", "files.b", "mcp.docs", "rules", "egress")


@pytest.mark.conforms("120")
def test_skills_and_plugins_stay_as_the_layers_that_have_any():
    found = merge(chain({"skills": [skill.local("/a")]}, {"rules": "x"}, {"skills": [skill.local("/b")]}).layers)

    assert found.skills == (("e0", (skill.local("/a"),)), ("e2", (skill.local("/b"),)))
    assert found.plugins == ()


@pytest.mark.conforms("120")
def test_servers_merge_by_name_and_egress_is_replaced():
    found = merge(
        chain(
            {"mcp": {"a": mcp.stdio("1"), "b": mcp.stdio("1")}, "egress": "proxy"},
            {"mcp": {"b": mcp.stdio("2")}, "egress": {"allow": ["h"]}},
        ).layers
    )

    assert dict(found.mcp) == {"a": mcp.stdio("1"), "b": mcp.stdio("2")}
    assert found.overrides == ("mcp.b", "egress")


def test_literals_are_the_variables_that_are_no_secrets():
    found = merge(chain({"env": {"A": "1", "B": {"kind": "secret"}}}, {"env": {"C": "2"}}).layers)

    assert found.literals == {"A": "1", "C": "2"}
