"""Secrets of MCP servers as text that has none of their values."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from reeval_build.content.problems import shown
from reeval_build.errors import PlanError
from reeval_build.model.secrets import Secret, SecretTemplate

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from reeval_build.model.mcp import HeaderValue

_NAMED: Final = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")


class McpConfigurationError(PlanError):
    """A harness cannot be given a server in any way that is known here."""

    def __init__(self, harness: str, server: str | None, reason: str) -> None:
        which = "MCP servers" if server is None else f'the MCP server "{shown(server)}"'
        super().__init__(f"{harness} cannot be given {which}: {reason}")
        self.harness, self.server, self.reason = harness, server, reason


class SecretTexts:
    """Writes the secrets of one harness's servers as references to variables.

    `reference` writes a reference in the harness's own form; None for a harness that has no such form.
    """

    def __init__(self, harness: str, reference: Callable[[str], str] | None) -> None:
        self._harness = harness
        self._reference = reference
        self.variables: set[str] = set()

    def text(self, value: HeaderValue, key: str, server: str) -> str:
        """`value` under the name `key`, without a secret's value."""
        match value:
            case Secret():
                return self._secret(value.name or key, server)
            case SecretTemplate():
                return _NAMED.sub(lambda match: self._secret(match[1], server), value.template)
            case _:
                return value

    def texts(self, values: Mapping[str, HeaderValue], server: str) -> dict[str, str]:
        """Every one of `values`, in the order of their names."""
        return {key: self.text(values[key], key, server) for key in sorted(values)}

    def variable(self, name: str) -> str:
        """Note that the harness reads the variable `name` from its environment."""
        self.variables.add(name)
        return name

    def _secret(self, name: str, server: str) -> str:
        if self._reference is None:
            raise McpConfigurationError(
                self._harness,
                server,
                f"it has the secret {name}, and no way is documented in which its configuration refers to a variable",
            )
        return self._reference(self.variable(name))


def bearer_variable(template: str) -> str | None:
    """The variable of a template that is `Bearer ${NAME}` and nothing else."""
    match = re.fullmatch(r"Bearer \$\{([A-Za-z_][A-Za-z0-9_]*)\}", template)
    return None if match is None else match[1]
