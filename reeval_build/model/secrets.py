"""Secrets as values: which host variable, who sees it, and how; never the value itself."""

from __future__ import annotations

import re
from typing import Final, Literal, TypeAlias

import attrs

Place: TypeAlias = Literal["header", "query", "body"]
PLACES: Final[tuple[Place, ...]] = ("header", "query", "body")

VARIABLE: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_REFERENCE: Final = re.compile(r"\$\{([^{}]*)\}")


@attrs.frozen(kw_only=True)
class Secret:
    """A host variable that an environment variable or a header of an MCP server is filled from.

    `name` is the host variable, None the environment's own key. With `hosts` the value is brokered: the sandbox has a
    placeholder, and the egress gateway fills it in on requests to those hosts, in the places `in_`, None being the
    headers. `to` says whether the agent sees the variable, or only setup and checks do.
    """

    name: str | None = None
    optional: bool = False
    to: Literal["agent", "checks"] = "agent"
    hosts: tuple[str, ...] | None = None
    in_: tuple[Place, ...] | None = None


@attrs.frozen
class SecretTemplate:
    """A header of an MCP server with `${NAME}` host variables in it."""

    template: str

    @property
    def names(self) -> tuple[str, ...]:
        """The host variables, in the order in which they are first named."""
        return tuple(dict.fromkeys(_REFERENCE.findall(self.template)))
