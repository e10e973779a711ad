from __future__ import annotations

import json

import attrs
import pytest

from reeval_build.content.hooks import Hook
from reeval_build.content.plugins import find_plugin, plugin_root
from reeval_build.content.problems import ContentError
from reeval_build.model.mcp import RemoteServer, StdioServer
from reeval_build.model.plugins import GitPlugin, LocalPlugin, NpmPlugin, PluginBuild, PluginPart
from tests.support.memory_store import MemoryFacts
from tests.unit.content.shelf import skill

LOCAL = LocalPlugin(path="/home/me/review")
MANIFEST = ".claude-plugin/plugin.json"
FULL = {
    MANIFEST: '{"name": "review"}',
    "skills/style/SKILL.md": skill("House Style"),
    "skills/style/notes.md": "n",
    "agents/critic.md": "a",
    "commands/check.md": "c",
    "commands/git/push.md": "p",
    "hooks/hooks.json": json.dumps({"Stop": [{"hooks": [{"type": "command", "command": "stop.sh"}]}]}),
    "hooks/stop.sh": "#!/bin/sh",
    ".mcp.json": json.dumps({"mcpServers": {"docs": {"command": "${CLAUDE_PLUGIN_ROOT}/server"}}}),
    "rules/tabs.mdc": "r",
    "server": "#!/bin/sh",
}
EVERY_PART = ("skills", "agents", "commands", "hooks", "mcp", "rules")


def found(shelf, files, source=LOCAL, **options):
    return find_plugin(source, shelf.tree(files), shelf.material, home="/root", **options)


def refusal(shelf, files, source=LOCAL) -> ContentError:
    with pytest.raises(ContentError) as caught:
        found(shelf, files, source)
    return caught.value


def manifest(**fields):
    return {MANIFEST: json.dumps({"name": "review"} | fields)}


def test_a_plugin_has_the_parts_there_is_something_of(shelf):
    plugin = found(shelf, FULL)

    assert (plugin.name, plugin.parts, plugin.warnings) == ("review", EVERY_PART, ())
    assert sorted((item.part, item.name) for item in plugin.items) == [
        ("agents", "critic"),
        ("commands", "check"),
        ("commands", "git:push"),
        ("rules", "tabs"),
        ("skills", "style"),
    ]
    assert plugin.hooks == (Hook(event="Stop", type="command", command="stop.sh"),)


@pytest.mark.parametrize(
    "files",
    [
        {},
        {"skills/": ""},
        {"skills/README.md": ""},
        {"skills/a/b/SKILL.md": skill()},
        {"agents/notes.txt": "", "commands/x.sh": "", "rules/a.json": ""},
        {"hooks/hooks.json": "{}", ".mcp.json": "{}"},
        {"skills": "a file", "agents": "link to x"},
    ],
)
def test_a_plugin_may_have_no_part_but_then_a_warning_says_so(shelf, files):
    plugin = found(shelf, manifest(lspServers={"go": {"command": "gopls"}}) | files)

    assert plugin.parts == ()
    assert plugin.warnings == (
        'plugin.local("/home/me/review") has none of skills, agents, commands, hooks, mcp, rules, so it may do nothing',
    )


@pytest.mark.conforms("102")
def test_without_only_the_whole_plugin_is_kept_but_git(shelf):
    plugin = found(shelf, FULL | {".git/config": "", "sub/.git": "x"})

    assert shelf.files(plugin.tree) == shelf.files(shelf.tree(FULL))


@pytest.mark.conforms("102", "106")
@pytest.mark.parametrize(
    ("part", "paths"),
    [
        ("skills", ["skills/style/SKILL.md", "skills/style/notes.md"]),
        ("agents", ["agents/critic.md"]),
        ("commands", ["commands/check.md", "commands/git/push.md"]),
        ("hooks", ["hooks/hooks.json"]),
        ("mcp", [".mcp.json"]),
        ("rules", ["rules/tabs.mdc"]),
    ],
)
def test_only_keeps_one_part_and_what_belongs_to_none(shelf, part, paths):
    plugin = found(shelf, FULL, LocalPlugin(path="/p", only=(part,)))

    assert plugin.parts == (part,)
    assert shelf.paths(plugin.tree) == sorted([MANIFEST, "server", "hooks/stop.sh", *paths])
    assert {item.part for item in plugin.items} <= {part}
    assert bool(plugin.hooks) is (part == "hooks")
    assert bool(plugin.servers) is (part == "mcp")


