"""Egress policies: what they do to keys, how evals replace them, and that nothing enforces them yet."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from tests.support.evals import FILE, PYTHON, environment, evaluation, write_evals

if TYPE_CHECKING:
    from tests.support.cli import Built, ReevalBuild
    from tests.support.projects import Project

SPEC = '{{"sandbox": fake_sandbox(), "egress": {}, "setup": ["echo a > a", "echo b > b"], "rules": "r"}}'


def warning(name: str, file: str = "env.py") -> str:
    return (
        f'reeval: warning: {file}: egress of the environment "{name}" is recorded, not enforced: '
        "steps and `run` have the engine's own network"
    )


def build_with(project: Project, reeval: ReevalBuild, egress: object) -> Built:
    project.define(f'e = define_environment("e", {SPEC.format(json.dumps(egress))})')
    return reeval.build("env.py")


@pytest.mark.conforms("89")
def test_another_policy_runs_every_step_again_and_nothing_else(project: Project, reeval: ReevalBuild) -> None:
    build_with(project, reeval, "proxy")

    restricted = build_with(project, reeval, {"allow": ["b.example", "a.example"]})
    written_otherwise = build_with(project, reeval, {"allow": ["A.example", "b.example", "a.example"]})
    open_again = build_with(project, reeval, "proxy")

    assert restricted.ran == ["setup echo a > a", "setup echo b > b"]
    assert (written_otherwise.ran, open_again.ran) == ([], [])


@pytest.mark.parametrize("command", [["build"], ["graph"], ["run", "e@codex", "--", "true"]])
def test_a_policy_that_restricts_is_warned_of_once_an_environment(
    project: Project, reeval: ReevalBuild, command: list[str]
) -> None:
    project.define(
        """
        e = define_environment("e", {"sandbox": fake_sandbox(), "egress": "deny-all"})
        free = e.extend("free", {"egress": "allow-all"})
        """
    )
    harnesses = [] if command[0] == "run" else ["--harness", "codex", "--harness", "fake"]

    assert reeval(*command[:1], *harnesses, *command[1:]).messages == [warning("e")]


@pytest.mark.conforms("119")
def test_groups_and_evals_replace_a_policy_and_merge_none(project: Project, reeval: ReevalBuild) -> None:
    def steps(of: str, **options: Any) -> dict[str, Any]:
        own = environment(of, setup=["true"], egress={"allow": ["own.example"]})
        return evaluation(of, environment=own, **options)

    group = {"allow": ["group.example"]}
    tree = {
        "children": [
            steps("alone"),
            {
                "type": "group",
                "name": "g",
                "options": {"egress": group},
                "children": [steps("of-group"), steps("of-eval", egress={"allow": ["eval.example"]})],
            },
            steps("same-as-group", egress=group),
            steps("both", egress={"allow": ["group.example", "eval.example"]}),
            steps("open", egress="allow-all"),
        ]
    }
    project.write("tree.json", json.dumps(tree))

    built = reeval.build("tree.json")

    keys = {tuple(node["cells"]): node["key"] for node in built.nodes if node["phase"] == "setup"}
    assert set(keys) == {
        ("alone@fake",),
        ("of-group@fake", "same-as-group@fake"),
        ("of-eval@fake",),
        ("both@fake",),
        ("open@fake",),
    }
    assert built.messages == [
        warning(name, "tree.json") for name in ("alone", "of-group", "of-eval", "same-as-group", "both")
    ]


def test_what_an_eval_says_of_egress_goes_out_and_comes_in(project: Project, reeval: ReevalBuild) -> None:
    reeval.env.update(PYTHON)
    write_evals(
        project,
        """
        e = define_environment("e", {"sandbox": {"kind": "fake"}, "setup": ["true"], "egress": "deny-all"})

        @evaluate("x", {"environment": e, "egress": {"allow": ["a.example"]}})
        def x(c): ...
        """,
    )
    first = reeval.build(FILE)
    reeval.names_store = False
    exported = reeval("export", FILE).stdout
    reeval.names_store = True
    project.write("tree.json", exported)

    again = reeval.build("tree.json")

    assert json.loads(exported)["children"][0]["options"]["egress"] == {"allow": ["a.example"]}
    assert (again.ran, again.keys) == ([], first.keys)
