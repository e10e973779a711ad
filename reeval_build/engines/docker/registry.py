"""What registries say, by way of the engine: what a name is there now, and for which platforms."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any, Final, cast

import attrs
from docker import auth
from docker.errors import DockerException, NotFound

from reeval_build.engines.docker.connection import Connection, EngineRefusalError, one_line
from reeval_build.engines.docker.endpoint import current_endpoint
from reeval_build.errors import CancelledError, InfraError
from reeval_build.model.platforms import is_platform

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from reeval_build.ports.engine import Cancellation


_DIGEST_LINE: Final = "Digest: "


class MissingImageError(InfraError):
    """An image that the engine neither has nor can pull."""

    def __init__(self, name: str, reason: str) -> None:
        super().__init__(
            f"image {name!r} is not in the engine and could not be pulled: {reason}",
            hint="check the name, `docker login` to its registry, or build it under this name",
        )
        self.name, self.reason = name, reason


class CredentialsError(InfraError):
    """What Docker's own configuration says of a registry cannot be used. What it is is in no message."""

    def __init__(self, registry: str) -> None:
        super().__init__(
            f"the credentials for {registry} cannot be read from Docker's configuration",
            hint=f"`docker login {registry}` writes them anew; credential helpers must be on the PATH",
        )
        self.registry = registry


@attrs.frozen(kw_only=True)
class Offer:
    """What a name is in its registry now: the digest of a manifest or of an index, and the platforms that it has."""

    digest: str
    platforms: tuple[str, ...]


class Registries:
    """The registries that images come from, with the credentials of Docker's own configuration."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def offer(self, name: str) -> Offer:
        """What `name` is now. Raises MissingImageError when its registry does not say."""
        credentials = _credentials(name)
        try:
            with self._connection.asked_to(f"look for image {name!r} in its registry"):
                answer = cast(
                    "Mapping[str, Any]",
                    self._connection.patient.inspect_distribution(  # type: ignore[no-untyped-call]
                        name, auth_config=credentials
                    ),
                )
        except EngineRefusalError as error:
            raise MissingImageError(name, error.reason) from error
        platforms = ("/".join(_parts(one)) for one in answer.get("Platforms") or ())
        return Offer(
            digest=answer["Descriptor"]["digest"],
            # Of an index, what is no image is listed as of an unknown platform.
            platforms=tuple(one for one in platforms if is_platform(one) and not one.startswith("unknown/")),
        )

    def pull(self, name: str, cancel: Cancellation, *, platform: str | None = None) -> str | None:
        """Have the engine pull an image; the digest that it had in its registry, if the engine says so.

        Raises:
            MissingImageError: when it cannot be pulled.
        """
        credentials = _credentials(name)
        try:
            with self._connection.asked_to(f"pull image {name!r}"):
                try:
                    pulling = self._connection.patient.pull(
                        name, stream=True, decode=True, platform=platform, auth_config=credentials
                    )
                    events = list(_until(cancel, pulling))
                except NotFound as error:
                    raise MissingImageError(name, one_line(error.explanation or str(error))) from error
        except EngineRefusalError as error:
            raise MissingImageError(name, error.reason) from error
        for event in events:
            if "error" in event:
                raise MissingImageError(name, one_line(event["error"]))
        said = (str(event.get("status", "")) for event in events)
        return next((line.removeprefix(_DIGEST_LINE) for line in said if line.startswith(_DIGEST_LINE)), None)


class EngineRegistries:
    """See `ports.locks.RegistryAnswers`: asks by way of the engine that Docker's own client would use."""

    def __init__(self) -> None:
        self._connection = Connection(current_endpoint())
        self._registries = Registries(self._connection)

    def digest(self, name: str) -> str:
        """See `ports.locks.RegistryAnswers.digest`."""
        return self._registries.offer(name).digest

    def close(self) -> None:
        """See `ports.locks.RegistryAnswers.close`."""
        self._connection.close()


def _credentials(name: str) -> dict[str, Any]:
    """Those for the registry of an image. The SDK finds them by itself, but quotes helpers when it fails, or crashes.

    Raises:
        MissingImageError: when `name` is no name of an image.
        CredentialsError: when there are some that cannot be read.
    """
    try:
        registry, _path = auth.resolve_repository_name(name)
    except DockerException as error:
        raise MissingImageError(name, one_line(str(error))) from error
    try:
        with warnings.catch_warnings():
            # That a helper is missing is an error, too.
            warnings.simplefilter("ignore")
            found = auth.resolve_authconfig(auth.load_config(), registry)
    except (DockerException, ValueError, LookupError, TypeError):
        raise CredentialsError(registry) from None
    return dict(found or {})


def _parts(platform: Mapping[str, Any]) -> Iterator[str]:
    for name in ("os", "architecture", "variant"):
        if platform.get(name):
            yield platform[name]


def _until(cancel: Cancellation, events: Iterable[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    for event in events:
        if cancel.is_set():
            raise CancelledError
        yield event
