"""The MCP servers that a plugin brings."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, Literal
from urllib.parse import urlsplit

from reeval_build.content.documents import Json, kind_of
from reeval_build.content.problems import ContentError, listed, shown
from reeval_build.model.mcp import McpServer, RemoteServer, StdioServer

if TYPE_CHECKING:
    from collections.abc import Mapping

_ROOT: Final = re.compile(r"\$\{CLAUDE_PLUGIN_ROOT(?::-[^}]*)?\}")
_STDIO_KEYS: Final = frozenset({"type", "command", "args", "env"})
_REMOTE_KEYS: Final = frozenset({"type", "url", "headers"})
_TRANSPORTS: Final[Mapping[str, Literal["http", "sse"]]] = {
    "http": "http",
    "streamable-http": "http",
    "streamableHttp": "http",
    "sse": "sse",
}


class ServerReader:
    """Reads the servers of one plugin, with its directory in place of `${CLAUDE_PLUGIN_ROOT}`."""

    def __init__(self, *, where: str, root: str) -> None:
        self._where = where
        self._root = root
        self.servers: dict[str, McpServer] = {}
        self.warnings: list[str] = []

    def read(self, value: Json, path: str) -> None:
        """The servers of an object, which may stand below a key `mcpServers`; a later one of a name wins.

        One whose url is empty is left out, with a warning: it stands for a server of whoever uses the plugin.

        Raises:
            ContentError: for anything that is not `{name: {command, …} | {type, url, …}}`.
        """
        if isinstance(value, dict) and "mcpServers" in value:
            value = value["mcpServers"]
        if not isinstance(value, dict):
            raise ContentError(self._where, path, f"must have MCP servers as an object, not as {kind_of(value)}")
        for name, server in value.items():
            if name == "$schema" and isinstance(server, str):
                continue
            if not name.strip() or not name.isprintable():
                raise ContentError(self._where, path, f'has an MCP server with the name "{shown(name[:80])}"')
            fields = _Fields(self, name, server, path)
            if fields.is_to_be_filled_in:
                self.warn(name, path, "no url yet, and it is left out")
            else:
                self.servers[name] = fields.server()

    def expand(self, text: str) -> str:
        """`text` with the plugin's directory in it."""
        return _ROOT.sub(lambda _: self._root, text)

    def error(self, name: str, path: str, reason: str) -> ContentError:
        """That something is wrong with one server."""
        return ContentError(self._where, path, f'has the MCP server "{shown(name[:80])}" with {reason}')

    def warn(self, name: str, path: str, reason: str) -> None:
        """Note what is not passed on."""
        self.warnings.append(f'"{shown(path)}" in {self._where} has the MCP server "{shown(name[:80])}" with {reason}')


class _Fields:
    """One server as it is written."""

    def __init__(self, reader: ServerReader, name: str, value: Json, path: str) -> None:
        self._reader, self._name, self._path = reader, name, path
        if not isinstance(value, dict):
            raise self._error(f"{kind_of(value)} where its command or url is needed")
        self._fields = value

    @property
    def is_to_be_filled_in(self) -> bool:
        """Whether the url is there and says nothing."""
        return self._fields.get("url") == ""

    def server(self) -> McpServer:
        kind = self._fields.get("type", "http" if "url" in self._fields else "stdio")
        if not isinstance(kind, str):
            raise self._error(f"{kind_of(kind)} as its type")
        if kind == "stdio":
            self._warn_of_others(_STDIO_KEYS)
            return StdioServer(command=self._command(), args=self._texts("args"), env=self._mapping("env"))
        if kind not in _TRANSPORTS:
            raise self._error(f'the type "{shown(kind[:80])}", which no harness is given')
        self._warn_of_others(_REMOTE_KEYS)
        return RemoteServer(transport=_TRANSPORTS[kind], url=self._url(), headers=self._mapping("headers"))

    def _command(self) -> str:
        command = self._fields.get("command")
        if not isinstance(command, str) or not command.strip():
            raise self._error("no command")
        return self._reader.expand(command)

    def _url(self) -> str:
        url = self._fields.get("url")
        if not isinstance(url, str):
            raise self._error("no url")
        expanded = self._reader.expand(url)
        try:
            parsed = urlsplit(expanded)
        except ValueError:
            raise self._error(f'the url "{shown(url[:80])}", which is not a URL') from None
        # A url whose host is a variable is for the harness to expand, and for the plan to refuse.
        if "${" not in expanded and (parsed.scheme not in {"http", "https"} or not parsed.netloc):
            raise self._error(f'the url "{shown(url[:80])}", which is not a URL')
        return expanded

    def _texts(self, key: str) -> tuple[str, ...]:
        value = self._fields.get(key, [])
        if not isinstance(value, list):
            raise self._error(f"{kind_of(value)} as its {key}")
        return tuple(self._reader.expand(self._text(item, key)) for item in value)

    def _mapping(self, key: str) -> dict[str, str]:
        value = self._fields.get(key, {})
        if not isinstance(value, dict):
            raise self._error(f"{kind_of(value)} as its {key}")
        return {name: self._reader.expand(self._text(item, key)) for name, item in value.items()}

    def _text(self, value: Json, key: str) -> str:
        if not isinstance(value, str):
            raise self._error(f"{kind_of(value)} in its {key}, where text is needed")
        return value

    def _warn_of_others(self, known: frozenset[str]) -> None:
        others = [key[:80] for key in self._fields if key not in known]
        if others:
            self._reader.warn(self._name, self._path, f"keys that are not passed on: {listed(others)}")

    def _error(self, reason: str) -> ContentError:
        return self._reader.error(self._name, self._path, reason)
