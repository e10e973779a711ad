from __future__ import annotations

import json
import tomllib
from typing import TYPE_CHECKING, Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from reeval_build.content.mcp_files import mcp_files
from reeval_build.content.mcp_secrets import McpConfigurationError
from reeval_build.content.written import toml_tables, yaml_tables
from reeval_build.errors import PlanError
from reeval_build.model.mcp import RemoteServer, StdioServer
from reeval_build.model.secrets import Secret, SecretTemplate
from tests.unit.content.shelf import harness

if TYPE_CHECKING:
    from collections.abc import Callable

    from reeval_build.model.mcp import McpServer

PATHS = {
    "antigravity": "~/.gemini/config/mcp_config.json",
    "claude-code": "~/.claude.json",
    "codex": "~/.codex/config.toml",
    "cursor": "~/.cursor/mcp.json",
    "goose": "~/.config/goose/config.yaml",
    "grok-build": "~/.grok/config.toml",
    "opencode": "~/.config/opencode/opencode.json",
    "pi": "~/.pi/agent/mcp.json",
}
READERS: dict[str, Callable[[str], Any]] = {"json": json.loads, "toml": tomllib.loads, "yaml": yaml.safe_load}
SERVERS: dict[str, McpServer] = {
    "review:run": StdioServer(command="node", args=("a.js", "--x"), env={"B": "2", "A": "1"}),
    "docs": RemoteServer(transport="http", url="https://example.com/mcp", headers={"X-Team": "é"}),
}


def written(kind, servers, **options):
    """What the one file says, and the variables it refers to."""
    result = mcp_files(servers, harness(kind), **options)
    ((destination, data),) = result.files.items()
    assert destination.text == PATHS[kind]
    return READERS[PATHS[kind].rpartition(".")[2]](data.decode()), result.variables


EXPECTED = {
    "claude-code": {
        "mcpServers": {
            "docs": {"type": "http", "url": "https://example.com/mcp", "headers": {"X-Team": "é"}},
            "review:run": {"type": "stdio", "command": "node", "args": ["a.js", "--x"], "env": {"A": "1", "B": "2"}},
        }
    },
    "cursor": {
        "mcpServers": {
            "docs": {"url": "https://example.com/mcp", "headers": {"X-Team": "é"}},
            "review:run": {"command": "node", "args": ["a.js", "--x"], "env": {"A": "1", "B": "2"}},
        }
    },
    "pi": {
        "mcpServers": {
            "docs": {"url": "https://example.com/mcp", "headers": {"X-Team": "é"}},
            "run": {"command": "node", "args": ["a.js", "--x"], "env": {"A": "1", "B": "2"}},
        }
    },
    "antigravity": {
        "mcpServers": {
            "docs": {"serverUrl": "https://example.com/mcp", "headers": {"X-Team": "é"}},
            "review:run": {"command": "node", "args": ["a.js", "--x"], "env": {"A": "1", "B": "2"}},
        }
    },
    "opencode": {
        "$schema": "https://opencode.ai/config.json",
        "mcp": {
            "docs": {
                "type": "remote",
                "url": "https://example.com/mcp",
                "headers": {"X-Team": "é"},
                "enabled": True,
            },
            "review:run": {
                "type": "local",
                "command": ["node", "a.js", "--x"],
                "enabled": True,
                "environment": {"A": "1", "B": "2"},
            },
        },
    },
    "codex": {
        "mcp_servers": {
            "docs": {"url": "https://example.com/mcp", "http_headers": {"X-Team": "é"}},
            "run": {"command": "node", "args": ["a.js", "--x"], "env": {"A": "1", "B": "2"}},
        }
    },
    "grok-build": {
        "mcp_servers": {
            "docs": {"url": "https://example.com/mcp", "headers": {"X-Team": "é"}},
            "run": {"command": "node", "args": ["a.js", "--x"], "env": {"A": "1", "B": "2"}},
        }
    },
    "goose": {
        "extensions": {
            "docs": {
                "name": "docs",
                "enabled": True,
                "timeout": 300,
                "type": "streamable_http",
                "uri": "https://example.com/mcp",
                "headers": {"X-Team": "é"},
                "envs": {},
                "env_keys": [],
            },
            "review:run": {
                "name": "review:run",
                "enabled": True,
                "timeout": 300,
                "type": "stdio",
                "cmd": "node",
                "args": ["a.js", "--x"],
                "envs": {"A": "1", "B": "2"},
                "env_keys": [],
            },
        }
    },
}


