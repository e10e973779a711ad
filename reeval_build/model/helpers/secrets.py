"""`secret`: values that stay on the host."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, Literal

import attrs

from reeval_build.errors import DefinitionError
from reeval_build.model.options import flag, host, one_of, some, variable
from reeval_build.model.reading import Mistake, Option, Refused, Shape, make, read
from reeval_build.model.secrets import PLACES, VARIABLE, Place, Secret, SecretTemplate
from reeval_build.model.shown import is_text, names_secret

if TYPE_CHECKING:
    from collections.abc import Sequence

    from reeval_build.model.site import Site

_LITERAL: Final = "is a literal string. Pass secrets with secret.fromEnv() so they're redacted and never recorded."
_REFERENCE: Final = re.compile(r"\$\{([^}]*)\}?")


@attrs.frozen
class SecretHosts:
    """The hosts of well-known services, for `hosts` of a secret."""

    google: tuple[str, ...] = ("generativelanguage.googleapis.com",)
    openai: tuple[str, ...] = ("api.openai.com",)
    anthropic: tuple[str, ...] = ("api.anthropic.com",)
    github: tuple[str, ...] = ("api.github.com", "uploads.github.com")


class SecretHelper:
    """`secret(…)`, `secret.from_env(…)`, `secret.template(…)` and `secret.hosts`."""

    hosts: Final = SecretHosts()

    def __call__(
        self,
        *,
        optional: bool = False,
        to: Literal["agent", "checks"] = "agent",
        hosts: Sequence[str] | None = None,
        in_: Sequence[Place] | None = None,
    ) -> Secret:
        """The host variable of the name that it has in `env`.

        Args:
            optional: whether it is left out when the host variable is not set; otherwise that is a failure.
            to: `agent` sets the sandbox's variable; `checks` only lets setup and checks see it.
            hosts: where the value is sent to. The sandbox then has a placeholder, which is filled in on HTTPS requests
                to these hosts; `*.example.com` is every subdomain, and `secret.hosts` has those of some services.
                Without it the value itself is in the sandbox.
            in_: where in a request to `hosts` it is filled in: `header` (the default), `query`, `body`.

        Raises:
            DefinitionError: for a bad option, and for `in_` without `hosts`.
        """
        return make(SECRET, {"optional": optional, "to": to}, {"hosts": hosts, "in": in_})

    def from_env(
        self,
        name: str,
        *,
        optional: bool = False,
        to: Literal["agent", "checks"] = "agent",
        hosts: Sequence[str] | None = None,
        in_: Sequence[Place] | None = None,
    ) -> Secret:
        """The host variable `name`; the options are those of `secret()` itself.

        Raises:
            DefinitionError: as `secret()`, and for a name that is not one of a variable.
        """
        return make(FROM_ENV, {"from": name, "optional": optional, "to": to}, {"hosts": hosts, "in": in_})

    def template(self, template: str) -> SecretTemplate:
        """A header of an MCP server with host variables in it, such as `"Bearer ${TOKEN}"`.

        Raises:
            DefinitionError: for text without any `${NAME}`, or with one that is not the name of a variable.
        """
        return make(TEMPLATE, {"template": template})


def _template(value: object, _site: Site) -> str:
    """What is refused is not shown: it may be the secret itself."""
    names = _REFERENCE.findall(value) if isinstance(value, str) else []
    if not is_text(value) or not names:
        raise Refused("must be text with the names of host variables in it, such as 'Bearer ${TOKEN}'")
    complete = value.count("${") == len(names) == len(re.findall(r"\$\{[^}]*\}", value))
    if not complete or not all(VARIABLE.fullmatch(name) for name in names):
        raise Refused(
            'has a ${…} that is not the name of a host variable: letters, digits and "_", starting with a letter or "_"'
        )
    if "\n" in value or "\r" in value:
        raise Refused("must be one line: it is a header")
    return value


def _build(**options: object) -> Secret:
    if "in_" in options and "hosts" not in options:
        raise Refused(Mistake("is only for a secret with hosts: it says where in a request to them", "in_"))
    return Secret(**options)  # type: ignore[arg-type] # they were read by name


_COMMON: Final = {
    "optional": Option("optional", flag),
    "to": Option("to", one_of("agent", "checks")),
    "hosts": Option("hosts", some(host, "hosts")),
    "in": Option("in_", some(one_of(*PLACES), "places")),
}
_NAME: Final = {"from": Option("name", variable)}

SECRET: Final = Shape(called="secret()", options=_NAME | _COMMON, build=_build, instead=Secret())
FROM_ENV: Final = attrs.evolve(SECRET, called="secret.from_env()")
TEMPLATE: Final = Shape(
    called="secret.template()",
    options={"template": Option("template", _template, required=True)},
    build=SecretTemplate,
    instead=SecretTemplate(""),
)


def a_secret(value: object, site: Site) -> Secret | SecretTemplate | None:
    """`secret(…)`, `secret.template(…)` or the dictionary of one; None for anything else."""
    try:
        match value:
            case Secret() | SecretTemplate():
                return value
            case {"kind": "secret", **options}:
                return read(SECRET, options, site)
            case {"kind": "secret-template", **options}:
                return read(TEMPLATE, options, site)
            case _:
                return None
    except DefinitionError as error:
        raise Refused(*(Mistake(problem, about="inside") for problem in error.problems)) from error


def env_value(name: object, value: object, site: Site) -> str | Secret:
    """What a variable of an environment is set to. A value that is refused is not shown."""
    if not isinstance(name, str) or not VARIABLE.fullmatch(name):
        raise Refused('is not a variable name: letters, digits and "_", starting with a letter or "_"')
    found = a_secret(value, site)
    if isinstance(found, SecretTemplate):
        raise Refused("is a secret.template(), which only a header can be")
    if isinstance(found, Secret):
        return found
    if not is_text(value):
        raise Refused("must be a string of valid Unicode without NUL, or a secret")
    if names_secret(name):
        raise Refused(_LITERAL)
    return value


secret: Final = SecretHelper()
