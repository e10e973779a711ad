"""Which commands fetch a package when they run, and whether an egress policy lets them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from reeval_build.model.egress import Egress, allows, is_restricted
from reeval_build.model.mcp import McpServer, StdioServer

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

_SHELLS: Final = frozenset({"sh", "bash", "dash", "zsh", "env"})
_IN_TEXT: Final = re.compile(
    r"""(?:^|[\s;&|(`"'{=])(?:[\w./~+-]*/)?(?P<runner>npx|bunx|uvx|pipx\s+run)(?=$|[\s;&|)`"'}])"""
)


def server_runner(server: McpServer) -> str | None:
    """The runner that starts a server, or None."""
    if not isinstance(server, StdioServer):
        return None
    program = server.command.replace("\\", "/").rpartition("/")[2].removesuffix(".exe").removesuffix(".cmd")
    if program in {"npx", "bunx", "uvx"}:
        return program
    if program == "pipx" and server.args[:1] == ("run",):
        return "pipx run"
    if program in _SHELLS or " " in server.command.strip():
        return text_runner(" ".join((server.command, *server.args)))
    return None


def text_runner(command: str) -> str | None:
    """The first runner that a shell command calls, or None."""
    match = _IN_TEXT.search(command)
    return None if match is None else " ".join(match["runner"].split())


def may_fetch(egress: Egress | None, hosts: Sequence[str], *, automatic: Collection[str] = ()) -> bool:
    """Whether a policy lets a sandbox connect to every one of the hosts that a runner needs.

    `automatic` are the hosts that every policy allows. A registry that is not known, without hosts, is one that no
    list of hosts allows.
    """
    if not hosts:
        return not is_restricted(egress)
    return all(allows(egress, host, automatic=automatic) for host in hosts)
