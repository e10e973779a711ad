"""Values of secrets: from the host's variables to the environment of a command, and nowhere else."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from reeval_build.errors import InfraError
from reeval_build.plan.secrets import placeholder

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from reeval_build.plan.secrets import SecretView


class MissingSecretError(InfraError):
    """Host variables that secrets need, and that are not set: where each is needed, and what could fill it."""

    category: ClassVar[str] = "secret"

    def __init__(self, missing: Sequence[tuple[str, Sequence[str]]], *, may_be_optional: bool) -> None:
        needs = "; ".join(f"{place} needs the host variable {' or '.join(variables)}" for place, variables in missing)
        is_one = len(missing) == 1
        optional = f", or make the secret{'' if is_one else 's'} optional" if may_be_optional else ""
        if is_one:
            super().__init__(f"{needs}, which is not set", hint=f"export it{optional}")
        else:
            super().__init__(f"{needs}, none of which is set", hint=f"export them{optional}")
        self.missing = tuple(missing)


class UnusableSecretError(InfraError):
    """A value that a variable, or a header, cannot have."""

    category: ClassVar[str] = "secret"

    def __init__(self, place: str, variable: str, reason: str) -> None:
        super().__init__(f"the host variable {variable}, which {place} needs, has {reason} in its value")
        self.place, self.variable, self.reason = place, variable, reason


def reveal(views: Iterable[SecretView], variables: Mapping[str, str]) -> dict[str, str]:
    """The values of the secrets that are present, by the names that they have in the sandbox.

    A host variable that is set to nothing is set. Of a brokered secret, too, the value must be there, and is given:
    it is not for the sandbox, but to be looked for in what comes out of it.

    Raises:
        MissingSecretError: when host variables are not set; it names all of them.
        UnusableSecretError: for a value with a NUL.
    """
    values: dict[str, str] = {}
    missing: list[tuple[str, Sequence[str]]] = []
    for view in views:
        place = f"env.{view.name}"
        variable = next((name for name in view.variables if name in variables), None)
        if not view.present:
            continue
        if variable is None:
            missing.append((place, view.variables))
        elif "\0" in variables[variable]:
            raise UnusableSecretError(place, variable, "a NUL")
        else:
            values[view.name] = variables[variable]
    if missing:
        raise MissingSecretError(missing, may_be_optional=True)
    return values


def given(views: Iterable[SecretView], values: Mapping[str, str]) -> dict[str, str]:
    """The variables of a command that is given `views`, of whose values `values` has each."""
    return {
        view.name: placeholder(view.name) if view.mode == "brokered" else values[view.name]
        for view in views
        if view.present
    }
