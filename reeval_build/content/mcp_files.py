"""MCP servers in the files that each harness reads them from; docs/reference/harnesses.md says how those are known."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from reeval_build.content.mcp_file_set import McpFiles
from reeval_build.content.mcp_secrets import McpConfigurationError, SecretTexts, bearer_variable
from reeval_build.content.written import Plain, toml_tables, yaml_tables
from reeval_build.model.mcp import McpServer, RemoteServer, StdioServer
from reeval_build.model.secrets import Secret
from reeval_build.paths import parse_destination

if TYPE_CHECKING:
    from reeval_build.model.harness_facts import Harness

Servers: TypeAlias = Mapping[str, McpServer]
_BARE_NAME: Final = re.compile(r"[A-Za-z0-9_-]+")
_GOOSE_TIMEOUT_S: Final = 300


def mcp_files(servers: Servers, harness: Harness) -> McpFiles:
    """The files from which `harness` reads `servers`; none for no servers, and none for the fake harness.

    A secret is a reference to its host variable; brokered ones must be placeholders by now. Servers of plugins are
    named `<plugin>:<server>`; where a harness takes no colon, they have the name they have in the plugin.

    Raises:
        McpConfigurationError: when no file is documented for the harness, or it cannot be told what a server needs.
    """
    if not servers or harness.kind == "fake":
        return McpFiles(files={})
    file = harness.mcp_file
    if file is None:
        raise McpConfigurationError(harness.kind, None, "the files it reads them from are not documented")
    secrets = SecretTexts(harness.kind, None if file.variable is None else file.reference)
    named = {name: servers[name] for name in sorted(servers)}
    if file.has_bare_names:
        named = _bare(named, harness.kind)
    if not harness.has_sse:
        for name, server in named.items():
            if isinstance(server, RemoteServer) and server.transport == "sse":
                raise McpConfigurationError(harness.kind, name, "it does not support SSE")
    data = _WRITERS[harness.kind](named, secrets)
    return McpFiles(files={parse_destination(file.path): data}, variables=tuple(sorted(secrets.variables)))


def _bare(servers: Servers, harness: str) -> dict[str, McpServer]:
    """The servers without the names of the plugins they are from."""
    bare: dict[str, McpServer] = {}
    for name, server in servers.items():
        own = name.partition(":")[2] or name
        if not _BARE_NAME.fullmatch(own):
            raise McpConfigurationError(harness, name, 'it takes names of letters, digits, "_" and "-" only')
        if own in bare:
            raise McpConfigurationError(harness, name, f'another server is named "{own}", too')
        bare[own] = server
    return dict(sorted(bare.items()))


def _json(value: object) -> bytes:
    return (json.dumps(value, indent=2, ensure_ascii=False) + "\n").encode("utf-8")


def _stdio(server: StdioServer, name: str, secrets: SecretTexts) -> dict[str, Any]:
    written: dict[str, Any] = {"command": server.command, "args": list(server.args)}
    if server.env:
        written["env"] = secrets.texts(server.env, name)
    return written


def _remote(server: RemoteServer, name: str, secrets: SecretTexts, *, url: str = "url") -> dict[str, Any]:
    written: dict[str, Any] = {url: server.url}
    if server.headers:
        written["headers"] = secrets.texts(server.headers, name)
    return written


def _mcp_servers(servers: Servers, secrets: SecretTexts, *, types: bool, url: str = "url") -> bytes:
    """`{"mcpServers": {…}}`, the form that Claude Code began and others took over."""
    written = {}
    for name, server in servers.items():
        if isinstance(server, StdioServer):
            written[name] = ({"type": "stdio"} if types else {}) | _stdio(server, name, secrets)
        else:
            written[name] = ({"type": server.transport} if types else {}) | _remote(server, name, secrets, url=url)
    return _json({"mcpServers": written})


def _claude_code(servers: Servers, secrets: SecretTexts) -> bytes:
    return _mcp_servers(servers, secrets, types=True)


def _shared_form(servers: Servers, secrets: SecretTexts) -> bytes:
    return _mcp_servers(servers, secrets, types=False)


def _antigravity(servers: Servers, secrets: SecretTexts) -> bytes:
    return _mcp_servers(servers, secrets, types=False, url="serverUrl")


def _opencode(servers: Servers, secrets: SecretTexts) -> bytes:
    written: dict[str, Any] = {}
    for name, server in servers.items():
        if isinstance(server, StdioServer):
            written[name] = {"type": "local", "command": [server.command, *server.args], "enabled": True}
            if server.env:
                written[name]["environment"] = secrets.texts(server.env, name)
        else:
            written[name] = {"type": "remote", **_remote(server, name, secrets), "enabled": True}
    return _json({"$schema": "https://opencode.ai/config.json", "mcp": written})


def _grok_build(servers: Servers, secrets: SecretTexts) -> bytes:
    tables: dict[str, Mapping[str, Plain]] = {}
    for name, server in servers.items():
        if isinstance(server, StdioServer):
            tables[name] = _stdio(server, name, secrets)
        else:
            kind = {"type": "sse"} if server.transport == "sse" else {}
            tables[name] = kind | _remote(server, name, secrets)
    return toml_tables("mcp_servers", tables)


def _codex(servers: Servers, secrets: SecretTexts) -> bytes:
    return toml_tables(
        "mcp_servers",
        {
            name: _codex_stdio(server, name, secrets)
            if isinstance(server, StdioServer)
            else _codex_remote(server, name, secrets)
            for name, server in servers.items()
        },
    )


def _codex_stdio(server: StdioServer, name: str, secrets: SecretTexts) -> dict[str, Plain]:
    literal, forwarded = _split_env(server, name, secrets, "codex")
    table: dict[str, Plain] = {"command": server.command, "args": list(server.args)}
    if literal:
        table["env"] = literal
    if forwarded:
        table["env_vars"] = forwarded
    return table


def _split_env(server: StdioServer, name: str, secrets: SecretTexts, harness: str) -> tuple[dict[str, str], list[str]]:
    """The variables of a server that have their text, and those that the harness passes on from its environment."""
    literal: dict[str, str] = {}
    forwarded: list[str] = []
    for key in sorted(server.env):
        value = server.env[key]
        if isinstance(value, str):
            literal[key] = value
        elif value.name in {None, key}:
            forwarded.append(secrets.variable(key))
        else:
            raise McpConfigurationError(
                harness, name, f"it passes on variables under their own name only, and {key} has another's value"
            )
    return literal, forwarded


def _codex_remote(server: RemoteServer, name: str, secrets: SecretTexts) -> dict[str, Plain]:
    literal: dict[str, str] = {}
    variables: dict[str, str] = {}
    table: dict[str, Plain] = {"url": server.url}
    for key in sorted(server.headers):
        value = server.headers[key]
        if isinstance(value, str):
            literal[key] = value
        elif isinstance(value, Secret):
            variables[key] = secrets.variable(value.name or key)
        elif key.lower() == "authorization" and (variable := bearer_variable(value.template)):
            table["bearer_token_env_var"] = secrets.variable(variable)
        else:
            raise McpConfigurationError(
                "codex", name, f'it takes no template in a header but "Bearer …", and {key} has'
            )
    if literal:
        table["http_headers"] = literal
    if variables:
        table["env_http_headers"] = variables
    return table


def _goose(servers: Servers, secrets: SecretTexts) -> bytes:
    tables: dict[str, Mapping[str, Plain]] = {}
    for name, server in servers.items():
        common: dict[str, Plain] = {"name": name, "enabled": True, "timeout": _GOOSE_TIMEOUT_S}
        if isinstance(server, StdioServer):
            literal, forwarded = _split_env(server, name, secrets, "goose")
            command: dict[str, Plain] = {"type": "stdio", "cmd": server.command, "args": list(server.args)}
            tables[name] = common | command | {"envs": literal, "env_keys": forwarded}
        else:
            own = SecretTexts("goose", "${{{}}}".format)
            headers = own.texts(server.headers, name)
            keys = [secrets.variable(variable) for variable in sorted(own.variables)]
            tables[name] = common | {
                "type": "streamable_http",
                "uri": server.url,
                "headers": headers,
                "envs": {},
                "env_keys": keys,
            }
    return yaml_tables("extensions", tables)


_WRITERS: Final[Mapping[str, Callable[[Servers, SecretTexts], bytes]]] = {
    "antigravity": _antigravity,
    "claude-code": _claude_code,
    "codex": _codex,
    "cursor": _shared_form,
    "goose": _goose,
    "grok-build": _grok_build,
    "opencode": _opencode,
    "pi": _shared_form,
}