@pytest.mark.conforms("107")
def test_only_with_a_part_that_is_not_there_says_which_parts_are(shelf):
    error = refusal(
        shelf, manifest() | {"agents/a.md": ""}, GitPlugin(repo="r", url="u", only=("agents", "mcp", "hooks"))
    )

    assert str(error) == (
        'plugin.git("r") keeps only agents, hooks, mcp, but the plugin "review" has no hooks, mcp; it has: agents'
    )


def test_what_only_drops_leaves_the_manifest_too(shelf):
    inline = {"Stop": [{"hooks": [{"command": "x"}]}]}
    files = manifest(version="1", hooks=inline, mcpServers={"a": {"command": "b"}}, skills=["./extra"]) | {
        "extra/one/SKILL.md": skill(),
        "agents/a.md": "",
    }

    plugin = found(shelf, files, LocalPlugin(path="/p", only=("mcp", "agents")))

    assert shelf.paths(plugin.tree) == [MANIFEST, "agents/a.md"]
    assert json.loads(shelf.files(plugin.tree)[MANIFEST]) == {
        "name": "review",
        "version": "1",
        "mcpServers": {"a": {"command": "b"}},
    }


def test_a_manifest_that_names_nothing_dropped_stays_byte_for_byte(shelf):
    text = '{"name":"review" , "mcpServers":{}}'

    plugin = found(
        shelf, {MANIFEST: text, "agents/a.md": "", "rules/b.md": ""}, LocalPlugin(path="/p", only=("agents",))
    )
    kept = found(shelf, {MANIFEST: text, "agents/a.md": ""})

    assert json.loads(shelf.files(plugin.tree)[MANIFEST]) == {"name": "review"}
    assert shelf.files(kept.tree)[MANIFEST] == text.encode()


def test_what_a_kept_part_needs_is_not_dropped_with_another(shelf):
    files = manifest(skills="./commands/deep", hooks="./agents/hooks.json") | {
        "commands/a.md": "",
        "commands/deep/one/SKILL.md": skill(),
        "commands/deep/one/more.md": "",
        "agents/x.md": "",
        "agents/hooks.json": '{"Stop": [{"hooks": [{"command": "x"}]}]}',
    }

    plugin = found(shelf, files, LocalPlugin(path="/p", only=("skills", "hooks")))

    paths = shelf.paths(plugin.tree)
    assert "commands/deep/one/SKILL.md" in paths
    assert "agents/hooks.json" in paths
    assert "commands/a.md" not in paths
    assert "agents/x.md" not in paths


def test_the_paths_of_a_manifest_are_added_to_the_default_ones(shelf):
    fields = {
        "skills": ["./more", "./one"],
        "agents": ["./x/critic.md", "./y"],
        "commands": "./z/",
        "hooks": ["./h.json", {"Setup": [{"hooks": [{"command": "s"}]}]}, "./hooks/hooks.json"],
        "mcpServers": ["./m.json", {"b": {"command": "b"}}],
    }
    files = {
        "more/two/SKILL.md": skill(),
        "one/SKILL.md": skill(),
        "skills/zero/SKILL.md": skill(),
        "x/critic.md": "",
        "y/judge.md": "",
        "agents/base.md": "",
        "z/run.md": "",
        "h.json": '{"hooks": {"Stop": [{"hooks": [{"command": "h"}]}]}}',
        "hooks/hooks.json": '{"SessionEnd": [{"hooks": [{"command": "e"}]}]}',
        "m.json": '{"a": {"command": "a"}}',
        ".mcp.json": '{"c": {"command": "c"}}',
    }

    plugin = found(shelf, manifest(**fields) | files)

    assert [item.name for item in plugin.items] == ["zero", "two", "one", "base", "critic", "judge", "run"]
    assert [hook.event for hook in plugin.hooks] == ["SessionEnd", "Stop", "Setup"]
    assert sorted(plugin.servers) == ["review:a", "review:b", "review:c"]