@pytest.mark.parametrize("kind", PATHS)
def test_servers_are_written_in_the_harness_s_own_form(kind):
    assert written(kind, SERVERS) == (EXPECTED[kind], ())


@pytest.mark.parametrize("kind", PATHS)
def test_the_order_of_servers_does_not_matter(kind):
    reverse = dict(reversed(list(SERVERS.items())))

    assert mcp_files(reverse, harness(kind)) == mcp_files(SERVERS, harness(kind))


@pytest.mark.parametrize("kind", [*PATHS, "fx", "fake"])
def test_no_servers_are_no_files(kind):
    assert mcp_files({}, harness(kind)).files == {}


def test_the_fake_harness_reads_no_file():
    assert mcp_files(SERVERS, harness("fake")).files == {}


def test_a_harness_whose_files_are_not_documented_is_refused_in_the_plan():
    with pytest.raises(PlanError) as caught:
        mcp_files(SERVERS, harness("fx"))

    assert str(caught.value) == ("fx cannot be given MCP servers: the files it reads them from are not documented")


REMOTE = RemoteServer(
    transport="http",
    url="https://example.com/mcp",
    headers={"Authorization": SecretTemplate("Bearer ${TOKEN}"), "X-Key": Secret(name="KEY")},
)
LOCAL = StdioServer(command="a", env={"API_KEY": Secret()})
REFERENCES = {
    "claude-code": "${{{}}}",
    "cursor": "${{env:{}}}",
    "opencode": "{{env:{}}}",
    "grok-build": "${{{}}}",
    "pi": "${{{}}}",
}


@pytest.mark.parametrize(("kind", "form"), REFERENCES.items())
def test_secrets_are_references_to_variables_in_the_harness_s_own_form(kind, form):
    content, variables = written(kind, {"far": REMOTE, "near": LOCAL})

    servers = content.get("mcpServers") or content.get("mcp") or content["mcp_servers"]
    assert servers["far"]["headers"] == {
        "Authorization": f"Bearer {form.format('TOKEN')}",
        "X-Key": form.format("KEY"),
    }
    assert (servers["near"].get("env") or servers["near"]["environment"]) == {"API_KEY": form.format("API_KEY")}
    assert variables == ("API_KEY", "KEY", "TOKEN")


def test_codex_is_told_the_names_of_variables():
    content, variables = written("codex", {"far": REMOTE, "near": LOCAL})

    assert content["mcp_servers"] == {
        "far": {
            "url": "https://example.com/mcp",
            "bearer_token_env_var": "TOKEN",
            "env_http_headers": {"X-Key": "KEY"},
        },
        "near": {"command": "a", "args": [], "env_vars": ["API_KEY"]},
    }
    assert variables == ("API_KEY", "KEY", "TOKEN")


def test_goose_is_told_the_names_of_variables():
    content, variables = written("goose", {"far": REMOTE, "near": LOCAL})

    far, near = content["extensions"]["far"], content["extensions"]["near"]
    assert far["headers"] == {"Authorization": "Bearer ${TOKEN}", "X-Key": "${KEY}"}
    assert far["env_keys"] == ["KEY", "TOKEN"]
    assert (near["envs"], near["env_keys"]) == ({}, ["API_KEY"])
    assert variables == ("API_KEY", "KEY", "TOKEN")


@pytest.mark.conforms("118")
@pytest.mark.parametrize("kind", PATHS)
def test_a_server_over_sse_is_refused_where_it_is_not_supported(kind):
    servers = {"old": RemoteServer(transport="sse", url="https://example.com/sse")}

    if kind not in {"codex", "goose", "pi"}:
        assert written(kind, servers)
        return
    with pytest.raises(PlanError) as caught:
        mcp_files(servers, harness(kind))
    assert str(caught.value) == f'{kind} cannot be given the MCP server "old": it does not support SSE'


