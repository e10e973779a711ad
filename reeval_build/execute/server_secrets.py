"""Values of the secrets of MCP servers: looked up when a harness could start, and kept nowhere."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reeval_build.execute.secrets import MissingSecretError, UnusableSecretError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from reeval_build.plan.servers import ServerSecret


def reveal_servers(secrets: Iterable[ServerSecret], variables: Mapping[str, str]) -> dict[str, str]:
    """The values that servers need, by the names of their host variables.

    Rule: reeval's documentation of `mcp`: a header's value has no white space and no line break. Values of brokered
    secrets must be there, too, as they must for the gateway.

    Raises:
        MissingSecretError: when host variables are not set; it names all of them.
        UnusableSecretError: for a header's value with white space in it, or a NUL anywhere.
    """
    values: dict[str, str] = {}
    missing: list[tuple[str, list[str]]] = []
    for secret in secrets:
        place = f"mcp.{secret.server} ({secret.key})"
        for variable in secret.variables:
            value = variables.get(variable)
            if value is None:
                missing.append((place, [variable]))
            elif "\0" in value:
                raise UnusableSecretError(place, variable, "a NUL")
            elif secret.place == "header" and any(character.isspace() for character in value):
                raise UnusableSecretError(place, variable, "white space or a line break")
            else:
                values[variable] = value
    if missing:
        # One that is part of a template cannot be.
        raise MissingSecretError(missing, may_be_optional=False)
    return values
