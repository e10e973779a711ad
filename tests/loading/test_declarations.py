"""What declaration trees declare."""

from __future__ import annotations

import attrs
import pytest

from reeval_build.loading.declarations import Declared
from tests.loading.trees import FILE, declared, declared_in, environment, evaluate, group, kinds, names, same

A, B, C = environment("a"), environment("b"), environment("c")
CLAUDE = {"kind": "claude-code", "model": "m"}
CODEX = {"kind": "codex", "model": "m", "effort": "high"}
FAKE = {"kind": "fake"}


# Environments --------------------------------------------------------------------------------------------------------


def test_nothing_declared_is_nothing() -> None:
    assert declared() == ()


def test_an_environment_alone_is_declared_by_no_eval() -> None:
    (one,) = declared_in(A, file=FILE)

    assert one == Declared(environment=A)
    assert one.evals == ()


def test_an_eval_without_an_environment_is_declared_without_one() -> None:
    assert declared(evaluate("x")) == (Declared(environment=None),)


def test_the_inner_environment_replaces_the_outer() -> None:
    found = declared(group("g", evaluate("x"), evaluate("y", environment=B), environment=A))

    assert names(found) == [("control", "a"), ("control", "b")]
    assert [one.evals for one in found] == [(("g", "x"),), (("g", "y"),)]


def test_groups_are_walked_to_any_depth_in_order() -> None:
    nested = group("g", group("h", group("i", evaluate("x", environment=A))), evaluate("y", environment=B))

    found = declared(nested, evaluate("z", environment=A))

    assert [(one.evals) for one in found] == [(("g", "h", "i", "x"), ("z",)), (("g", "y"),)]


def test_a_todo_declares_nothing() -> None:
    assert declared({"type": "todo", "name": "later"}, group("g", {"type": "todo", "name": "later"})) == ()


def test_what_is_skipped_declares_nothing() -> None:
    skipped = {**evaluate("x", environment=A), "mode": "skip"}
    group_skipped = {**group("g", evaluate("y", environment=B), environment=[]), "mode": "skip"}

    assert declared(skipped, group_skipped) == ()


def test_what_is_meant_to_run_alone_hides_nothing() -> None:
    only = {**evaluate("x", environment=A), "mode": "only"}

    assert names(declared(only, evaluate("y", environment=B))) == [("control", "a"), ("control", "b")]


# Compare -------------------------------------------------------------------------------------------------------------


@pytest.mark.conforms("126")
def test_a_baseline_is_the_control_and_variants_stand_alone() -> None:
    found = declared(evaluate("x", compare={"baseline": A, "variants": [B, C], "minLift": 0.1, "gate": "all"}))

    assert names(found) == [("control", "a"), ("variant", "b"), ("variant", "c")]
    assert same(found[1].environment, B), "nothing of the baseline is in it"


def test_without_a_baseline_the_control_is_the_cascaded_environment() -> None:
    found = declared(group("g", evaluate("x", compare={"variants": [B]}), environment=A))

    assert names(found) == [("control", "a"), ("variant", "b")]


def test_a_baseline_goes_before_the_cascaded_environment() -> None:
    assert names(declared(evaluate("x", environment=A, compare={"baseline": B, "variants": []}))) == [("control", "b")]


def test_without_either_the_control_is_an_empty_environment() -> None:
    found = declared(evaluate("x", compare={"variants": [B]}))

    assert names(found) == [("control", "baseline"), ("variant", "b")]
    assert same(found[0].environment, environment("baseline"))


def test_compare_is_inherited_and_replaced_whole() -> None:
    found = declared(
        group(
            "g",
            evaluate("x"),
            evaluate("y", environment=C),
            evaluate("z", compare={"variants": [C]}),
            compare={"baseline": A, "variants": [B]},
        )
    )

    assert names(found) == [("control", "a"), ("variant", "b"), ("control", "baseline"), ("variant", "c")]
    assert found[0].evals == (("g", "x"), ("g", "y"))


# Harnesses -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("harness", "expected"),
    [
        (FAKE, ["fake"]),
        ([FAKE, CLAUDE], ["fake", "claude-code"]),
        ([FAKE, FAKE, {"kind": "fake", "text": "hi"}], ["fake", "fake"]),
        ("fake", ["fake"]),
        (["codex:m"], ["codex:m"]),
        ({"add": FAKE}, ["fake"]),
        ({"add": [FAKE, CODEX]}, ["fake", "codex"]),
        ({"only": "fake"}, ["fake"]),
        ({"only": ["fake", "codex:m"]}, ["fake", "codex:m"]),
    ],
)
def test_each_harness_is_a_cell_of_its_own(harness: object, expected: list[str]) -> None:
    found = declared(evaluate("x", environment=A, harness=harness))

    assert kinds(found) == expected
    assert names(found) == [("control", "a")] * len(expected)


@pytest.mark.parametrize(
    ("harness", "expected"),
    [
        (FAKE, ["fake"]),
        ([FAKE], ["fake"]),
        ({"add": FAKE}, ["claude-code", "codex", "fake"]),
        ({"add": [CODEX, FAKE]}, ["claude-code", "codex", "fake"]),
        ({"only": "codex:m[effort=high]"}, ["codex"]),
        ({"only": ["codex:m[effort=high]", "claude-code:m"]}, ["claude-code", "codex"]),
        ("claude-code:m", ["claude-code"]),
    ],
)
def test_harnesses_of_a_group_are_replaced_added_to_or_narrowed(harness: object, expected: list[str]) -> None:
    found = declared(group("g", evaluate("x", harness=harness), harness=[CLAUDE, CODEX]))

    assert kinds(found) == expected