def test_commands_may_be_a_map(shelf):
    commands = {"about": {"source": "./docs/about.md"}, "hi": {"content": "Say hi."}}

    plugin = found(shelf, manifest(commands=commands) | {"docs/about.md": ""})

    assert [(item.name, item.path) for item in plugin.items] == [("about", (b"docs", b"about.md")), ("hi", None)]


def test_a_plugin_whose_root_is_a_skill_may_say_so(shelf):
    plugin = found(shelf, manifest(skills="./") | {"SKILL.md": skill()})

    assert [item.name for item in plugin.items] == ["review"]


@pytest.mark.conforms("108")
@pytest.mark.parametrize("files", [{}, {"plugin.json": '{"name": "a"}'}, {".claude-plugin/other.json": "{}"}])
def test_a_plugin_without_a_manifest_is_refused_with_the_path(shelf, files):
    error = refusal(shelf, files)

    assert str(error) == f'"{MANIFEST}" in plugin.local("/home/me/review") is not there, and a plugin needs it'


PLUGINS_BELOW = {f"plugins/{name}/{MANIFEST}": "" for name in ("b", "a")} | {"p/x": ""}
MARKETPLACE_ALONE = {".claude-plugin/marketplace.json": "", "p/skills": "a file"}


@pytest.mark.parametrize(
    ("files", "path", "hint"),
    [
        ({"p/skills/a/SKILL.md": ""}, "p", "its skills can be given in `skills`"),
        ({"p/skills/a/SKILL.md": ""}, None, None),
        (PLUGINS_BELOW, None, "it has plugins in: plugins/a, plugins/b; name one as `path`"),
        (PLUGINS_BELOW, "p", "it has plugins in: plugins/a, plugins/b; name one as `path`"),
        (PLUGINS_BELOW, "nowhere", "it has plugins in: plugins/a, plugins/b; name one as `path`"),
        (MARKETPLACE_ALONE, None, "it is a marketplace, whose entries plugin.marketplace takes"),
        (MARKETPLACE_ALONE, "p", "it is a marketplace, whose entries plugin.marketplace takes"),
        (PLUGINS_BELOW | {f"p/{MANIFEST}": "{"}, "p", None),
    ],
)
def test_where_a_plugin_is_not_it_is_said_what_there_is(shelf, files, path, hint):
    assert refusal(shelf, files, GitPlugin(repo="r", url="u", path=path)).hint == hint


