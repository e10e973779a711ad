"""A stale result is never reused: what changed runs again, and nothing that did not."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from tests.sources.npm_registry import npm_registry
from tests.sources.npm_world import NEEDS_NPM
from tests.sources.servers import git_over_http
from tests.sources.tars import package
from tests.support.cli import ReevalBuild
from tests.support.projects import listing
from tests.support.secrecy import places

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.projects import Project

SKILL = "---\nname: {name}\ndescription: Does it.\n---\nDo it.\n"


def write_plugin(project: Project, name: str, *, version: str = "1.0.0", text: str = "Look.\n") -> None:
    project.write(f"{name}/.claude-plugin/plugin.json", json.dumps({"name": name, "version": version}))
    project.write(f"{name}/commands/look.md", text)


@pytest.mark.conforms("fault 4")
def test_a_local_plugin_of_the_same_version_with_other_content_is_placed_anew_and_warned_of_and_siblings_hit(
    project: Project, reeval: ReevalBuild
) -> None:
    write_plugin(project, "review")
    write_plugin(project, "sibling")
    project.define(
        """
        one = define_environment("one", {
            "sandbox": fake_sandbox(), "rules": "Be good.",
            "plugins": [plugin.local("review"), plugin.local("sibling")], "setup": ["echo made > made"],
        })
        """
    )
    reeval.build()

    write_plugin(project, "review", text="Look again.\n")
    edited = reeval.build()

    assert edited.phases("ran") == ["plugin", "root", "setup", "snapshot", "source"]
    assert [label for label in edited.ran if label.startswith(("plugin sibling", "source sibling"))] == []
    assert {label.split()[0] for label in edited.labels("hit")} == {"base", "plugin", "rules", "source"}
    (message,) = edited.messages
    assert message.startswith("reeval: warning: ")
    assert message.endswith('has other content than before, and the same version, "1.0.0"')


@NEEDS_NPM
@pytest.mark.conforms("fault 5")
def test_a_floating_tag_that_moves_is_resolved_once_a_plan_to_a_version_and_warned_of(
    project: Project, reeval: ReevalBuild
) -> None:
    def publish(version: str, text: str) -> None:
        files = {"skills/note/SKILL.md": SKILL.format(name="note").encode(), "skills/note/text": text.encode()}
        registry.publish("note", version, package("note", version, files=files), tag="latest")

    project.define(
        """
        for name in ("one", "two"):
            globals()[name] = define_environment(name, {
                "sandbox": fake_sandbox(), "skills": [skill.npm("note@latest")], "setup": ["echo made > made"],
            })
        """
    )
    with npm_registry() as registry:
        project.write(".npmrc", f"registry={registry.url}/public/\n")
        publish("1.0.0", "first")
        first, again = reeval.build(), reeval.build()
        publish("1.1.0", "second")
        moved = reeval.build()

    assert first.phases("ran").count("source") == 1
    assert again.ran == []
    assert "source" in moved.phases("ran")
    assert "setup" not in moved.phases("ran"), "skills come after setup"
    for built in (first, again, moved):
        assert [line for line in built.messages if "note@latest" in line and line.startswith("reeval: warning: ")]


@pytest.mark.conforms("fault 6")
def test_a_skill_that_is_a_whole_repository_is_placed_as_it_was_hashed(
    project: Project, reeval: ReevalBuild, tmp_path: Path
) -> None:
    app = project.repository(
        "served/tabs", {"SKILL.md": SKILL.format(name="tabs"), "scripts/run": "#!/bin/sh\n", "scripts/data/x": "1"}
    )
    with git_over_http(project.directory / "served") as server:
        project.define(
            f"""
            one = define_environment("one", {{"sandbox": fake_sandbox(), "skills": [skill.git("{server.url}/tabs")]}})
            """
        )
        before = reeval.build("--harness", "claude-code")
        placed = reeval.copied("one@claude-code", tmp_path / "copy")
        app.commit({"scripts/data/x": "2"})
        after = reeval.build("--harness", "claude-code")

    found = [path for path in listing(placed) if "tabs/" in path]
    assert [path.partition("tabs/")[2] for path in found] == [
        "SKILL.md",
        "scripts",
        "scripts/data",
        "scripts/data/x",
        "scripts/run",
    ]
    assert "skills" in after.phases("ran")
    assert after.keys != before.keys


@pytest.mark.conforms("fault 8")
def test_equal_files_are_shared_by_environments_whose_servers_or_egress_differ_and_each_has_its_own(
    project: Project, reeval: ReevalBuild, tmp_path: Path
) -> None:
    project.define(
        """
        files = {"sandbox": fake_sandbox(), "files": {"a": "same"}}
        plain = define_environment("plain", files)
        docs = define_environment("docs", {**files, "mcp": {"docs": mcp.stdio("docs-server")}})
        wiki = define_environment("wiki", {**files, "mcp": {"wiki": mcp.stdio("wiki-server")}})
        closed = define_environment("closed", {**files, "egress": "deny-all"})
        """
    )

    built = reeval.build("--harness", "claude-code")

    names = [f"{name}@claude-code" for name in ("closed", "docs", "plain", "wiki")]
    assert [sorted(node["cells"]) for node in built.nodes if node["phase"] == "files"] == [names]
    assert len({cell["key"] for cell in built.value["cells"]}) == len(names)
    said = {
        name: "".join(
            (copy / path).read_text()
            for path in listing(copy)
            if (copy / path).is_file() and (copy / path).suffix == ".json"
        )
        for name in ("plain", "docs", "wiki")
        for copy in [reeval.copied(f"{name}@claude-code", tmp_path / name)]
    }
    assert {name: [word for word in ("docs-server", "wiki-server") if word in text] for name, text in said.items()} == {
        "plain": [],
        "docs": ["docs-server"],
        "wiki": ["wiki-server"],
    }


@pytest.mark.conforms("fault 12")
def test_names_that_begin_and_end_alike_are_apart_everywhere(project: Project, reeval: ReevalBuild) -> None:
    start, end = "a" * 60, "z" * 60
    project.define(
        f"""
        for middle in ("x", "y"):
            name = "{start}" + middle + "{end}"
            globals()[f"e{{middle}}"] = define_environment(name, {{
                "sandbox": fake_sandbox(), "files": {{name: middle}}, "setup": [f"echo {{middle}} > made # {{name}}"],
            }})
        """
    )

    built = reeval.build()

    assert len(set(built.snapshots)) == len(set(built.snapshots.values())) == len(built.value["cells"]) == 2
    for middle in ("x", "y"):
        name = f"{start}{middle}{end}"
        assert reeval("run", f"{name}@fake", "--", "cat", name, "made").stdout.startswith(f"{middle}{middle}\n")
    assert reeval.build().ran == []


@pytest.mark.conforms("fault 13")
def test_another_value_of_a_secret_uses_what_was_derived_from_it_and_never_what_has_it_in_it(
    project: Project, reeval: ReevalBuild
) -> None:
    # The rule that docs/how-to/use-secrets.md states: nothing is built again when a value changes.
    derives, leaks = "echo -n $TOKEN | wc -c > derived", "echo $TOKEN > leaked"
    project.define(
        f"""
        env = {{"TOKEN": secret()}}
        derived = define_environment("derived", {{"sandbox": fake_sandbox(), "env": env, "setup": ["{derives}"]}})
        leaking = define_environment("leaking", {{"sandbox": fake_sandbox(), "env": env, "setup": ["{leaks}"]}})
        """
    )
    one, other = "hunter2-f00d", "quite-another-value"
    first = ReevalBuild(reeval.directory, reeval.store, env={"TOKEN": one})
    second = ReevalBuild(reeval.directory, reeval.store, env={"TOKEN": other})
    first.build()

    again = second.build()

    assert again.ran == [f"setup {leaks}", "snapshot leaking"]
    assert second("run", "derived@fake", "--", "cat", "derived").stdout.startswith(f"{len(one)}\n")
    assert second("run", "leaking@fake", "--", "wc", "-c", "leaked").stdout.startswith(f"{len(other) + 1} ")
    (message,) = again.messages
    assert "leaves the value of env.TOKEN in workspace/leaked" in message
    assert message.endswith("neither its result nor what stands on it is kept, and the next build runs it again")
    assert places(reeval.store, one) == places(reeval.store, other) == []
