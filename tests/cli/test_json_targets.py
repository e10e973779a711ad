"""Declarations in JSON: a declaration tree or an environment, in a file or on standard input."""

from __future__ import annotations

import json
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest

from tests.support.evals import environment, evaluation

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.support.cli import Built, ReevalBuild
    from tests.support.projects import Project


def names(built: Built) -> list[str]:
    return [cell["name"] for cell in built.value["cells"]]


@contextmanager
def typed(project: Project, document: object) -> Iterator[dict[str, Any]]:
    """The option that makes a JSON document the standard input of a command."""
    file = project.write("../typed", document if isinstance(document, bytes) else json.dumps(document))
    with file.open("rb") as stdin:
        yield {"stdin": stdin}


@pytest.mark.conforms("125")
def test_a_tree_in_a_file_is_what_its_evals_declare(project: Project, reeval: ReevalBuild) -> None:
    codex = {"kind": "codex", "model": "gpt"}
    tree = {
        "children": [
            evaluation("x", environment=environment("a"), harness=codex),
            {
                "type": "group",
                "name": "g",
                "options": {"environment": environment("b")},
                "children": [evaluation("y"), {"type": "todo", "name": "z"}],
            },
        ]
    }
    project.write("tree.json", json.dumps(tree))

    assert names(reeval.build("tree.json", "--harness", "pi")) == ["a@codex:gpt", "b@pi"]
    assert names(reeval.build("tree.json::b")) == ["b@fake"]


def test_an_environment_in_a_file_is_that_environment(project: Project, reeval: ReevalBuild) -> None:
    project.write("sub/rules.md", "Rules beside the file.\n")
    document = environment("base", rules={"kind": "file", "path": "rules.md"})
    project.write("sub/base.json", json.dumps(document))

    assert names(reeval.build("sub/base.json")) == ["base@fake"]
    assert reeval("run", "sub/base.json::base@fake", "--", "cat", "AGENTS.md").stdout.startswith("Rules beside")


def test_standard_input_is_a_target_whose_paths_count_from_the_working_directory(
    project: Project, reeval: ReevalBuild
) -> None:
    project.write("rules.md", "Rules here.\n")
    document = environment("base", rules={"kind": "file", "path": "rules.md"})

    with typed(project, document) as stdin:
        built = reeval.build("-", **stdin)
    with typed(project, document) as stdin:
        drawn = reeval("graph", "--", "-::base", **stdin)
    with typed(project, document) as stdin:
        ran = reeval("run", "--", "-::base@fake", "cat", "AGENTS.md", **stdin)

    assert names(built) == ["base@fake"]
    assert drawn.stdout.startswith("base@fake\n")
    assert ran.stdout.startswith("Rules here.\n")


def test_a_file_that_is_called_a_dash_can_be_given(project: Project, reeval: ReevalBuild) -> None:
    project.write("-.json", json.dumps(environment("base")))

    assert names(reeval.build("./-.json")) == ["base@fake"]


def test_a_directory_does_not_read_json(project: Project, reeval: ReevalBuild) -> None:
    project.write("package.json", "{}")
    project.define('one = define_environment("one", {"sandbox": fake_sandbox()})')

    assert names(reeval.build()) == ["one@fake"]


def test_json_and_our_modules_are_one_build(project: Project, reeval: ReevalBuild) -> None:
    project.define('base = define_environment("base", {"sandbox": fake_sandbox(), "rules": "r"})')
    project.write("same.json", json.dumps(environment("base", rules="r")))
    project.write("other.json", json.dumps(environment("base", rules="s")))

    built = reeval.build("env.py", "same.json")
    refused = reeval.build("env.py", "other.json", code=2)

    assert names(built) == ["base@fake"]
    assert refused.messages == [
        'reeval: other.json: environment "base" is also defined, differently, in env.py',
    ]


@pytest.mark.conforms("exit 2")
@pytest.mark.parametrize(
    ("document", "said"),
    [
        (b"", "it is not JSON at line 1 column 1: Expecting value"),
        (b"{", "it is not JSON at line 1 column 2: Expecting property name enclosed in double quotes"),
        (b"[]", "it must be a JSON object: a declaration tree or an environment (got [])"),
        (b"{}", 'it must be a declaration tree, {"children": […]}, or an environment (got {})'),
        (b"\xff", "it is not UTF-8 at byte 0"),
        (environment("my env"), "defineEnvironment needs a name of letters, digits"),
        (environment("e", rules=1), 'rules in defineEnvironment("e") must be markdown or file(path) (got 1)'),
        (
            environment("e", egress="open"),
            'egress in defineEnvironment("e") must be "proxy", "allow-all", "deny-all" or { allow: hosts } (got ',
        ),
        ({"children": []}, "it has no evals"),
        (
            {"children": [evaluation("x", harness={"kind": "cline"})]},
            'harness in evaluate("x"): there is no harness "cline"; there are ',
        ),
    ],
    ids=str,
)
def test_what_is_wrong_with_json_is_said_of_the_file_or_of_standard_input(
    project: Project, reeval: ReevalBuild, document: Any, said: str
) -> None:
    project.write("x.json", document if isinstance(document, bytes) else json.dumps(document))

    (of_file,) = reeval.build("x.json", code=2).messages
    with typed(project, document) as stdin:
        (of_input,) = reeval.build("-", code=2, **stdin).messages

    assert of_file.startswith(f"reeval: x.json: {said}")
    assert of_input.startswith(f"reeval: standard input: {said}")


def test_a_file_that_is_not_there_is_refused(reeval: ReevalBuild) -> None:
    assert reeval.build("gone.json", code=2).messages == ["reeval: gone.json: there is no such file or directory"]