@pytest.mark.parametrize("path", ["plugins/review", "./plugins/review/"])
@pytest.mark.parametrize("kind", ["git", "npm"])
def test_a_plugin_is_read_at_its_path(shelf, kind, path):
    source = GitPlugin(repo="r", url="u", path=path) if kind == "git" else NpmPlugin(spec="r", path=path)
    files = {f"plugins/review/{name}": text for name, text in FULL.items()}

    plugin = found(shelf, files | {MANIFEST: "not this"}, source)

    assert plugin.source == f'plugin.{kind}("r")'
    assert shelf.files(plugin.tree) == shelf.files(shelf.tree(FULL))
    assert refusal(shelf, {"a": ""}, source).path == "plugins/review"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "is not JSON"),
        ("[]", "must be a JSON object, not a list"),
        ("{}", "has no name"),
        ('{"name": 1}', "has a number as its name"),
        ('{"name": ""}', 'has the name ""'),
        ('{"name": "../up"}', 'has the name "../up", which is not'),
        ('{"name": "a b"}', 'has the name "a b", which is not'),
        ('{"name": "a:b"}', 'has the name "a:b", which is not'),
        ('{"name": ".."}', 'has the name "..", which is not'),
        ('{"name": "a", "name": "b"}', 'has the key "name" twice'),
        ('{"name": "a", "skills": {}}', "has in `skills` an object where a path is needed"),
        ('{"name": "a", "skills": [1]}', "has in `skills` a number where a path is needed"),
        ('{"name": "a", "skills": "skills"}', 'has in `skills` the path "skills", which does not start with "./"'),
        ('{"name": "a", "skills": "./../x"}', "has in `skills` the path"),
        ('{"name": "a", "skills": ".//etc"}', "which is absolute"),
        ('{"name": "a", "skills": "./a\\\\b"}', "has a backslash"),
        ('{"name": "a", "skills": "./none"}', 'names in `skills` the path "./none", which is not there'),
        ('{"name": "a", "skills": "./file"}', 'names in `skills` the path "./file", which is no directory'),
        ('{"name": "a", "skills": "./link"}', "which is a symbolic link and is not followed"),
        ('{"name": "a", "agents": "./none.md"}', "names in `agents`"),
        ('{"name": "a", "hooks": "./none.json"}', "names in `hooks`"),
        ('{"name": "a", "hooks": 1}', "must have hooks as an object, not as a number"),
        ('{"name": "a", "hooks": "./"}', "is a directory, not a file"),
        ('{"name": "a", "mcpServers": 1}', "must have MCP servers as an object, not as a number"),
        ('{"name": "a", "mcpServers": "./x.mcpb"}', "which is not there"),
        ('{"name": "a", "commands": {"b": 1}}', 'has in `commands` a number for "b"'),
        ('{"name": "a", "commands": {"b": {}}}', 'has in `commands` neither source nor content for "b"'),
        ('{"name": "a", "commands": {"b": {"source": "./sub"}}}', 'names in `commands` the path "./sub", which is no'),
    ],
)
def test_a_malformed_manifest_is_refused_with_the_field(shelf, text, reason):
    error = refusal(shelf, {MANIFEST: text, "file": "", "link": "link to sub", "sub/x": ""})

    assert reason in str(error)
    assert str(error).isprintable()


@pytest.mark.parametrize("path", [".mcp.json", "hooks/hooks.json"])
@pytest.mark.parametrize(
    ("text", "reason"), [("{", "is not JSON"), ("[]", "not as a list"), ("\ufeff{}x", "is not JSON")]
)
def test_malformed_hooks_and_servers_are_refused_with_their_file(shelf, path, text, reason):
    error = refusal(shelf, manifest() | {path: text})

    assert error.path == path
    assert reason in error.reason


@pytest.mark.parametrize("path", [".mcp.json", "hooks/hooks.json"])
def test_a_malformed_file_is_named_by_its_path_in_the_source(shelf, path):
    files = {f"plugins/review/{name}": text for name, text in (manifest() | {path: "{"}).items()}

    error = refusal(shelf, files, GitPlugin(repo="r", url="u", path="plugins/review"))

    assert error.path == f"plugins/review/{path}"


@pytest.mark.conforms("106")
@pytest.mark.parametrize(
    ("part", "files"),
    [
        ("skills", manifest(skills="./gone")),
        ("agents", manifest(agents=["./plugins/*/agents"])),
        ("commands", manifest(commands="commands")),
        ("hooks", manifest() | {"hooks/hooks.json": '{"hooks": []}'}),
        ("hooks", manifest(hooks=["./gone.json", "./more.json"]) | {"more.json": "{}"}),
        ("mcp", manifest() | {".mcp.json": '{"db": {"type": "ws", "url": "wss://example.com"}}'}),
        ("mcp", manifest(mcpServers=3)),
    ],
)
def test_what_is_wrong_with_a_part_that_only_leaves_out_is_no_error(shelf, part, files):
    files = files | {"skills/a/SKILL.md": skill(), "agents/a.md": "", "lib": ""}
    kept: PluginPart = "agents" if part == "skills" else "skills"

    error = refusal(shelf, files)
    plugin = found(shelf, files, LocalPlugin(path="/p", only=(kept,)))

    assert "keep what can be read of it with only: " in (error.hint or "")
    assert plugin.parts == (kept,)
    assert shelf.paths(plugin.tree) == sorted(
        [MANIFEST, "lib", "agents/a.md" if part == "skills" else "skills/a/SKILL.md"]
    )
    assert json.loads(shelf.files(plugin.tree)[MANIFEST]) == {"name": "review"}
    assert refusal(shelf, files, LocalPlugin(path="/p", only=(part,))).hint is None


