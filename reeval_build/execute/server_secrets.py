"""Values of the secrets of MCP servers: looked up when a harness could start, and kept nowhere."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reeval_build.errors import InfraError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from reeval_build.plan.servers import ServerSecret


class MissingServerSecretError(InfraError):
    """Host variables that secrets of MCP servers need, and that are not set."""

    def __init__(self, missing: Mapping[str, str]) -> None:
        needs = "; ".join(f"{place} needs the host variable {variable}" for place, variable in missing.items())
        if len(missing) == 1:
            super().__init__(f"{needs}, which is not set", hint="export it, or make the secret optional")
        else:
            super().__init__(f"{needs}, none of which is set", hint="export them, or make the secrets optional")
        self.missing = dict(missing)


class UnusableServerSecretError(InfraError):
    """A value that a header, or a variable, cannot have."""

    def __init__(self, place: str, variable: str, reason: str) -> None:
        super().__init__(f"the host variable {variable}, which {place} needs, has {reason} in its value")
        self.place, self.variable, self.reason = place, variable, reason


def reveal_servers(secrets: Iterable[ServerSecret], variables: Mapping[str, str]) -> dict[str, str]:
    """The values that servers need, by the names of their host variables.

    Rule: reeval's documentation of `mcp`: a header's value has no white space and no line break. Values of brokered
    secrets must be there, too, as they must for the gateway.

    Raises:
        MissingServerSecretError: when host variables are not set; it names all of them.
        UnusableServerSecretError: for a header's value with white space in it, or a NUL anywhere.
    """
    values: dict[str, str] = {}
    missing: dict[str, str] = {}
    for secret in secrets:
        place = f"mcp.{secret.server} ({secret.key})"
        for variable in secret.variables:
            value = variables.get(variable)
            if value is None:
                missing[place] = variable
            elif "\0" in value:
                raise UnusableServerSecretError(place, variable, "a NUL")
            elif secret.place == "header" and any(character.isspace() for character in value):
                raise UnusableServerSecretError(place, variable, "white space or a line break")
            else:
                values[variable] = value
    if missing:
        raise MissingServerSecretError(missing)
    return values