def test_an_id_of_an_inherited_harness_is_that_harness() -> None:
    mine = {"kind": "codex", "model": "m", "id": "mine"}

    (found,) = declared(group("g", evaluate("x", harness="mine"), harness=[mine, FAKE]))

    assert found.harness == mine


def test_every_form_cascades_over_several_groups() -> None:
    found = declared(
        group(
            "g",
            group("h", evaluate("x"), evaluate("y", harness={"only": "fake"}), harness={"add": FAKE}),
            evaluate("z"),
            harness=CLAUDE,
        )
    )

    assert [(kind, [path[-1] for path in one.evals]) for kind, one in zip(kinds(found), found, strict=True)] == [
        ("claude-code", ["x", "z"]),
        ("fake", ["x", "y"]),
    ]


@pytest.mark.parametrize(
    ("compared", "expected"),
    [
        (["fake"], ["fake"]),
        ([FAKE, "codex:m[effort=high]", "other"], ["codex", "fake"]),
        ([{"kind": "claude-code", "model": "m", "gateway": "direct"}], ["claude-code"]),
    ],
)
def test_variants_run_on_the_harnesses_that_are_compared(compared: object, expected: list[str]) -> None:
    compare = {"baseline": A, "variants": [B], "harness": compared}

    found = declared(evaluate("x", harness=[CLAUDE, CODEX, FAKE], compare=compare))

    assert kinds(found) == ["claude-code", "codex", "fake", *expected]
    assert names(found) == [("control", "a")] * 3 + [("variant", "b")] * len(expected)


def test_compared_harnesses_are_taken_where_the_eval_names_none() -> None:
    found = declared(evaluate("x", compare={"baseline": A, "variants": [B], "harness": [FAKE, "codex:m"]}))

    assert kinds(found) == [None, "fake", "codex:m"]


# What is said over the environment -----------------------------------------------------------------------------------


@pytest.mark.conforms("119")
def test_env_merges_by_name_and_egress_is_replaced_from_outer_to_inner() -> None:
    secret = {"kind": "secret", "from": "X"}
    (found,) = declared(
        group(
            "g",
            group("h", evaluate("x", env={"C": "x"}, egress={"allow": ["a.example"]}), env={"B": "h", "C": "h"}),
            env={"A_TOKEN": secret, "B": "g"},
            egress="deny-all",
            environment=environment("a", egress="proxy", env={"B": "the environment's"}),
        )
    )

    assert dict(found.env) == {"A_TOKEN": secret, "B": "h", "C": "x"}
    assert found.egress == {"allow": ("a.example",)}
    assert same(found.environment, environment("a", egress="proxy", env={"B": "the environment's"}))


def test_siblings_do_not_see_each_others_options() -> None:
    first, second = declared(group("g", evaluate("x", env={"A": "x"}, egress="proxy"), evaluate("y"), env={"B": "g"}))

    assert (dict(first.env), first.egress) == ({"B": "g", "A": "x"}, "proxy")
    assert (dict(second.env), second.egress) == ({"B": "g"}, None)


def test_the_inner_sandbox_replaces_the_outer_and_is_only_handed_on() -> None:
    own = environment("a", sandbox={"kind": "fake"})
    inner = {"kind": "docker", "from": "x:1"}

    (found,) = declared(
        group("g", evaluate("x", sandbox=inner), sandbox={"kind": "docker", "cpus": 2}, environment=own)
    )

    assert found.sandbox == inner
    assert same(found.environment, own)


# The same and not the same -------------------------------------------------------------------------------------------


def test_equal_declarations_are_one_with_all_their_evals() -> None:
    turned_round = {"layers": A["layers"], "name": "a", "kind": "environment"}

    (found,) = declared(evaluate("x", environment=A), group("g", evaluate("y", environment=turned_round)))

    assert found.evals == (("x",), ("g", "y"))


@pytest.mark.parametrize(
    "other",
    [
        {"environment": environment("a", rules="r")},
        {"environment": B},
        {"environment": A, "env": {"A": "1"}},
        {"environment": A, "egress": "proxy"},
        {"environment": A, "sandbox": FAKE},
        {"environment": A, "harness": FAKE},
        {"compare": {"variants": [A]}},
        {},
    ],
)
def test_whatever_differs_makes_another(other: dict[str, object]) -> None:
    found = declared(evaluate("x", environment=A), evaluate("y", **other))

    assert found[0].evals == (("x",),)
    assert len(found) > 1
    assert len(set(found)) == len(found)


def test_true_is_not_one_and_one_is_not_one_point_nothing() -> None:
    values = [1, True, 1.0, "1"]

    found = declared(
        *(evaluate(f"x{at}", environment=environment("a", rules=value)) for at, value in enumerate(values))
    )

    assert len(found) == len(values)


def test_what_is_declared_is_frozen() -> None:
    document = environment("a", files={"f": "1"}, setup=["a"])
    (found,) = declared_in(document, file=FILE)
    document["layers"][0]["spec"]["files"]["f"] = "2"

    assert found.environment is not None
    spec = found.environment["layers"][0]["spec"]
    assert (spec["files"]["f"], spec["setup"]) == ("1", ("a",))
    with pytest.raises(TypeError):
        spec["files"]["f"] = "3"
    with pytest.raises(attrs.exceptions.FrozenInstanceError):
        found.role = "variant"  # type: ignore[misc]