def test_a_link_out_of_the_plugin_is_refused_with_its_path(shelf):
    files = {f"p/{path}": text for path, text in manifest().items()} | {"p/docs/up": "link to ../../secret"}

    error = refusal(shelf, files, GitPlugin(repo="r", url="u", path="p"))

    assert error.path == "p/docs/up"
    assert "is a symbolic link out of its tree" in error.reason


@pytest.mark.conforms("103", "104")
def test_servers_are_named_after_the_plugin_and_have_its_directory(shelf):
    servers = {
        "run": {
            "command": "${CLAUDE_PLUGIN_ROOT}/bin",
            "args": ["-c", "${CLAUDE_PLUGIN_ROOT}/a:${CLAUDE_PLUGIN_ROOT}/b", "$CLAUDE_PLUGIN_ROOT"],
            "env": {"HOME_OF": "${CLAUDE_PLUGIN_ROOT:-/x}"},
        },
        "net": {
            "type": "http",
            "url": "http://localhost/${CLAUDE_PLUGIN_ROOT}",
            "headers": {"X-Root": "${CLAUDE_PLUGIN_ROOT}"},
        },
        "old": {"type": "sse", "url": "https://example.com/sse"},
        "bare": {"url": "https://example.com/mcp"},
    }

    plugin = found(shelf, manifest(mcpServers=servers))

    root = "/root/.reeval/plugins/review"
    assert plugin_root("review", "/root/") == root
    assert plugin.servers == {
        "review:run": StdioServer(
            command=f"{root}/bin", args=("-c", f"{root}/a:{root}/b", "$CLAUDE_PLUGIN_ROOT"), env={"HOME_OF": root}
        ),
        "review:net": RemoteServer(transport="http", url=f"http://localhost/{root}", headers={"X-Root": root}),
        "review:old": RemoteServer(transport="sse", url="https://example.com/sse"),
        "review:bare": RemoteServer(transport="http", url="https://example.com/mcp"),
    }


@pytest.mark.parametrize("text", ['{"mcpServers": {"a": {"command": "b"}}}', '{"a": {"command": "b"}}'])
def test_servers_are_a_map_which_may_stand_below_mcp_servers(shelf, text):
    assert found(shelf, manifest() | {".mcp.json": text}).servers == {"review:a": StdioServer(command="b")}


def test_what_of_a_server_is_not_passed_on_is_a_warning(shelf):
    files = manifest(mcpServers={"a": {"command": "b", "cwd": "/x", "timeout": 1}})

    (warning,) = found(shelf, files).warnings

    assert warning == (
        f'"{MANIFEST}" in plugin.local("/home/me/review") has the MCP server "a" '
        "with keys that are not passed on: cwd, timeout"
    )


def test_a_server_whose_url_its_user_is_to_fill_in_is_left_out_with_a_warning(shelf):
    servers = {"calendar": {"type": "http", "url": ""}, "docs": {"type": "http", "url": "https://example.com/mcp"}}

    plugin = found(shelf, manifest() | {".mcp.json": json.dumps({"mcpServers": servers})})

    assert list(plugin.servers) == ["review:docs"]
    (warning,) = plugin.warnings
    assert warning == (
        '".mcp.json" in plugin.local("/home/me/review") has the MCP server "calendar" '
        "with no url yet, and it is left out"
    )


