from __future__ import annotations

import json

import attrs
import pytest

from reeval_build.content.plugins import PluginContents, find_plugin
from reeval_build.content.refusals import Surroundings, host_variables, refusals
from reeval_build.content.registries import Registries
from reeval_build.model.egress import AllowHosts
from reeval_build.model.mcp import RemoteServer, StdioServer
from reeval_build.model.plugins import PLUGIN_PARTS, LocalPlugin, PluginBuild
from tests.unit.content.shelf import KINDS, harness, skill

# Section 5.3 of the specification.
LOADS = {
    "cursor": PLUGIN_PARTS,
    "antigravity": PLUGIN_PARTS,
    "fake": PLUGIN_PARTS,
    "claude-code": ("skills", "agents", "commands", "hooks", "mcp"),
    "grok-build": ("skills", "agents", "commands", "hooks", "mcp"),
    "opencode": ("skills", "agents", "commands", "mcp"),
    "pi": ("skills", "commands", "mcp"),
    "codex": ("skills", "mcp"),
    "goose": ("skills", "mcp"),
    "fx": ("skills", "mcp"),
}
FILES = {
    "skills/a/SKILL.md": skill(),
    "agents/a.md": "",
    "commands/a.md": "",
    "hooks/hooks.json": json.dumps({"Stop": [{"hooks": [{"type": "command", "command": "true"}]}]}),
    ".mcp.json": json.dumps({"docs": {"command": "docs"}}),
    "rules/a.md": "",
}
REGISTRIES = Registries(npm=("npm.example",), python=("pypi.example", "files.example"))


def around(kind: str, **fields) -> Surroundings:
    values = {"sandbox": "docker", "servers": {}, "egress": None, "registries": REGISTRIES} | fields
    return Surroundings(harness=harness(kind), **values)


def plugin(shelf, files=None, name="lint", **source) -> PluginContents:
    tree = shelf.tree({".claude-plugin/plugin.json": json.dumps({"name": name})} | (files or {}))
    return find_plugin(LocalPlugin(path="/p", **source), tree, shelf.material, home="/root")


def with_servers(shelf, servers, name="lint") -> PluginContents:
    return plugin(shelf, {".mcp.json": json.dumps(servers)}, name)


def with_hooks(shelf, hooks) -> PluginContents:
    return plugin(shelf, {"hooks/hooks.json": json.dumps(hooks)})


def rules(found) -> list[int]:
    return [refusal.rule for refusal in found]


@pytest.mark.conforms("105")
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("part", PLUGIN_PARTS)
def test_a_part_is_refused_exactly_where_the_harness_does_not_load_it(shelf, kind, part):
    found = refusals([plugin(shelf, FILES, only=(part,))], around(kind))

    assert rules(found) == ([] if part in LOADS[kind] else [1])
    for refusal in found:
        assert refusal.sentence == f'the plugin "lint" has {part}, which {kind} does not load; it has nothing else'


@pytest.mark.conforms("105", "106")
@pytest.mark.parametrize("kind", KINDS)
def test_what_a_refusal_advises_to_keep_passes(shelf, kind):
    found = refusals([plugin(shelf, FILES)], around(kind))

    assert rules(found) == ([] if set(LOADS[kind]) == set(PLUGIN_PARTS) else [1])
    for refusal in found:
        kept = refusal.sentence.partition("only: ")[2].split(", ")
        assert set(kept) == set(LOADS[kind])
        assert refusals([plugin(shelf, FILES, only=tuple(kept))], around(kind)) == ()


@pytest.mark.conforms("112")
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "server",
    [
        {"command": "${TOOL}"},
        {"command": "a", "args": ["--key=${TOOL:-none}"]},
        {"command": "a", "env": {"K": "${TOOL}"}},
        {"type": "http", "url": "https://${TOOL}/mcp"},
        {"type": "http", "url": "https://example.com", "headers": {"A": "Bearer ${TOOL}"}},
    ],
)
def test_a_server_that_reads_a_host_variable_is_refused_where_it_would_be_expanded(shelf, kind, server):
    found = refusals([with_servers(shelf, {"docs": server})], around(kind))

    assert rules(found) == ([2] if kind in {"antigravity", "claude-code", "codex", "grok-build"} else [])
    for refusal in found:
        assert refusal.sentence == (
            'the plugin "lint" has the MCP server "lint:docs", which reads the host variable TOOL; '
            f"on {kind} a plugin's server cannot, but one of the environment's `mcp` can; it has nothing else"
        )


