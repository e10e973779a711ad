"""Mistakes in declaration trees: each names the eval or group and the key, and all of a file are said."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from reeval_build.errors import DefinitionError
from reeval_build.loading.declared import found_in
from tests.loading.trees import declared, environment, evaluate, group, problems, refused, tree

E = environment()
ARROW = "\N{SINGLE RIGHT-POINTING ANGLE QUOTATION MARK}"


# Documents and nodes -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "document", [None, 3, "x", [], [E], {}, {"children": {}}, {"children": [], "more": 1}, {"kind": 1}]
)
def test_a_document_of_another_kind_is_refused(document: object) -> None:
    (said,) = refused(document)

    got = json.dumps(document, separators=(",", ":"))
    assert said == f'it must be a declaration tree, {{"children": […]}}, or an environment (got {got})'


def test_an_environment_alone_with_a_mistake_is_refused() -> None:
    assert refused({**E, "layers": []}) == [
        "environment.layers in the document must be a list of at least one layer (got [])"
    ]


@pytest.mark.parametrize(
    "node", [None, 3, [], {}, {"type": "eval"}, {"type": "suite", "name": "a"}, {"type": ["eval"], "name": "a"}]
)
def test_a_node_of_another_kind_is_refused_by_its_place(node: object) -> None:
    got = json.dumps(node, separators=(",", ":"))

    assert problems(evaluate("x"), node) == [
        f"children[1] in the file must be a group, an eval or a todo, with a name (got {got})"
    ]
    assert problems(group("g", node)) == [
        f'children[0] in group("g") must be a group, an eval or a todo, with a name (got {got})'
    ]


@pytest.mark.parametrize("name", [3, None, ["x"], "\ud800"])
def test_a_name_that_is_no_text_is_refused(name: Any) -> None:
    assert "must be a group, an eval or a todo, with a name" in problems(evaluate(name))[0]


def test_parts_of_a_node_of_another_kind_are_refused() -> None:
    assert problems({**evaluate("x"), "options": []}) == ['options in evaluate("x") must be a mapping (got [])']
    assert problems({**evaluate("x"), "mode": "off"}) == [
        'mode in evaluate("x") must be "run", "skip", "only" (got "off")'
    ]
    assert problems({**group("g"), "children": None}) == ['children in group("g") must be a list (got null)']


# Options -------------------------------------------------------------------------------------------------------------

NO_ENVIRONMENT = "must be an environment, from define_environment()"
NO_HARNESS = "must come from a harness helper, such as fake_harness()"


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"environment": None}, f'environment in evaluate("x") {NO_ENVIRONMENT} (got null)'),
        ({"environment": "e"}, f'environment in evaluate("x") {NO_ENVIRONMENT} (got "e")'),
        ({"environment": {"rules": "r"}}, f'environment in evaluate("x") {NO_ENVIRONMENT} (got {{"rules":"r"}})'),
        (
            {"environment": {**E, "extra": 1}},
            'environment in evaluate("x") has an unknown key "extra"; an environment has kind, name and layers',
        ),
        ({"environment": {**E, "name": 3}}, 'environment.name in evaluate("x") must be text (got 3)'),
        (
            {"environment": {**E, "layers": {}}},
            'environment.layers in evaluate("x") must be a list of at least one layer (got {})',
        ),
        (
            {"environment": {**E, "layers": [3]}},
            'environment.layers[0] in evaluate("x") must have a name and a spec, and nothing else (got 3)',
        ),
        (
            {"environment": {**E, "layers": [{"name": "e", "spec": {}, "more": 1}]}},
            'environment.layers[0] in evaluate("x") must have a name and a spec, and nothing else (got {"name":"e","sp',
        ),
        (
            {"environment": {**E, "layers": [{"name": "e", "spec": {}}, {"name": [], "spec": {}}]}},
            'environment.layers[1].name in evaluate("x") must be text (got [])',
        ),
        (
            {"environment": {**E, "layers": [{"name": "e", "spec": "r"}]}},
            'environment.layers[0].spec in evaluate("x") must be a mapping of fields (got "r")',
        ),
        ({"compare": [E]}, 'compare in evaluate("x") must be { baseline?, variants } (got [{"kind":'),
        ({"compare": {}}, 'compare.variants in evaluate("x") must be a list of environments (got null)'),
        (
            {"compare": {"variants": E}},
            'compare.variants in evaluate("x") must be a list of environments (got {"kind":',
        ),
        ({"compare": {"variants": [E, 3]}}, f'compare.variants[1] in evaluate("x") {NO_ENVIRONMENT} (got 3)'),
        ({"compare": {"variants": [[E]]}}, f'compare.variants[0] in evaluate("x") {NO_ENVIRONMENT} (got [{{"kind":'),
        ({"compare": {"baseline": [], "variants": []}}, f'compare.baseline in evaluate("x") {NO_ENVIRONMENT} (got [])'),
        (
            {"compare": {"control": E, "variants": []}},
            'compare in evaluate("x") has an unknown key "control"; it takes baseline, gate, harness, minLift',
        ),
        (
            {"compare": {"variants": [], "harness": "fake"}},
            'compare.harness in evaluate("x") must be a list of harnesses or their ids (got "fake")',
        ),
        ({"compare": {"variants": [], "harness": [3]}}, f'compare.harness in evaluate("x") {NO_HARNESS} (got 3)'),
        (
            {"compare": {"variants": [E], "harness": ["b"]}, "harness": [{"kind": "pi", "id": "a"}]},
            'compare.harness in evaluate("x") names none of the harnesses it runs on, which are "a"',
        ),
        ({"harness": 3}, 'harness in evaluate("x") must be a harness, a list of them, { add } or { only } (got 3)'),
        ({"harness": []}, 'harness in evaluate("x") must name at least one harness'),
        ({"harness": ""}, f'harness in evaluate("x") {NO_HARNESS} (got "")'),
        ({"harness": ":m"}, f'harness in evaluate("x") {NO_HARNESS} (got ":m")'),
        ({"harness": [{"kind": 3}]}, f'harness in evaluate("x") {NO_HARNESS} (got {{"kind":3}})'),
        ({"harness": {"kind": "codex", "model": 5}}, 'harness.model in evaluate("x") must be text (got 5)'),
        ({"harness": {"kind": "codex", "id": None}}, 'harness.id in evaluate("x") must be text (got null)'),
        (
            {"harness": {"add": [], "only": []}},
            'harness in evaluate("x") must be a harness, a list of them, { add } or { only } (got {"add":[],"only"',
        ),
        ({"harness": {"add": []}}, 'harness in evaluate("x") must name at least one harness'),
        ({"harness": {"add": [[]]}}, f'harness in evaluate("x") {NO_HARNESS} (got [])'),
        ({"harness": {"only": [{"kind": "fake"}]}}, 'harness.only in evaluate("x") must be the id of a harness'),
        (
            {"harness": {"only": []}},
            'harness.only in evaluate("x") must be the id of a harness, or a list of ids (got [])',
        ),
        ({"env": []}, 'env in evaluate("x") must be a mapping of variable names to strings or secrets'),
        ({"env": {"A-B": "x"}}, 'env["A-B"] in evaluate("x") is not a variable name: letters, digits and "_",'),
        ({"env": {"A": 3}}, 'env.A in evaluate("x") must be a string of valid Unicode without NUL, or a secret'),
        ({"env": {"A": "\0"}}, 'env.A in evaluate("x") must be a string of valid Unicode without NUL, or a secret'),
        (
            {"env": {"MY_TOKEN": "x"}},
            'env.MY_TOKEN in evaluate("x") is a literal string. Pass secrets with secret.fromEnv() so they\'re',
        ),
        (
            {"egress": "open"},
            'egress in evaluate("x") must be "proxy", "allow-all", "deny-all" or { allow: hosts } (got "open")',
        ),
        ({"egress": {"allow": "a"}}, 'egress.allow in evaluate("x") must be a list of hosts (got "a")'),
        ({"egress": {"allow": [3]}}, 'egress.allow[0] in evaluate("x") must be the name of a host'),
        ({"egress": {"allow": [], "deny": []}}, 'egress in evaluate("x") must be "proxy"'),
        ({"egress": None}, 'egress in evaluate("x") must be "proxy"'),
        ({"sandbox": "docker"}, 'sandbox in evaluate("x") must come from a sandbox helper'),
        ({"sandbox": {"from": "x"}}, 'sandbox in evaluate("x") must come from a sandbox helper'),
        ({"enviroment": E}, 'Unknown option "enviroment" in evaluate("x").'),
    ],
)
def test_an_option_of_the_wrong_shape_is_refused(options: dict[str, Any], said: str) -> None:
    (found,) = problems(evaluate("x", **options))

    assert found.startswith(said)


def test_options_that_are_about_runs_are_none_of_our_business() -> None:
    names = ("capture", "gate", "judge", "pin", "question", "questions", "runs", "tags", "timeout")

    assert len(declared(evaluate("x", **dict.fromkeys(names, 3)))) == 1


def test_an_id_that_is_not_inherited_is_refused_with_those_that_are() -> None:
    harnesses = [{"kind": "fake"}, {"kind": "codex", "model": "m"}]

    (said,) = problems(group("g", evaluate("x", harness={"only": ["fake", "b"]}), harness=harnesses))

    assert said == f'harness.only in evaluate("g {ARROW} x") names "b", but the harnesses are "fake", "codex:m"'


@pytest.mark.conforms("14", "message: list as environment")
def test_a_list_as_an_environment_gets_the_documented_message() -> None:
    said = (
        'environment takes one environment, not a list ({}("x")). To compare environments, use compare: '
        "{{ baseline, variants: [a, b] }}. baseline is the control; variants are not layered on it."
    )

    assert problems(evaluate("x", environment=[E])) == [said.format("evaluate")]
    assert problems(group("x", environment=[])) == [said.format("group")]


def test_every_mistake_of_a_file_is_said_once() -> None:
    said = problems(
        group("g", evaluate("x", environment=3, egress=4), evaluate("y"), harness=[], env={"1": "a", "A_KEY": "b"}),
        evaluate("z", compare={"variants": [1, 2]}),
    )

    assert [line.partition(" must ")[0].partition(" is ")[0] for line in said] == [
        'harness in group("g")',
        'env["1"] in group("g")',
        'env.A_KEY in group("g")',
        f'environment in evaluate("g {ARROW} x")',
        f'egress in evaluate("g {ARROW} x")',
        'compare.variants[0] in evaluate("z")',
        'compare.variants[1] in evaluate("z")',
    ]


def test_what_is_wrong_with_an_option_of_a_group_is_said_of_the_group_and_not_of_its_evals() -> None:
    options = {
        "env": {"A": {"kind": "secret", "to": "nobody"}},
        "egress": {"allow": ["a b"]},
        "sandbox": {"kind": "docker", "cpus": 0},
        "harness": [{"kind": "codex", "effort": "high"}, {"kind": "fake", "id": "a::b"}],
    }

    said = problems(
        group("g", evaluate("x"), evaluate("y", env={"B": "1"}), evaluate("z", environment=environment("z")), **options)
    )

    assert said == [
        'harness in group("g"): codex() needs model',
        'harness.id in group("g") must be printable text without "::", for it names cells',
        'env.A in group("g"): to in secret() must be "agent" or "checks" (got "nobody")',
        (
            'egress.allow[0] in group("g") must be the name of a host such as api.example.com, or *.example.com for '
            'subdomains (got "a b")'
        ),
        'sandbox in group("g"): cpus in docker() must be a number above 0 (got 0)',
    ]


def test_what_is_wrong_with_an_environment_is_said_in_the_same_run_as_what_is_wrong_around_it() -> None:
    document = tree(
        evaluate("x", environment=environment("a", rules=3), harness="cline"),
        evaluate("y", environment=environment("b", setup="make"), env={"A-B": ""}, sandbox={"kind": "vm"}),
        evaluate("z", environment=environment("c", sandbox={"kind": "docker", "engine": "podman"})),
    )

    with pytest.raises(DefinitionError) as caught:
        found_in(document, file="x.json", directory=Path("/project"))

    assert [problem.partition(" must ")[0].partition(" is ")[0] for problem in caught.value.problems] == [
        'harness in evaluate("x"): there',
        'env["A-B"] in evaluate("y")',
        'sandbox in evaluate("y")',
        'rules in defineEnvironment("a")',
        'setup in defineEnvironment("b")',
    ]


def test_a_literal_secret_is_shown_nowhere() -> None:
    said = problems(evaluate("x", env={"MY_TOKEN": "s3cret"}, sandbox={"MY_TOKEN": "s3cret"}))

    assert "s3cret" not in "\n".join(said)


def test_long_and_odd_names_are_cut_and_escaped() -> None:
    (said,) = problems(evaluate("\x1b\n" + "x" * 10_000, environment=3))

    assert said.startswith('environment in evaluate("\\u001b\\nxxx')
    assert len(said) < 300


# What is not data ----------------------------------------------------------------------------------------------------

LOOP: list[Any] = []
LOOP.append(LOOP)
WIDE: list[Any] = [0] * 1_000_001


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (b"x", 'is not data (got "<bytes>")'),
        ({1}, 'is not data (got "<set>")'),
        (float("nan"), "is not a number that JSON has (got NaN)"),
        (float("-inf"), "is not a number that JSON has (got -Infinity)"),
        (10**5000, "is a number of more than 64 bits"),
        (2**63, "is a number of more than 64 bits"),
        ({3: 4}, "has a key that is not text (got 3)"),
        (LOOP, "is nested deeper than 100 levels"),
        (WIDE, "has more than 1000000 values before it"),
    ],
    ids=["bytes", "set", "nan", "infinity", "huge", "large", "key", "loop", "wide"],
)
def test_what_is_not_data_is_refused_with_its_eval_and_key(value: object, said: str) -> None:
    (found,) = problems(group("g", evaluate("x", environment=environment(env={"A B": value}))))

    assert found.startswith('environment.layers[0].spec.env["A B"]')
    assert found.endswith(f' in evaluate("g {ARROW} x") {said}')


def test_what_is_not_data_anywhere_else_is_refused_with_its_place() -> None:
    assert refused(object()) == ['it is not data (got "<object>")']
    assert refused({3: 4}) == ["it has a key that is not text (got 3)"]
    assert refused({"children": {4}}) == ['children is not data (got "<set>")']
    assert refused(tree({"type": "eval", "name": b"x"})) == ['children[0].name is not data (got "<bytes>")']
    assert refused(tree({"type": {1}, "name": "x"})) == ['children[0].type is not data (got "<set>")']
    assert refused(tree(evaluate("x", tags=[evaluate("y", tags=b"")]))) == [
        'tags[0].options.tags in evaluate("x") is not data (got "<bytes>")'
    ]
    assert refused(tree(evaluate("x"), {**group("g"), "children": 5.0, "x": b""})) == [
        'x in group("g") is not data (got "<bytes>")'
    ]


def test_groups_that_never_end_are_refused() -> None:
    endless = group("g")
    endless["children"] = [endless, endless]

    (said,) = problems(endless)

    assert said.endswith("is nested deeper than 100 levels")
    assert len(said) < 300
