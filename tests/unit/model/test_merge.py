from __future__ import annotations

from typing import Any

import pytest

from reeval_build import define_environment, docker, fake_sandbox, git
from reeval_build.model.merge import Merged, merge


def merged(*specs) -> Merged:
    environment = define_environment("e0", specs[0])
    for at, spec in enumerate(specs[1:], 1):
        environment = environment.extend(f"e{at}", spec)
    return merge(environment.layers)


def test_an_environment_that_says_nothing_has_nothing():
    nothing: Any = dict.fromkeys(["sandbox", "workspace", "egress", "rules"])
    empty: Any = {"env": {}, "files": {}, "mcp": {}, "setup": (), "skills": (), "plugins": (), "overrides": ()}

    assert merged({}) == Merged(**nothing, **empty)


@pytest.mark.conforms("120")
@pytest.mark.parametrize("field", ["env", "files"])
def test_env_and_files_merge_by_name_and_the_child_wins(field):
    found = merged({field: {"A": "1", "B": "1"}}, {field: {"B": "2", "C": "2"}})

    assert dict(getattr(found, field)) == {"A": "1", "B": "2", "C": "2"}
    assert found.overrides == (f"{field}.B",)


@pytest.mark.conforms("120", "81")
@pytest.mark.parametrize(
    ("field", "parents", "childs"),
    [
        ("rules", "1", "2"),
        ("workspace", git("github:o/a"), git("github:o/b")),
        ("sandbox", docker(from_="x:1", install=["i"]), docker(from_="x:2")),
        ("sandbox", docker(from_="x:1", install=["i"]), fake_sandbox()),
    ],
)
def test_rules_workspace_and_sandbox_are_replaced_whole(field, parents, childs):
    found = merged({field: parents}, {field: childs})

    assert getattr(found, field) == childs
    assert found.overrides == (field,)


@pytest.mark.conforms("82", "120")
@pytest.mark.parametrize(
    ("field", "value"),
    [("rules", "1"), ("workspace", git("github:o/a")), ("sandbox", docker(from_="x:1")), ("env", {"A": "1"})],
)
def test_what_a_child_leaves_alone_stays_its_parents(field, value):
    found = merged({field: value}, {"setup": ["a"]})

    assert getattr(found, field) == value
    assert found.overrides == ()


@pytest.mark.conforms("83", "120")
def test_setup_is_concatenated_parent_first():
    found = merged({"setup": ["a", "b"]}, {}, {"setup": ["a"]}, {"setup": ["c"]})

    assert [step.run for step in found.setup] == ["a", "b", "a", "c"]


@pytest.mark.conforms("121")
def test_overrides_never_name_setup_nor_what_is_only_added():
    assert (
        merged({"setup": ["a"], "env": {"A": "1"}}, {"setup": ["b"], "env": {"B": "1"}, "rules": "r"}).overrides == ()
    )


@pytest.mark.conforms("121")
def test_a_key_that_is_set_again_to_the_same_value_is_an_override():
    assert merged({"env": {"A": "1"}, "rules": "r"}, {"env": {"A": "1"}, "rules": "r"}).overrides == ("env.A", "rules")


@pytest.mark.conforms("121")
def test_overrides_of_a_layer_are_in_a_fixed_order_whatever_the_order_of_writing():
    everything = {
        "workspace": git("github:o/r"),
        "rules": "r",
        "files": {"src/a.ts": "", "b": "", "~/.npmrc": ""},
        "env": {"NODE_ENV": "", "B": "", "a": ""},
        "sandbox": docker(),
    }

    assert merged(everything, everything).overrides == (
        "sandbox",
        "env.B",
        "env.NODE_ENV",
        "env.a",
        "files.b",
        "files.src/a.ts",
        "files.~/.npmrc",
        "rules",
        "workspace",
    )


@pytest.mark.conforms("122")
def test_overrides_of_a_longer_chain_are_in_layer_order_and_each_once():
    found = merged(
        {"env": {"A": "1", "B": "1"}},
        {"env": {"B": "2"}, "rules": "1"},
        {"rules": "2", "env": {"B": "3", "A": "3"}, "files": {"x": ""}},
        {"files": {"x": ""}, "rules": "3"},
    )

    assert found.overrides == ("env.B", "env.A", "rules", "files.x")


def test_a_key_that_a_grandparent_set_is_overridden_though_the_parent_left_it_alone():
    assert merged({"rules": "1"}, {}, {"rules": "2"}).overrides == ("rules",)


def test_an_empty_child_setup_or_env_takes_nothing_away():
    found = merged({"setup": ["a"], "env": {"A": "1"}, "files": {"x": ""}}, {"setup": [], "env": {}, "files": {}})

    assert ([step.run for step in found.setup], dict(found.env), dict(found.files)) == (["a"], {"A": "1"}, {"x": ""})
    assert found.overrides == ()


def test_merged_mappings_cannot_be_changed():
    found = merged({"env": {"A": "1"}})

    with pytest.raises(TypeError):
        found.env["A"] = "2"  # type: ignore[index]


@pytest.mark.parametrize("field", ["env", "files"])
def test_the_order_in_which_a_dictionary_was_written_does_not_matter(field):
    assert merged({field: {"A": "1", "B": "2"}}) == merged({field: {"B": "2", "A": "1"}})