@pytest.mark.conforms("106", "112")
@pytest.mark.parametrize(
    ("kind", "part", "content"),
    [
        ("claude-code", "mcp", {"a": {"command": "${B}${A}"}, "b": {"url": "https://x/${C}"}}),
        ("codex", "mcp", {"a": {"command": "a", "args": ["${A}"]}}),
        ("cursor", "hooks", {"Setup": [{"hooks": [{"type": "http"}]}]}),
        ("antigravity", "hooks", {"SessionEnd": [{"hooks": [{"command": "true"}]}]}),
    ],
)
def test_what_is_advised_to_keep_besides_servers_or_hooks_passes(shelf, kind, part, content):
    files = FILES | {".mcp.json" if part == "mcp" else "hooks/hooks.json": json.dumps(content)}

    found = refusals([plugin(shelf, files, only=LOADS[kind])], around(kind))

    assert found != ()
    for refusal in found:
        kept = refusal.sentence.partition("only: ")[2].split(", ")
        assert set(kept) == set(LOADS[kind]) - {part}
        assert refusals([plugin(shelf, files, only=tuple(kept))], around(kind)) == ()


def test_the_host_variables_of_a_server_are_one_refusal(shelf):
    (found,) = refusals([with_servers(shelf, {"a": {"command": "${B}", "args": ["${A}"]}})], around("codex"))

    assert "which reads the host variables A, B; on codex" in found.sentence


@pytest.mark.conforms("112")
def test_only_braced_variables_of_the_host_count():
    texts = ("$TOOL", "${CLAUDE_PLUGIN_ROOT}", "${CLAUDE_PLUGIN_DATA}", "${CLAUDE_PROJECT_DIR}", "${user.name}", "${}")

    assert host_variables(StdioServer(command="a", args=texts)) == ()
    assert host_variables(RemoteServer(transport="http", url="${B}/${A}/${B:-x}")) == ("A", "B")


@pytest.mark.parametrize("kind", KINDS)
def test_a_server_s_name_is_taken_once_where_plugins_are_not_told_apart(shelf, kind):
    plugins = [with_servers(shelf, {"docs": {"command": "a"}, "own": {"command": "a"}}, name) for name in ("x", "y")]

    found = refusals(plugins, around(kind, servers={"docs": StdioServer(command="b")}))

    if kind not in {"codex", "grok-build", "pi"}:
        assert found == ()
        return
    assert [refusal.sentence for refusal in found] == [
        f'the plugin "x" has the MCP server "docs", and so has the environment; {kind} takes one of a name',
        f'the plugin "y" has the MCP server "docs", and so has the environment; {kind} takes one of a name',
        f'the plugin "y" has the MCP server "own", and so has the plugin "x"; {kind} takes one of a name',
    ]
    assert rules(found) == [3, 3, 3]


@pytest.mark.parametrize(
    ("kind", "event", "is_refused"),
    [
        ("claude-code", "TeammateIdle", False),
        ("claude-code", "PreInvocation", True),
        ("cursor", "PreToolUse", False),
        ("cursor", "Notification", True),
        ("antigravity", "PreInvocation", False),
        ("antigravity", "SessionEnd", True),
        ("grok-build", "StopCancelled", False),
        ("grok-build", "Setup", True),
        ("fake", "Anything", False),
    ],
)
def test_a_hook_event_that_the_harness_does_not_run_is_refused(shelf, kind, event, is_refused):
    found = refusals([with_hooks(shelf, {event: [{"hooks": [{"command": "true"}]}]})], around(kind))

    assert rules(found) == ([4] if is_refused else [])
    for refusal in found:
        assert refusal.sentence == (
            f'the plugin "lint" has hooks for {event}, which {kind} does not run; it has nothing else'
        )


@pytest.mark.parametrize(
    ("kind", "hook_type", "is_refused"),
    [
        ("claude-code", "mcp_tool", False),
        ("claude-code", "wasm", True),
        ("cursor", "prompt", False),
        ("cursor", "http", True),
        ("antigravity", "prompt", False),
        ("antigravity", "agent", True),
        ("grok-build", "http", False),
        ("grok-build", "prompt", True),
        ("fake", "wasm", False),
    ],
)
def test_a_hook_type_that_the_harness_does_not_run_is_refused(shelf, kind, hook_type, is_refused):
    found = refusals([with_hooks(shelf, {"Stop": [{"hooks": [{"type": hook_type}]}]})], around(kind))

    assert rules(found) == ([4] if is_refused else [])
    for refusal in found:
        assert refusal.sentence == (
            f'the plugin "lint" has hooks of the type {hook_type}, which {kind} does not run; it has nothing else'
        )