@pytest.mark.parametrize(
    ("server", "reason"),
    [
        (1, "a number where its command or url is needed"),
        ({}, "no command"),
        ({"command": ""}, "no command"),
        ({"command": ["a"]}, "no command"),
        ({"command": "a", "args": "b"}, "text as its args"),
        ({"command": "a", "args": [1]}, "a number in its args, where text is needed"),
        ({"command": "a", "env": []}, "a list as its env"),
        ({"command": "a", "env": {"A": 1}}, "a number in its env, where text is needed"),
        ({"type": "ws", "url": "wss://example.com"}, 'the type "ws", which no harness is given'),
        ({"type": 1}, "a number as its type"),
        ({"type": "http"}, "no url"),
        ({"url": "docs"}, 'the url "docs", which is not a URL'),
        ({"url": "file:///etc/passwd"}, 'the url "file:///etc/passwd", which is not a URL'),
        ({"url": "https://[/"}, 'the url "https://[/", which is not a URL'),
        ({"url": "https://example.com", "headers": {"A": None}}, "null in its headers, where text is needed"),
    ],
)
def test_a_malformed_server_is_refused_with_its_name(shelf, server, reason):
    error = refusal(shelf, manifest() | {".mcp.json": json.dumps({"a": server})})

    assert str(error) == f'".mcp.json" in plugin.local("/home/me/review") has the MCP server "a" with {reason}'


def test_a_url_with_a_variable_as_its_host_is_left_to_the_plan(shelf):
    plugin = found(shelf, manifest(mcpServers={"a": {"url": "${BASE_URL}/mcp"}}))

    assert plugin.servers["review:a"] == RemoteServer(transport="http", url="${BASE_URL}/mcp")


@pytest.mark.parametrize(
    ("files", "manifests", "has_apps"),
    [
        ({}, (), False),
        ({".codex-plugin/plugin.json": "{}"}, (".codex-plugin/plugin.json",), False),
        ({".codex-plugin/plugin.json": '{"apps": "./.app.json"}'}, (".codex-plugin/plugin.json",), True),
        ({"plugin.json": "{}"}, ("plugin.json",), False),
        ({".app.json": "{}"}, (), True),
    ],
)
def test_what_other_harnesses_read_in_place_of_the_manifest_is_noted(shelf, files, manifests, has_apps):
    plugin = found(shelf, manifest() | files)

    assert (plugin.other_manifests, plugin.has_apps) == (manifests, has_apps)


def test_a_plugin_with_a_build_is_noted(shelf):
    assert found(shelf, FULL, LocalPlugin(path="/p", build=PluginBuild(run=("make",)))).is_built
    assert not found(shelf, FULL).is_built


@pytest.mark.parametrize("path", [MANIFEST, ".mcp.json", "hooks/hooks.json"])
def test_a_link_in_place_of_a_file_of_the_plugin_is_not_followed(shelf, path):
    error = refusal(shelf, manifest() | {"real.json": "{}"} | {path: "link to ../real.json"})

    assert error.path == path
    assert error.reason == "is a symbolic link, which is not followed"


def test_a_tree_of_any_depth_is_read(shelf):
    deep = "/".join(["d"] * 2000)

    plugin = found(
        shelf, manifest() | {f"rules/{deep}/x.md": "", "agents/a.md": ""}, LocalPlugin(path="/p", only=("rules",))
    )

    assert shelf.paths(plugin.tree) == [MANIFEST, f"rules/{deep}/x.md"]


def test_of_a_plugin_that_was_looked_at_only_what_it_says_is_read(shelf):
    files = FULL | {f"lib/{one}/{other}/x": f"{one} {other}" for one in range(5) for other in range(5)}
    tree = shelf.tree(files | {"lib/1/.git/config": "c"})
    remembering = attrs.evolve(shelf.material, facts=MemoryFacts())

    def reads(tree):
        before = len(shelf.loaded)
        plugin = find_plugin(LOCAL, tree, remembering, home="/root")
        return len(shelf.loaded) - before, plugin

    clean = shelf.tree(files)
    first, found_first = reads(clean)
    again, found_again = reads(clean)
    _, with_git = reads(tree)

    assert first - again > 5 + 25
    assert found_again == found_first == with_git
