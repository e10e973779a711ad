"""Where a sandbox may connect."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal, TypeAlias
from urllib.parse import urlsplit

import attrs

from reeval_build.model.mcp import McpServer, RemoteServer, StdioServer
from reeval_build.model.secrets import Secret

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

Policy: TypeAlias = Literal["proxy", "allow-all", "deny-all"]
POLICIES: Final[tuple[Policy, ...]] = ("proxy", "allow-all", "deny-all")


@attrs.frozen
class AllowHosts:
    """The automatic hosts and these; `*.example.com` is every subdomain."""

    hosts: tuple[str, ...]


Egress: TypeAlias = Policy | AllowHosts

# Rule: reeval's wire types, "`proxy` (default)".
DEFAULT_POLICY: Final[Policy] = "proxy"


def effective(egress: Egress | None) -> Egress:
    """What a policy comes to, in one form: None is the default, and hosts are sorted, in lower case and each once."""
    if isinstance(egress, AllowHosts):
        return AllowHosts(tuple(sorted({host.lower() for host in egress.hosts})))
    return DEFAULT_POLICY if egress is None else egress


def is_restricted(egress: Egress | None) -> bool:
    """Whether a policy lets a sandbox connect to some hosts only."""
    return effective(egress) not in {"proxy", "allow-all"}


def allows(egress: Egress | None, host: str, *, automatic: Iterable[str] = ()) -> bool:
    """Whether a policy lets a sandbox connect to a host; `automatic` are those that every policy allows."""
    patterns = (*automatic, *(egress.hosts if isinstance(egress, AllowHosts) else ()))
    return not is_restricted(egress) or any(_matches(pattern, host) for pattern in patterns)


def _matches(pattern: str, host: str) -> bool:
    """Rule: reeval's documentation: `*.example.com` is every subdomain, and not `example.com`."""
    pattern, host = pattern.lower(), host.lower()
    if pattern.startswith("*."):
        return host.endswith(pattern[1:]) and not host.startswith(".")
    return pattern == host


def automatic_hosts(variables: Iterable[str | Secret], servers: Iterable[McpServer]) -> tuple[str, ...]:
    """The hosts that every policy allows: those of brokered secrets, and those of MCP servers; sorted.

    A harness's own hosts are automatic, too; they are not known here. Rule: reeval's wire types, `egress`.
    """
    return tuple(sorted(set(_automatic(variables, servers))))


def _automatic(variables: Iterable[str | Secret], servers: Iterable[McpServer]) -> Iterator[str]:
    values: list[object] = [*variables]
    for server in servers:
        match server:
            case RemoteServer():
                # A header's secret without hosts is for the server's own.
                yield urlsplit(server.url).hostname or ""
                values += server.headers.values()
            case StdioServer():
                values += server.env.values()
    for value in values:
        if isinstance(value, Secret):
            yield from (host.lower() for host in value.hosts or ())