@pytest.mark.parametrize("kind", KINDS)
def test_apps_and_foreign_manifests_are_refused_where_they_would_be_read(shelf, kind):
    files = {".codex-plugin/plugin.json": "{}", "plugin.json": "{}", ".app.json": "{}", "skills/a/SKILL.md": skill()}

    found = refusals([plugin(shelf, files)], around(kind))

    assert rules(found) == {"codex": [5, 6], "antigravity": [6]}.get(kind, [])
    for refusal in found:
        assert kind in refusal.sentence
        assert refusal.sentence.endswith("; its skills can be given in `skills`") is (refusal.rule == 6)


@pytest.mark.parametrize("kind", KINDS)
def test_two_items_of_one_name_clash_on_cursor(shelf, kind):
    one = plugin(shelf, {"commands/go.md": "", "skills/a/SKILL.md": skill()}, "one", only=("commands", "skills"))
    two = plugin(shelf, {"commands/go.md": "", "skills/go/SKILL.md": skill()}, "two", only=("commands", "skills"))

    found = [refusal for refusal in refusals([one, two], around(kind)) if refusal.rule == 7]

    assert [refusal.sentence for refusal in found] == (
        ['the plugin "two" has "go" among its commands, and so has the plugin "one"; cursor takes one of a name']
        if kind == "cursor"
        else []
    )


@pytest.mark.conforms("110")
@pytest.mark.parametrize("kind", KINDS)
def test_a_build_is_refused_on_the_fake_sandbox(shelf, kind):
    built = plugin(shelf, {"skills/a/SKILL.md": skill()}, build=PluginBuild(run=("make",)))

    assert rules(refusals([built], around(kind, sandbox="fake"))) == [10]
    assert kind in refusals([built], around(kind, sandbox="fake"))[0].sentence
    assert refusals([built], around(kind)) == ()
    assert refusals([attrs.evolve(built, is_built=False)], around(kind, sandbox="fake")) == ()


@pytest.mark.conforms("111")
@pytest.mark.parametrize(
    ("egress", "allowed"),
    [
        ("deny-all", set()),
        (AllowHosts(("code.example",)), set()),
        (AllowHosts(("npm.example",)), {"npx"}),
        (AllowHosts(("pypi.example",)), set()),
        (AllowHosts(("npm.example", "pypi.example", "files.example")), {"npx", "uvx"}),
        ("proxy", {"npx", "uvx"}),
        (None, {"npx", "uvx"}),
    ],
)
@pytest.mark.parametrize("runner", ["npx", "uvx"])
def test_a_server_or_hook_that_fetches_a_package_needs_its_registry(shelf, runner, egress, allowed):
    server = with_servers(shelf, {"docs": {"command": runner, "args": ["x"]}})
    hook = with_hooks(shelf, {"Stop": [{"hooks": [{"command": f"cd / && {runner} x"}]}]})

    for one, what in ((server, 'MCP server "lint:docs"'), (hook, "hook for Stop")):
        found = refusals([one], around("cursor", egress=egress))

        assert rules(found) == ([] if runner in allowed else [11])
        for refusal in found:
            assert refusal.sentence.startswith(f'the plugin "lint" has the {what}, which runs {runner} on cursor; ')


def test_a_registry_that_is_an_automatic_host_is_allowed(shelf):
    one = with_servers(shelf, {"docs": {"command": "npx"}})

    assert refusals([one], around("cursor", egress="deny-all", automatic_hosts=("npm.example",))) == ()


def test_every_reason_is_given_plugin_by_plugin(shelf):
    files = FILES | {
        ".codex-plugin/plugin.json": '{"apps": 1}',
        ".mcp.json": json.dumps({"docs": {"command": "npx", "args": ["${KEY}"]}}),
    }
    plugins = [plugin(shelf, files, name, build=PluginBuild(run=("x",))) for name in ("z", "a")]

    found = refusals(plugins, around("codex", sandbox="fake", egress="deny-all"))

    assert [(refusal.plugin, refusal.rule) for refusal in found] == [
        *(("z", rule) for rule in (1, 2, 5, 6, 10, 11)),
        *(("a", rule) for rule in (1, 2, 3, 5, 6, 10, 11)),
    ]
    assert all("codex" in refusal.sentence and refusal.plugin in refusal.sentence for refusal in found)


def test_no_plugins_have_no_refusals():
    assert refusals([], around("codex")) == ()
