"""`mcp.stdio`, `mcp.http`, `mcp.sse`: servers that the agent is given."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, Literal
from urllib.parse import SplitResult, urlsplit

from reeval_build.model.helpers.secrets import a_secret, env_value
from reeval_build.model.mcp import RemoteServer, StdioServer
from reeval_build.model.options import is_list, is_said
from reeval_build.model.reading import Mistake, Option, Refused, Shape, make
from reeval_build.model.secrets import VARIABLE, Secret, SecretTemplate
from reeval_build.model.shown import got, is_text, shown

if TYPE_CHECKING:
    from reeval_build.model.site import Site
    from reeval_build.model.written import HeaderInput, VariableInput

_HEADER: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")


class McpHelper:
    """`mcp.stdio(…)`, `mcp.http(…)` and `mcp.sse(…)`."""

    def stdio(
        self, command: str, args: Sequence[str] = (), *, env: Mapping[str, VariableInput] | None = None
    ) -> StdioServer:
        """A command of the sandbox that is spoken to on its standard input and output.

        Args:
            command: the program.
            args: its arguments.
            env: variables of its process: strings and secrets.

        Raises:
            DefinitionError: for an empty command, and for what is not as above.
        """
        return make(STDIO, {"command": command, "args": args}, {"env": env})

    def http(self, url: str, *, headers: Mapping[str, HeaderInput] | None = None) -> RemoteServer:
        """A server over streamable HTTP.

        Args:
            url: where it is.
            headers: of every request: strings, secrets and `secret.template()`.

        Raises:
            DefinitionError: for what is not a URL of http or https, and for a bad header.
        """
        return make(HTTP, {"url": url}, {"headers": headers})

    def sse(self, url: str, *, headers: Mapping[str, HeaderInput] | None = None) -> RemoteServer:
        """A server over SSE, with the options of `http`."""
        return make(SSE, {"url": url}, {"headers": headers})


def _command(value: object, _site: Site) -> str:
    if not is_said(value):
        raise Refused(f"must be the name of a program {got(value)}")
    return value


def _args(value: object, _site: Site) -> tuple[str, ...]:
    if not is_list(value) or not all(is_text(item) for item in value):
        raise Refused(f"must be a list of text {got(value)}")
    return tuple(str(item) for item in value)


def _url(value: object, _site: Site) -> str:
    parts = _parts(value)
    if parts is None or not is_text(value):
        raise Refused(f"must be a URL of http or https {got(value)}")
    if parts.username is not None or parts.password is not None:
        raise Refused("has a password or token in it; pass it as a secret in headers instead")
    return value


def _parts(value: object) -> SplitResult | None:
    if not is_text(value) or re.search(r"\s", value):
        return None
    try:
        parts = urlsplit(value)
        port = parts.port
    except ValueError:
        return None
    return parts if parts.scheme in {"http", "https"} and parts.hostname and port != 0 else None


def _variables(value: object, site: Site) -> dict[str, str | Secret]:
    """Variables of a process. A value that is refused is not shown."""
    if not isinstance(value, Mapping):
        raise Refused("must be a mapping of variable names to strings or secrets")
    return _entries(value, site, variable_value)


def _headers(value: object, site: Site) -> dict[str, str | Secret | SecretTemplate]:
    if not isinstance(value, Mapping):
        raise Refused("must be a mapping of header names to strings, secrets or secret.template()")
    return _entries(value, site, _header)


def _entries(value: Mapping[Any, object], site: Site, entry: Any) -> dict[str, Any]:  # noqa: ANN401 - either kind
    found: dict[str, Any] = {}
    mistakes: list[Mistake] = []
    for name, written in value.items():
        try:
            found[name] = entry(name, written, site)
        except Refused as refused:
            at = f".{name}" if isinstance(name, str) and VARIABLE.fullmatch(name) else f"[{shown(name)}]"
            mistakes += refused.below(at)
    if mistakes:
        raise Refused(*mistakes)
    return found


def variable_value(name: object, value: object, site: Site) -> str | Secret:
    """What a variable of a server's process is set to. A value that is refused is not shown."""
    found = env_value(name, value, site)
    return _of_the_agent(found) if isinstance(found, Secret) else found


def _header(name: object, value: object, site: Site) -> str | Secret | SecretTemplate:
    if not isinstance(name, str) or not _HEADER.fullmatch(name):
        raise Refused("is not the name of a header")
    found = a_secret(value, site)
    if isinstance(found, SecretTemplate):
        return found
    if isinstance(found, Secret):
        if found.name is None:
            raise Refused("is a secret() without a name; a header needs secret.from_env('NAME')")
        return _of_the_agent(found)
    if not is_text(value) or "\n" in value or "\r" in value:
        raise Refused("must be a string of one line, a secret or secret.template()")
    return value


def _of_the_agent(found: Secret) -> Secret:
    if found.to != "agent":
        raise Refused('is a secret that only goes to="checks", but the agent starts the server')
    return found


def _remote(transport: Literal["http", "sse"]) -> Shape[RemoteServer]:
    def build(**options: Any) -> RemoteServer:  # noqa: ANN401 - they were read by name
        return RemoteServer(transport=transport, **options)

    return Shape(
        called=f"mcp.{transport}()",
        options={"url": Option("url", _url, required=True), "headers": Option("headers", _headers)},
        build=build,
        instead=RemoteServer(transport=transport, url=""),
    )


STDIO: Final = Shape(
    called="mcp.stdio()",
    options={
        "command": Option("command", _command, required=True),
        "args": Option("args", _args),
        "env": Option("env", _variables),
    },
    build=StdioServer,
    instead=StdioServer(command=""),
)
HTTP: Final = _remote("http")
SSE: Final = _remote("sse")
SERVERS: Final[dict[str, Shape[Any]]] = {"stdio": STDIO, "http": HTTP, "sse": SSE}

mcp: Final = McpHelper()
