"""Plugins of every source: what is kept of them, where it goes, and what is refused for a harness."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from tests.sources.npm_registry import npm_registry
from tests.sources.npm_world import NEEDS_NPM
from tests.sources.servers import git_over_http
from tests.sources.tars import package
from tests.support.projects import listing

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from tests.support.cli import ReevalBuild
    from tests.support.projects import Project

SKILL = "---\nname: check\ndescription: Checks.\n---\nCheck.\n"
# A plugin with something of every part.
PARTS: Mapping[str, dict[str, str]] = {
    "skills": {"skills/check/SKILL.md": SKILL},
    "agents": {"agents/critic.md": "# Critic\n"},
    "commands": {"commands/look.md": "# Look\n"},
    "hooks": {
        "hooks/hooks.json": '{"PreToolUse": [{"hooks": [{"type": "command", "command": "${CLAUDE_PLUGIN_ROOT}/x"}]}]}'
    },
    "mcp": {".mcp.json": '{"docs": {"command": "${CLAUDE_PLUGIN_ROOT}/lib/x", "args": ["${CLAUDE_PLUGIN_ROOT}"]}}'},
    "rules": {"rules/house.md": "# House\n"},
}
KINDS = {
    "cursor": set(PARTS),
    "antigravity": set(PARTS),
    "fake": set(PARTS),
    "claude-code": set(PARTS) - {"rules"},
    "grok-build": set(PARTS) - {"rules"},
    "opencode": set(PARTS) - {"hooks", "rules"},
    "pi": {"skills", "commands", "mcp"},
    "codex": {"skills", "mcp"},
    "goose": {"skills", "mcp"},
    "fx": {"skills", "mcp"},
}


def plugin(*parts: str, name: str = "review", **manifest: Any) -> dict[str, str]:
    files = {".claude-plugin/plugin.json": json.dumps({"name": name, **manifest}), "lib/x": "#!/bin/sh\n"}
    for part in parts:
        files |= PARTS[part]
    return files


def write(project: Project, directory: str, files: Mapping[str, str]) -> None:
    for path, text in files.items():
        project.write(f"{directory}/{path}", text, executable=text.startswith("#!"))


def base(project: Project, *plugins: str, more: str = "") -> None:
    listed = ", ".join(plugins)
    project.define(f'base = define_environment("base", {{"sandbox": fake_sandbox(), "plugins": [{listed}], {more}}})\n')


def home(reeval: ReevalBuild, tmp_path: Path, harness: str = "fake") -> Path:
    """The home directory of a sandbox at its start."""
    return reeval.copied(f"base@{harness}", tmp_path / f"copy of {harness}") / "home"


def files(directory: Path) -> list[str]:
    return [path for path in listing(directory) if (directory / path).is_file()]


@pytest.mark.conforms("102")
def test_kept_parts_are_in_the_plugins_own_directory_before_setup(
    project: Project, reeval: ReevalBuild, tmp_path: Path
) -> None:
    write(project, "review", plugin(*PARTS))
    base(
        project,
        'plugin.local("./review", only=["skills", "mcp"])',
        more='"setup": ["test -x ~/.reeval/plugins/review/lib/x"]',
    )

    placed = home(reeval, tmp_path) / ".reeval/plugins/review"

    assert files(placed) == [".claude-plugin/plugin.json", ".mcp.json", "lib/x", "skills/check/SKILL.md"]
    assert (placed / "lib/x").stat().st_mode & 0o777 == 0o755


@pytest.mark.conforms("103", "104")
def test_its_servers_join_those_of_the_environment_with_its_directory_in_them(
    project: Project, reeval: ReevalBuild, tmp_path: Path
) -> None:
    write(project, "review", plugin("mcp"))
    base(project, 'plugin.local("./review")', more='"mcp": {"own": mcp.stdio("own-server")}')

    servers = json.loads((home(reeval, tmp_path, "claude-code") / ".claude.json").read_text())["mcpServers"]

    root = "/home/.reeval/plugins/review"
    assert servers == {
        "own": {"type": "stdio", "command": "own-server", "args": []},
        "review:docs": {"type": "stdio", "command": f"{root}/lib/x", "args": [root]},
    }


@pytest.mark.conforms("105", "106")
@pytest.mark.parametrize("harness", KINDS)
def test_a_part_that_a_harness_does_not_load_is_refused_unless_only_leaves_it_out(
    project: Project, reeval: ReevalBuild, harness: str
) -> None:
    refused = sorted(set(PARTS) - KINDS[harness])
    # MCP files are not known for fx: a plugin of servers is refused there for that, which is another test's.
    kept = sorted(KINDS[harness] - ({"mcp"} if harness == "fx" else set()))
    write(project, "review", plugin(*kept, *refused))
    base(project, f'plugin.local("./review", only={kept})')
    reeval.build("--harness", harness)
    base(project, 'plugin.local("./review")')
    done = reeval.build("--harness", harness, code=2 if refused else 0)

    if refused:
        (message,) = done.messages
        assert message.startswith(f"reeval: env.py: base@{harness}: ")
        assert f'the plugin "review" has {", ".join(refused)}, which {harness} does not load' in message


@pytest.mark.conforms("107", "108", "13")
@pytest.mark.parametrize(
    ("made", "options", "said"),
    [
        (plugin("skills"), ', only=["agents"]', 'the plugin "review" has no agents; it has: skills'),
        (PARTS["skills"], "", '".claude-plugin/plugin.json" in plugin.local('),
        ({".claude-plugin/plugin.json": "{"}, "", "is not JSON"),
        ({".claude-plugin/plugin.json": "{}"}, "", "has no name"),
        ({".claude-plugin/plugin.json": '{"name": "../x"}'}, "", 'has the name "../x"'),
        ({}, "", "is no directory (check its spelling)"),
    ],
    ids=["only", "no manifest", "malformed", "nameless", "hostile name", "missing"],
)
def test_what_is_wrong_with_a_local_plugin_stops_the_plan(
    project: Project, reeval: ReevalBuild, made: dict[str, str], options: str, said: str
) -> None:
    write(project, "review", made)
    project.define(
        f"""
        base = define_environment("base", {{"sandbox": fake_sandbox(), "plugins": [plugin.local("./review"{options})]}})
        other = define_environment("other", {{"sandbox": fake_sandbox()}})
        """
    )

    done = reeval("build", code=2)

    (message,) = done.messages
    assert message.startswith("reeval: env.py: base@fake: ")
    assert said in message


@pytest.mark.conforms("107", "108")
@pytest.mark.parametrize(
    ("made", "options", "said"),
    [
        (plugin("skills"), ', only=["agents"]', 'the plugin "review" has no agents'),
        (PARTS["skills"], "", '".claude-plugin/plugin.json" in plugin.git('),
        (plugin("rules"), "", 'the plugin "review" has rules, which claude-code does not load'),
    ],
    ids=["only", "no manifest", "part"],
)
def test_the_same_of_a_fetched_one_fails_its_cells_alone(
    project: Project, reeval: ReevalBuild, made: dict[str, str], options: str, said: str
) -> None:
    project.repository("served/review", made)
    with git_over_http(project.directory / "served") as server:
        project.define(
            f"""
            base = define_environment("base", {{
                "sandbox": fake_sandbox(), "plugins": [plugin.git("{server.url}/review"{options})],
            }})
            other = define_environment("other", {{"sandbox": fake_sandbox()}})
            """
        )
        built = reeval.build("--harness", "claude-code", code=3)

    message = built.messages[-1]
    assert message.startswith("reeval: env.py: base@claude-code: ")
    assert said in message
    assert built.snapshots["base@claude-code"] is None
    assert built.snapshots["other@claude-code"] is not None


def test_every_reason_why_a_fetched_one_cannot_be_placed_is_given_at_once(
    project: Project, reeval: ReevalBuild
) -> None:
    project.repository("served/review", {**plugin("skills", "agents"), ".codex-plugin/plugin.json": "{}"})
    with git_over_http(project.directory / "served") as server:
        base(project, f'plugin.git("{server.url}/review")')
        built = reeval.build("--harness", "codex", code=3)

    assert built.messages[-1] == (
        'reeval: env.py: base@codex: the plugin "review" has agents, which codex does not load; keep the others with '
        'only: skills; and the plugin "review" has the manifest ".codex-plugin/plugin.json", which codex reads in '
        "place of .claude-plugin/plugin.json; its skills can be given in `skills`"
    )


@pytest.mark.conforms("110")
def test_a_build_needs_a_container(project: Project, reeval: ReevalBuild) -> None:
    write(project, "review", plugin("skills"))
    base(project, 'plugin.local("./review", build="make")')

    (message,) = reeval.build(code=2).messages

    assert message.endswith('the plugin "review" has a `build`, which the fake sandbox of fake cannot run')


@pytest.mark.conforms("111")
@pytest.mark.parametrize(
    ("command", "egress", "code"),
    [
        ("npx", '"deny-all"', 2),
        ("npx", '{"allow": ["example.com"]}', 2),
        ("npx", '{"allow": [*DEFAULT_EGRESS_ALLOW]}', 0),
        ("npx", '"proxy"', 0),
        ("npx", '"allow-all"', 0),
        ("uvx", '{"allow": [*DEFAULT_EGRESS_ALLOW]}', 0),
        ("uvx", '{"allow": [next(host for host in DEFAULT_EGRESS_ALLOW if "pypi" in host)]}', 2),
        ("node", '"deny-all"', 0),
    ],
)
def test_a_server_that_fetches_itself_needs_its_registry(
    project: Project, reeval: ReevalBuild, command: str, egress: str, code: int
) -> None:
    servers = json.dumps({"docs": {"command": command, "args": ["-y", "docs-server"]}})
    write(project, "review", {**plugin(), ".mcp.json": servers})
    project.define(
        f"""
        from reeval_build import DEFAULT_EGRESS_ALLOW
        base = define_environment("base", {{
            "sandbox": fake_sandbox(), "plugins": [plugin.local("./review")], "egress": {egress},
        }})
        """
    )

    messages = reeval.build(code=code).messages

    if code:
        assert f'has the MCP server "review:docs", which runs {command} on fake' in messages[0]


@pytest.mark.conforms("112")
@pytest.mark.parametrize(
    ("harness", "code"),
    [("claude-code", 2), ("antigravity", 2), ("grok-build", 2), ("codex", 2), ("cursor", 0), ("opencode", 0)],
)
def test_a_server_that_reads_a_variable_of_the_host_is_refused_where_it_would(
    project: Project, reeval: ReevalBuild, harness: str, code: int
) -> None:
    servers = json.dumps({"docs": {"command": "docs", "env": {"TOKEN": "${HOST_TOKEN}"}}})
    write(project, "review", {**plugin(), ".mcp.json": servers})
    base(project, 'plugin.local("./review")')

    messages = reeval.build("--harness", harness, code=code).messages

    if code:
        assert "which reads the host variable HOST_TOKEN" in messages[0]


def marketplace(*entries: dict[str, Any]) -> str:
    return json.dumps({"name": "acme", "owner": {"name": "Acme"}, "plugins": list(entries)})


@pytest.mark.conforms("113")
def test_an_entry_of_a_marketplace_is_where_it_says(project: Project, reeval: ReevalBuild, tmp_path: Path) -> None:
    lint = project.repository("served/lint", plugin("skills", name="lint"))
    wanted = lint.commit()
    lint.commit(plugin("skills", "agents", name="lint"))
    with git_over_http(project.directory / "served") as server:
        project.repository(
            "served/market",
            {
                ".claude-plugin/marketplace.json": marketplace(
                    {"name": "inside", "source": "./plugins/inside"},
                    {
                        "name": "lint",
                        "source": {"source": "url", "url": f"{server.url}/lint", "ref": "main", "sha": wanted},
                    },
                    {"name": "bare", "source": "./plugins/bare", "strict": False, "commands": "./here/"},
                ),
                **{f"plugins/inside/{path}": text for path, text in plugin("agents", name="inside").items()},
                "plugins/bare/here/do.md": "# Do\n",
            },
        )
        base(project, *(f'plugin.marketplace("{name}@{server.url}/market")' for name in ("inside", "lint", "bare")))
        placed = home(reeval, tmp_path) / ".reeval/plugins"

    assert files(placed / "inside") == [".claude-plugin/plugin.json", "agents/critic.md", "lib/x"]
    assert files(placed / "lint") == [".claude-plugin/plugin.json", "lib/x", "skills/check/SKILL.md"]
    assert files(placed / "bare") == [".claude-plugin/plugin.json", "here/do.md"]


@pytest.mark.conforms("113")
@pytest.mark.parametrize(
    ("files", "said"),
    [
        ({"README.md": ""}, '".claude-plugin/marketplace.json" in plugin.marketplace('),
        ({".claude-plugin/marketplace.json": marketplace({"name": "x", "source": "./x"})}, 'has no entry "lint"'),
        (
            {".claude-plugin/marketplace.json": marketplace({"name": "lint", "source": "./lint"})},
            '"lint" in plugin.marke',
        ),
        (
            {".claude-plugin/marketplace.json": marketplace({"name": "lint", "source": "./../../x"})},
            'the path "../../x", which has the segment',
        ),
    ],
    ids=["no marketplace", "no entry", "nothing there", "out of it"],
)
def test_what_is_wrong_with_a_marketplace_fails_its_cells(
    project: Project, reeval: ReevalBuild, files: dict[str, str], said: str
) -> None:
    project.repository("served/market", files)
    with git_over_http(project.directory / "served") as server:
        base(project, f'plugin.marketplace("lint@{server.url}/market")')

        messages = reeval.build(code=3).messages

    assert said in messages[-1]


@NEEDS_NPM
def test_a_plugin_and_a_marketplace_may_be_packages(project: Project, reeval: ReevalBuild, tmp_path: Path) -> None:
    def published(name: str, made: Mapping[str, str]) -> bytes:
        return package(name, "1.0.0", files={path: text.encode() for path, text in made.items()})

    with npm_registry() as registry:
        registry.publish("lint", archive=published("lint", plugin("skills", name="lint")))
        registry.publish("@acme/fmt", archive=published("@acme/fmt", plugin("agents", name="fmt")), space="other")
        there = f"{registry.url}/other/"
        entry = {
            "name": "fmt",
            "source": {"source": "npm", "package": "@acme/fmt", "version": "1.0.0", "registry": there},
        }
        market = {".claude-plugin/marketplace.json": marketplace(entry)}
        registry.publish("market", archive=published("market", market))
        project.write(".npmrc", f"registry={registry.url}/public/\n")
        base(project, 'plugin.npm("lint@1.0.0")', 'plugin.marketplace("fmt@npm:market@1.0.0")')
        placed = home(reeval, tmp_path) / ".reeval/plugins"

    assert files(placed / "lint")[-1] == "skills/check/SKILL.md"
    assert files(placed / "fmt")[1] == "agents/critic.md"
    assert reeval.build().ran == []


@pytest.mark.conforms("120", "121")
def test_a_plugin_of_a_child_replaces_that_of_its_name(project: Project, reeval: ReevalBuild, tmp_path: Path) -> None:
    write(project, "one", plugin("skills"))
    write(project, "two", plugin("agents"))
    project.define(
        """
        parent = define_environment("parent", {"sandbox": fake_sandbox(), "plugins": [plugin.local("./one")]})
        base = parent.extend("base", {"plugins": [plugin.local("./two")]})
        """
    )

    placed = home(reeval, tmp_path) / ".reeval/plugins"

    assert files(placed) == [f"review/{path}" for path in (".claude-plugin/plugin.json", "agents/critic.md", "lib/x")]


def test_two_plugins_of_one_name_in_one_layer_are_refused(project: Project, reeval: ReevalBuild) -> None:
    write(project, "one", plugin("skills"))
    write(project, "two", plugin("agents"))
    base(project, 'plugin.local("./one")', 'plugin.local("./two")')

    (message,) = reeval.build(code=3).messages

    assert 'plugins in defineEnvironment("base") has "review" twice: from plugin.local(' in message


@pytest.mark.conforms("fault 4", "fault 17")
def test_an_edit_of_a_plugin_reaches_what_it_is_kept_in_and_nothing_else(project: Project, reeval: ReevalBuild) -> None:
    write(project, "review", plugin("skills", "agents", version="1.0.0"))
    base(project, 'plugin.local("./review", only=["skills"])', more='"setup": ["true"], "rules": "x"')
    reeval.build()
    project.write("review/agents/critic.md", "# Another\n")
    left_out = reeval.build()
    project.write("review/skills/check/SKILL.md", SKILL + "More.\n")
    kept = reeval.build()

    again = reeval.build()
    write(project, "review", plugin("skills", version="1.0.1"))
    released = reeval.build()

    assert left_out.phases("ran") == ["source"]
    assert left_out.messages == again.messages == released.messages == []
    assert kept.phases("ran") == ["plugin", "root", "setup", "snapshot", "source"]
    assert len(kept.messages) == 1
    assert kept.messages[0].endswith('has other content than before, and the same version, "1.0.0"')


@pytest.mark.conforms("fault 39")
@pytest.mark.parametrize("target", ["/etc/passwd", "../../outside", "lib/../../../x"])
def test_a_link_out_of_a_plugin_is_refused_with_its_path(project: Project, reeval: ReevalBuild, target: str) -> None:
    write(project, "review", plugin("skills"))
    (project.directory / "review/lib/link").symlink_to(target)
    base(project, 'plugin.local("./review")')

    (message,) = reeval.build(code=3).messages

    assert 'has "lib/link", which is a symbolic link' in message


def test_a_file_where_a_plugin_goes_fails_its_cells_and_is_said_to_be_in_the_home_directory(
    project: Project, reeval: ReevalBuild
) -> None:
    write(project, "review", plugin("skills"))
    base(project, 'plugin.local("./review")', more='"files": {"~/.reeval": "a file"}')

    (message,) = reeval.build(code=3).messages

    assert message == (
        "reeval: env.py: base@fake: plugin review: '.reeval' goes through '.reeval', "
        "which is not a directory of the home directory"
    )
