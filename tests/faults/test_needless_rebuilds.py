"""Nothing is built again that did not change, whatever kind of node it is."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final

import pytest

if TYPE_CHECKING:
    from tests.support.cli import ReevalBuild
    from tests.support.projects import Project, Repository

# All but those that need a container: `install` and `plugin-build`, of which tests/engine has the same.
KINDS: Final = {
    "base",
    "files",
    "inputs",
    "mcp",
    "merge",
    "plugin",
    "root",
    "rules",
    "setup",
    "skills",
    "snapshot",
    "source",
    "workspace",
}


@pytest.fixture
def app(project: Project) -> Repository:
    """A project with an environment that has something of everything."""
    app = project.repository("app", {"main.txt": "main\n", "package.json": "{}\n"})
    project.write("skills/note/SKILL.md", "---\nname: note\ndescription: Notes.\n---\nNote.\n")
    project.write("review/.claude-plugin/plugin.json", '{"name": "review"}')
    project.write("review/commands/look.md", "Look.\n")
    project.write("placed.txt", "placed\n")
    project.define(
        """
        from reeval_build import step

        one = define_environment("one", {
            "sandbox": fake_sandbox(), "workspace": git("app"), "rules": "Be good.",
            "files": {"placed": file("placed.txt"), "~/own": "own"},
            "skills": [skill.local("skills"), skill.inline(name="inline", description="Inline.", content="Inline.")],
            "plugins": [plugin.local("review")], "mcp": {"docs": mcp.stdio("docs-server")}, "env": {"A": "1"},
            "setup": [step("cp package.json installed", inputs=["package.json"]), "cat main.txt > copy"],
        })
        """
    )
    return app


@pytest.mark.conforms("fault 15")
def test_no_node_of_any_kind_runs_twice(app: Repository, reeval: ReevalBuild) -> None:
    first, again = reeval.build("--harness", "claude-code"), reeval.build("--harness", "claude-code")

    assert {node["phase"] for node in first.nodes} == KINDS
    assert first.summary["ran"] == len(first.nodes)
    assert again.ran == []
    assert again.summary["hit"] == len(first.nodes)
    assert again.keys == first.keys
    assert again.snapshots == first.snapshots


@pytest.mark.conforms("fault 17")
def test_when_only_the_workspace_changed_nothing_runs_that_does_not_stand_on_it(
    app: Repository, reeval: ReevalBuild
) -> None:
    reeval.build("--harness", "claude-code")

    app.commit({"main.txt": "changed\n"})
    built = reeval.build("--harness", "claude-code")

    assert set(built.phases("ran")) == {"workspace", "root", "inputs", "merge", "setup", "snapshot"}
    assert set(built.phases("hit")) == KINDS - {"workspace", "root", "inputs", "merge", "snapshot"}
    assert [label for label in built.ran if label.startswith("setup")] == ["setup cat main.txt > copy"]


@pytest.mark.conforms("fault 19")
def test_times_of_files_are_never_compared(project: Project, app: Repository, reeval: ReevalBuild) -> None:
    reeval.build("--harness", "claude-code")
    files = sorted(path for path in project.directory.rglob("*") if path.is_file())

    for order in (files, files[::-1]):
        for at, path in enumerate(order):
            os.utime(path, (at * 10**9, at * 10**8))
        for at, path in enumerate(sorted((reeval.store / "packs").iterdir())):
            os.utime(path, (at, 4 * 10**9 - at))

        assert reeval.build("--harness", "claude-code").ran == []