def test_sse_is_said_where_it_cannot_be_seen():
    servers = {"old": RemoteServer(transport="sse", url="https://example.com/x")}

    assert written("claude-code", servers)[0]["mcpServers"]["old"]["type"] == "sse"
    assert written("grok-build", servers)[0]["mcp_servers"]["old"]["type"] == "sse"


@pytest.mark.parametrize(
    ("kind", "servers", "reason"),
    [
        (
            "antigravity",
            {"a": REMOTE},
            "it has the secret TOKEN, and no way is documented in which its configuration refers to a variable",
        ),
        (
            "codex",
            {"a": StdioServer(command="x", env={"A": Secret(name="B")})},
            "it passes on variables under their own name only, and A has another's value",
        ),
        (
            "goose",
            {"a": StdioServer(command="x", env={"A": Secret(name="B")})},
            "it passes on variables under their own name only, and A has another's value",
        ),
        (
            "codex",
            {"a": RemoteServer(transport="http", url="u", headers={"X": SecretTemplate("k=${A}")})},
            'it takes no template in a header but "Bearer …", and X has',
        ),
        ("codex", {"a.b": LOCAL}, 'it takes names of letters, digits, "_" and "-" only'),
        ("pi", {"x:a": LOCAL, "a": LOCAL}, 'another server is named "a", too'),
    ],
)
def test_what_a_harness_cannot_be_told_is_refused_with_the_server(kind, servers, reason):
    with pytest.raises(McpConfigurationError) as caught:
        mcp_files(servers, harness(kind))

    assert (caught.value.harness, caught.value.reason) == (kind, reason)
    assert caught.value.server in servers


_texts = st.text(max_size=12)
_names = st.from_regex(r"[a-z]{1,3}", fullmatch=True)
_servers = st.dictionaries(
    _names,
    st.builds(
        StdioServer,
        command=st.text(min_size=1, max_size=8),
        args=st.lists(_texts, max_size=3).map(tuple),
        env=st.dictionaries(_names, _texts, max_size=2),
    )
    | st.builds(
        RemoteServer, transport=st.just("http"), url=_texts, headers=st.dictionaries(_texts, _texts, max_size=2)
    ),
    min_size=1,
    max_size=3,
)


@given(_servers, st.sampled_from(list(PATHS)))
def test_every_text_comes_back_as_it_was_written(servers, kind):
    content, _ = written(kind, servers)

    tables = content.get("mcpServers") or content.get("mcp") or content.get("mcp_servers") or content["extensions"]
    assert sorted(tables) == sorted(servers)
    for name, server in servers.items():
        table = tables[name]
        if isinstance(server, StdioServer):
            command = table.get("command", table.get("cmd"))
            line = command if isinstance(command, list) else [command, *table["args"]]
            env = table.get("env", table.get("environment", table.get("envs", {})))
            assert (line, env) == ([server.command, *server.args], dict(server.env))
        else:
            headers = table.get("headers", table.get("http_headers", {}))
            url = table.get("url", table.get("serverUrl", table.get("uri")))
            assert (url, headers) == (server.url, dict(server.headers))


_plain = (
    _texts
    | st.booleans()
    | st.integers(0, 9)
    | st.lists(_texts, max_size=2)
    | st.dictionaries(_texts, _texts, max_size=2)
)
_keys = st.from_regex(r"k[a-z]{0,2}", fullmatch=True)
_tables = st.dictionaries(_texts, st.dictionaries(_keys, _plain, min_size=1, max_size=2), min_size=1, max_size=2)


@given(_tables)
def test_toml_and_yaml_are_read_back_as_the_same_tables(tables):
    assert tomllib.loads(toml_tables("x", tables).decode()) == {"x": tables}
    assert yaml.safe_load(yaml_tables("x", tables)) == {"x": tables}
