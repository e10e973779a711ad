"""Published plugins and skills, as their authors made them: resolved, narrowed, placed for two harnesses, and built.

They are fetched from the public npm registry as npm is configured on the machine, each pinned to a version.
"""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Final

import attrs
import pytest

from tests.sources.npm_world import NEEDS_NPM, needs_public_registry, own_environment
from tests.support.cli import Built, ReevalBuild
from tests.support.projects import Project, listing

pytestmark = [NEEDS_NPM, pytest.mark.timeout(600)]

HARNESSES: Final = ("claude-code", "codex")
DEFINITIONS: Final = """
everything = define_environment("everything", {
    "sandbox": fake_sandbox(),
    "plugins": [
        plugin.npm("claude-dev-environment-setup@1.4.0", only=["skills"]),
        plugin.marketplace("agent-reviews@npm:agent-reviews@0.7.0"),
        plugin.npm("context-mode@1.0.131", only=["skills", "mcp"]),
    ],
    "skills": [
        skill.npm("@plaited/development-skills@0.8.1", only=["typescript-lsp"], placement="workspace"),
        skill.npm("spring-boot4-skill@1.7.1"),
    ],
})
"""


@attrs.frozen
class Material:
    """What was built, the command that did it, and a copy of what each cell starts with."""

    reeval: ReevalBuild
    built: Built
    copies: dict[str, Path]

    def files(self, harness: str, below: str) -> list[str]:
        """The files below a directory of a cell's copy."""
        directory = self.copies[harness] / below
        return [path for path in listing(directory) if (directory / path).is_file()]


def in_directory(directory: Path, definitions: str) -> ReevalBuild:
    """The command, in a directory with these definitions, as the user who runs the tests."""
    project = Project(directory / "project")
    project.define(definitions)
    return ReevalBuild(project.directory, directory / "store", env=own_environment())


@pytest.fixture(scope="module")
def material(tmp_path_factory: pytest.TempPathFactory) -> Material:
    directory = tmp_path_factory.mktemp("material")
    needs_public_registry(directory)
    reeval = in_directory(directory, DEFINITIONS)
    built = reeval.build(*(f"--harness={harness}" for harness in HARNESSES))
    copies = {harness: reeval.copied(f"everything@{harness}", directory / harness) for harness in HARNESSES}
    return Material(reeval, built, copies)


@pytest.mark.conforms("97")
def test_what_is_pinned_is_built_without_a_word_and_only_once(material):
    again = material.reeval.build(*(f"--harness={harness}" for harness in HARNESSES))

    assert material.built.messages == again.messages == []
    assert material.built.phases("ran").count("source") == 5
    assert material.built.phases("ran").count("plugin") == 3
    assert again.ran == []
    assert again.snapshots == material.built.snapshots
    assert len(set(again.snapshots.values())) == len(HARNESSES)


@pytest.mark.conforms("102", "106")
@pytest.mark.parametrize("harness", HARNESSES)
def test_plugins_are_in_directories_of_their_names_without_what_only_leaves_out(material, harness):
    plugins = "home/.reeval/plugins"

    assert {path.partition("/")[0] for path in material.files(harness, plugins)} == {
        "agent-reviews",
        "context-mode",
        "dev-environment-setup",
    }
    narrowed = material.files(harness, f"{plugins}/dev-environment-setup")
    assert "skills/environment-check/SKILL.md" in narrowed
    assert ".claude-plugin/plugin.json" in narrowed
    assert not [path for path in narrowed if path.startswith("commands/")]
    whole = material.files(harness, f"{plugins}/agent-reviews")
    assert "skills/agent-reviews/scripts/agent-reviews.js" in whole
    served = material.files(harness, f"{plugins}/context-mode")
    # What belongs to no part stays, for the server may need it; what tells a harness of hooks does not.
    assert {"start.mjs", "hooks/pretooluse.mjs", "skills/ctx-doctor/SKILL.md"} <= set(served)
    assert "hooks/hooks.json" not in served


@pytest.mark.conforms("94", "97", "100")
@pytest.mark.parametrize(
    ("harness", "own", "workspace"),
    [("claude-code", "workspace/.claude/skills", ".claude/skills"), ("codex", "home/.agents/skills", ".agents/skills")],
)
def test_skills_are_where_each_harness_reads_them(material, harness, own, workspace):
    assert "java-spring-framework/SKILL.md" in material.files(harness, own)
    assert material.files(harness, f"workspace/{workspace}/typescript-lsp")
    placed = {
        path.partition("/")[0] for root in (own, f"workspace/{workspace}") for path in material.files(harness, root)
    }
    assert placed == {"java-spring-framework", "typescript-lsp"}


@pytest.mark.conforms("103", "104")
def test_the_server_of_a_plugin_is_written_where_each_harness_reads_it(material):
    started = {"command": "node", "args": ["/home/.reeval/plugins/context-mode/start.mjs"]}
    claude_code = json.loads((material.copies["claude-code"] / "home/.claude.json").read_text())
    codex = tomllib.loads((material.copies["codex"] / "home/.codex/config.toml").read_text())

    assert claude_code["mcpServers"] == {"context-mode:context-mode": {"type": "stdio", **started}}
    assert codex["mcp_servers"] == {"context-mode": started}


@pytest.mark.conforms("100")
@pytest.mark.parametrize("harness", HARNESSES)
def test_what_was_placed_is_no_change_of_the_agent_s(material, harness):
    done = material.reeval(
        "run", f"everything@{harness}", "--", "sh", "-c", "test -f ~/.reeval/plugins/context-mode/start.mjs"
    )

    assert done.stdout == f"everything@{harness}: nothing changed since the snapshot\n"


@pytest.mark.conforms("94", "105", "107")
def test_what_published_plugins_cannot_do_is_said_of_each_cell(material, tmp_path):
    reeval = in_directory(
        tmp_path,
        """
        def one(name, **spec):
            return define_environment(name, {"sandbox": fake_sandbox(), **spec})

        pipeline = one("pipeline", plugins=[plugin.npm("selfish-pipeline@1.3.0")])
        narrow = one("narrow", plugins=[plugin.npm("selfish-pipeline@1.3.0", only=["agents", "commands"])])
        absent = one("absent", plugins=[plugin.npm("agent-reviews@0.7.0", only=["mcp"])])
        unknown = one("unknown", skills=[skill.npm("@plaited/development-skills@0.8.1", only=["lsp"])])
        """,
    )

    built = reeval.build("--harness=claude-code", "--harness=cursor", "--harness=codex", code=3)

    assert {name for name, snapshot in built.snapshots.items() if snapshot} == {
        "pipeline@claude-code",
        "narrow@claude-code",
        "narrow@cursor",
    }
    said = {message.removeprefix("reeval: env.py: ").partition(": ")[0]: message for message in built.messages}
    assert "has agents, commands, hooks, which codex does not load; it has nothing else" in said["pipeline@codex"]
    assert (
        "TeammateIdle, which cursor does not run; keep the others with only: agents, commands"
        in said["pipeline@cursor"]
    )
    everywhere = "absent@claude-code, absent@cursor, absent@codex"
    assert 'keeps only mcp, but the plugin "agent-reviews" has no mcp; it has: skills' in said[everywhere]
    assert 'has no skill "lsp"; the skills found are: ' in said[everywhere.replace("absent", "unknown")]
    assert "typescript-lsp" in said[everywhere.replace("absent", "unknown")]
