"""`graph`: what would be built, and nothing else."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from tests.cli.test_messages import assert_nothing_is_built

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.cli import ReevalBuild
    from tests.support.projects import Project

BOTH = ("--harness", "fake", "--harness", "claude-code")


@pytest.fixture(autouse=True)
def environments(project: Project, tmp_path: Path) -> None:
    project.repository("app", {"main.txt": "main\n"}).git("tag", "v1.0.0")
    project.define(
        f"""
        base = define_environment("base", {{
            "sandbox": fake_sandbox(), "workspace": git("app", ref="v1.0.0"), "rules": "Be good.\\n",
            "env": {{"TRACE": "{tmp_path}/ran"}}, "setup": ["touch $TRACE"],
        }})
        more = base.extend("more", {{"setup": ["touch $TRACE; echo \u00fc"]}})
        """
    )


def graph(reeval: ReevalBuild, *arguments: str) -> Any:
    return json.loads(reeval("graph", *arguments, "--format", "json").stdout)


def test_text_draws_each_cell_down_to_what_it_stands_on_and_shared_nodes_once(reeval: ReevalBuild) -> None:
    keys = {(node["phase"], *node["cells"]): node["key"][:12] for node in graph(reeval, *BOTH)["nodes"]}
    four = ("base@fake", "base@claude-code", "more@fake", "more@claude-code")
    fake, claude = ("base@fake", "more@fake"), ("base@claude-code", "more@claude-code")

    done = reeval("graph", *BOTH)

    assert done.stdout == (
        "base@fake\n"
        f"└─ snapshot base  {keys['snapshot', 'base@fake']}\n"
        f"   └─ setup touch $TRACE  {keys['setup', *fake]}\n"
        f"      └─ root workspace + rules  {keys['root', *fake]}\n"
        f"         ├─ base fake sandbox  {keys['base', *four]}\n"
        f"         ├─ workspace app@v1.0.0  {keys['workspace', *four]}\n"
        f"         └─ rules AGENTS.md  {keys['rules', *fake]}\n"
        "base@claude-code\n"
        f"└─ snapshot base  {keys['snapshot', 'base@claude-code']}\n"
        f"   └─ setup touch $TRACE  {keys['setup', *claude]}\n"
        f"      └─ root workspace + rules  {keys['root', *claude]}\n"
        f"         ├─ base fake sandbox  {keys['base', *four]}  (shared, drawn above)\n"
        f"         ├─ workspace app@v1.0.0  {keys['workspace', *four]}  (shared, drawn above)\n"
        f"         └─ rules CLAUDE.md  {keys['rules', *claude]}\n"
        "more@fake\n"
        f"└─ snapshot more  {keys['snapshot', 'more@fake']}\n"
        f"   └─ setup touch $TRACE; echo \u00fc  {keys['setup', 'more@fake']}\n"
        f"      └─ setup touch $TRACE  {keys['setup', *fake]}  (shared, drawn above)\n"
        "more@claude-code\n"
        f"└─ snapshot more  {keys['snapshot', 'more@claude-code']}\n"
        f"   └─ setup touch $TRACE; echo \u00fc  {keys['setup', 'more@claude-code']}\n"
        f"      └─ setup touch $TRACE  {keys['setup', *claude]}  (shared, drawn above)\n"
        "14 nodes for 4 cells, 8 of them shared\n"
    )
    assert done.stderr == ""


def test_json_has_cells_and_nodes_with_parents_before_children(reeval: ReevalBuild) -> None:
    value = graph(reeval, *BOTH)

    assert list(value) == ["cells", "nodes"]
    assert {tuple(cell) for cell in value["cells"]} == {("name", "environment", "harness", "key", "node", "start")}
    assert {tuple(node) for node in value["nodes"]} == {("key", "phase", "label", "problem", "parents", "cells")}
    seen: set[str] = set()
    for node in value["nodes"]:
        assert {parent["key"] for parent in node["parents"]} <= seen
        seen.add(node["key"])
    assert {cell["node"] for cell in value["cells"]} == {
        node["key"] for node in value["nodes"] if node["phase"] == "snapshot"
    }


def test_the_graph_is_what_build_builds(reeval: ReevalBuild) -> None:
    planned = graph(reeval, *BOTH)
    built = reeval.build(*BOTH)

    def named(nodes: list[dict[str, Any]]) -> list[object]:
        return [[node[field] for field in ("key", "phase", "label", "cells")] for node in nodes]

    assert named(planned["nodes"]) == named(built.nodes)
    assert [cell["key"] for cell in planned["cells"]] == [cell["key"] for cell in built.value["cells"]]


@pytest.mark.parametrize("style", ["text", "json"])
def test_nothing_is_built_and_no_step_runs(reeval: ReevalBuild, tmp_path: Path, style: str) -> None:
    reeval("graph", "--format", style)

    assert not (tmp_path / "ran").exists()
    assert_nothing_is_built(reeval)
    assert reeval.build().summary["hit"] == 0


def test_what_is_built_already_is_drawn_the_same(reeval: ReevalBuild) -> None:
    before = reeval("graph").stdout
    reeval.build()

    assert reeval("graph").stdout == before


def test_what_cannot_be_had_is_drawn_with_the_reason(project: Project, reeval: ReevalBuild) -> None:
    project.define(
        'one = define_environment("one", {"sandbox": fake_sandbox(), "rules": file("gone.md")})', path="one.py"
    )

    done = reeval("graph", "one.py")

    assert f'(cannot be had: file("{project.directory}/gone.md") does not exist' in done.stdout


def test_warnings_go_to_standard_error(project: Project, reeval: ReevalBuild) -> None:
    project.edit("env.py", 'git("app", ref="v1.0.0")', 'git("app")')

    done = reeval("graph", "--format", "json")

    assert json.loads(done.stdout)
    assert any("results are not comparable over time" in message for message in done.messages)


@pytest.mark.parametrize("style", ["text", "json"])
def test_a_locale_without_the_letters_gets_escapes(reeval: ReevalBuild, style: str) -> None:
    done = reeval("graph", "--format", style, env={"PYTHONIOENCODING": "latin-1"})

    if style == "text":
        assert "\\u2514\\u2500 snapshot base" in done.stdout
    else:
        assert json.loads(done.stdout) == graph(reeval)
