"""Where the engine is."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final, cast

import attrs
from docker.context import ContextAPI
from docker.errors import DockerException
from docker.tls import TLSConfig
from docker.utils import kwargs_from_env, parse_host

from reeval_build.errors import InfraError

if TYPE_CHECKING:
    from docker.context import Context

_LOCAL: Final = "unix://"
_REMOTE: Final = ("tcp://", "http://", "https://")


class EndpointError(InfraError):
    """It cannot be said where the engine is."""

    def __init__(self, problem: str) -> None:
        super().__init__(problem, hint="set DOCKER_HOST to a unix:// or tcp:// address, or use another Docker context")


@attrs.frozen(kw_only=True)
class Endpoint:
    """The address of an engine, and how to speak TLS with it. Raises EndpointError for a kind of address we lack."""

    address: str = attrs.field()
    tls: TLSConfig | None = None

    @address.validator
    def _is_known(self, _attribute: object, value: str) -> None:
        if not value.startswith((_LOCAL, *_REMOTE)):
            raise EndpointError(f"the address {value!r} of a Docker engine is of a kind that is not supported")
        try:
            parse_host(value)
        except DockerException as error:
            raise EndpointError(f"the address {value!r} of a Docker engine cannot be used: {error}") from error

    @property
    def socket_path(self) -> str | None:
        """The path of the socket of an engine on this machine; None for one that may be elsewhere."""
        return self.address.removeprefix(_LOCAL) if self.address.startswith(_LOCAL) else None


def current_endpoint() -> Endpoint:
    """The engine that Docker's own client would use: by $DOCKER_HOST, $DOCKER_CONTEXT or the current context.

    Raises:
        EndpointError: when these name none, or are broken.
    """
    name = os.environ.get("DOCKER_CONTEXT")
    try:
        settings = kwargs_from_env()
        context = None if "base_url" in settings else cast("Context | None", ContextAPI.get_context(name))
    except Exception as error:
        # Not narrower, for what the SDK itself raises for a broken context is an Exception.
        raise EndpointError(f"the settings of Docker's client cannot be used: {error}") from error
    if "base_url" in settings:
        return Endpoint(address=settings["base_url"], tls=settings.get("tls"))
    if context is None or not context.Host:
        raise EndpointError(f"the Docker context {name or 'in use'!r} is missing or names no engine")
    return Endpoint(address=context.Host, tls=context.TLSConfig)
