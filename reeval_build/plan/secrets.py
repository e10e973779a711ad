"""Secrets as they enter keys: what a command sees of one, and never its value."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal

import attrs

from reeval_build.digest import Domain
from reeval_build.model.secrets import Place, Secret

if TYPE_CHECKING:
    from collections.abc import Container, Iterator, Mapping

    from reeval_build.model.spec import EnvValue

PLACEHOLDER: Final = Domain("placeholder", 1)

_DEFAULT_PLACES: Final[tuple[Place, ...]] = ("header",)
_MARK_DIGITS: Final = 16


@attrs.frozen(kw_only=True)
class SecretView:
    """A secret as commands of a sandbox see it: the variable `name`, with the value in it or a placeholder.

    `present` is whether the variable is there at all: an optional secret whose host variable is not set is not. Rule:
    reeval's documentation of `secret`; neither a value nor the name of a host variable decides what a step does.

    `variables` are host variables that can fill it, of which the first that is set does. They are several when a node
    is shared by environments that name different ones.
    """

    name: str
    mode: Literal["brokered", "raw"]
    hosts: tuple[str, ...] = ()
    in_: tuple[Place, ...] = ()
    to: Literal["agent", "checks"]
    present: bool

    variables: tuple[str, ...] = attrs.field(eq=False)

    @classmethod
    def of(cls, name: str, secret: Secret, set_variables: Container[str]) -> SecretView:
        """How `secret` is seen under `name` on a host where `set_variables` are set."""
        variable = secret.name or name
        is_brokered = secret.hosts is not None
        return cls(
            name=name,
            mode="brokered" if is_brokered else "raw",
            hosts=tuple(sorted(set(secret.hosts or ()))),
            in_=tuple(sorted(set(secret.in_ or _DEFAULT_PLACES))) if is_brokered else (),
            to=secret.to,
            present=not secret.optional or variable in set_variables,
            variables=(variable,),
        )

    def joined(self, other: SecretView) -> SecretView:
        """The same secret, filled from what either is filled from."""
        assert self == other, "secrets of one node are seen alike"
        return attrs.evolve(self, variables=tuple(dict.fromkeys((*self.variables, *other.variables))))


def views(env: Mapping[str, EnvValue], set_variables: Container[str]) -> tuple[SecretView, ...]:
    """The secrets among the variables of an environment, sorted by name."""
    return tuple(SecretView.of(name, secret, set_variables) for name, secret in sorted(_secrets(env)))


def host_variables(env: Mapping[str, EnvValue]) -> frozenset[str]:
    """The host variables that the secrets among the variables of an environment are filled from."""
    return frozenset(secret.name or name for name, secret in _secrets(env))


def _secrets(env: Mapping[str, EnvValue]) -> Iterator[tuple[str, Secret]]:
    return ((name, value) for name, value in env.items() if isinstance(value, Secret))


def placeholder(name: str) -> str:
    """What the sandbox has in the brokered variable `name`: `reeval-secret-NAME-` and 16 hexadecimal digits.

    It follows from the name alone, so a step may write it to a file, and what was stored of that still holds when the
    value is another. It has only letters, digits, `-` and `_`, which stay as they are in headers, URLs, JSON and
    shells; and none is the beginning of another, so that whoever fills them in cannot mistake one for another.
    """
    return f"reeval-secret-{name}-{PLACEHOLDER.digest(name.encode()).hex[:_MARK_DIGITS]}"
