"""MCP servers as a harness is given them: brokered secrets as placeholders, and what the others need."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, Literal, TypeVar
from urllib.parse import urlsplit

import attrs

from reeval_build import canon
from reeval_build.digest import Domain
from reeval_build.model.mcp import McpServer, RemoteServer, StdioServer
from reeval_build.model.secrets import Secret, SecretTemplate

if TYPE_CHECKING:
    from collections.abc import Container, Iterable

Value = TypeVar("Value", str | Secret, str | Secret | SecretTemplate)

PLACEHOLDER: Final = Domain("server placeholder", 1)
_MARK_DIGITS: Final = 32


@attrs.frozen(kw_only=True)
class ServerSecret:
    """A header, or a variable, of an MCP server that is filled from host variables.

    `hosts` are those that it is brokered to. A template has several `variables`, and needs them all.
    """

    server: str
    key: str
    place: Literal["header", "env"]
    variables: tuple[str, ...]
    hosts: tuple[str, ...]

    @property
    def mode(self) -> Literal["brokered", "raw"]:
        """Whether the sandbox has a placeholder, or the value."""
        return "brokered" if self.hosts else "raw"

    @property
    def placeholder(self) -> str:
        """What the sandbox has in place of a brokered value: it follows from the names of server and key alone."""
        mark = PLACEHOLDER.digest(canon.encode([self.server, self.place, self.key])).hex[:_MARK_DIGITS]
        return f"reeval-secret-mcp-{mark}"


@attrs.frozen(kw_only=True)
class SettledServers:
    """Servers without the secrets that are brokered, or optional and not there; and which secrets there are."""

    servers: Mapping[str, McpServer]
    secrets: tuple[ServerSecret, ...]


def settle_servers(servers: Mapping[str, McpServer], set_variables: Container[str]) -> SettledServers:
    """The servers as they are on a host where `set_variables` are set.

    Rules: reeval's documentation of `mcp`: a header's secret is brokered to its `hosts`, else to the host of an
    `https` URL, and passed on to any other; a template is brokered to the host of an `https` URL; a variable of a
    command is brokered when it has `hosts`.
    """
    secrets: list[ServerSecret] = []
    settled = {name: _settled(name, server, set_variables, secrets) for name, server in servers.items()}
    return SettledServers(servers=MappingProxyType(settled), secrets=tuple(secrets))


def server_variables(servers: Iterable[McpServer]) -> frozenset[str]:
    """The host variables that secrets of some servers are filled from."""
    values = {str(number): server for number, server in enumerate(servers)}
    everything = settle_servers(values, _Everything())
    return frozenset(variable for secret in everything.secrets for variable in secret.variables)


class _Everything:
    def __contains__(self, name: object) -> bool:
        return True


def _settled(name: str, server: McpServer, set_variables: Container[str], secrets: list[ServerSecret]) -> McpServer:
    if isinstance(server, StdioServer):
        found = {key: _secret(name, key, "env", value, None) for key, value in server.env.items()}
        return attrs.evolve(server, env=_filled(server.env, found, set_variables, secrets))
    host = _secure_host(server)
    found = {key: _secret(name, key, "header", value, host) for key, value in server.headers.items()}
    return attrs.evolve(server, headers=_filled(server.headers, found, set_variables, secrets))


def _secure_host(server: RemoteServer) -> str | None:
    parts = urlsplit(server.url)
    return parts.hostname if parts.scheme == "https" else None


def _secret(
    server: str, key: str, place: Literal["header", "env"], value: str | Secret | SecretTemplate, host: str | None
) -> ServerSecret | None:
    match value:
        case Secret(name=variable, hosts=hosts):
            variables: tuple[str, ...] = (variable or key,)
            brokered = tuple(sorted(set(hosts))) if hosts else ((host,) if host else ())
        case SecretTemplate(names=variables):
            brokered = (host,) if host else ()
        case _:
            return None
    return ServerSecret(server=server, key=key, place=place, variables=variables, hosts=brokered)


def _filled(
    values: Mapping[str, Value],
    found: Mapping[str, ServerSecret | None],
    set_variables: Container[str],
    secrets: list[ServerSecret],
) -> dict[str, Value | str]:
    filled: dict[str, Value | str] = {}
    for key, value in values.items():
        secret = found[key]
        if secret is None:
            filled[key] = value
            continue
        if isinstance(value, Secret) and value.optional and secret.variables[0] not in set_variables:
            continue
        secrets.append(secret)
        filled[key] = secret.placeholder if secret.hosts else value
    return filled
