"""The connection to an engine, and what its failures mean."""

from __future__ import annotations

import socket
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final, cast

from docker import APIClient
from docker.errors import APIError, DockerException, ImageNotFound, InvalidVersion, TLSParameterError
from requests.exceptions import RequestException
from urllib3.exceptions import HTTPError

from reeval_build.errors import InfraError
from reeval_build.ports.engine import EngineAwayError, EngineError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from reeval_build.engines.docker.endpoint import Endpoint

_FIRST_ANSWER_S: Final = 10.0
_QUICK_S: Final = 30
_CLAUSE_CHARACTERS: Final = 600
_PATIENT_S: Final = 600


class EngineRefusalError(EngineError):
    """The engine answers, but did not do what it was asked."""

    def __init__(self, doing: str, reason: str, *, hint: str | None = None) -> None:
        super().__init__(f"the engine could not {doing}: {reason}", hint=hint)
        self.doing, self.reason = doing, reason


class Connection:
    """Two clients of one engine: `quick` for what takes no time, `patient` for work. Safe to use from several threads.

    Raises:
        EngineAwayError: when nothing answers at the endpoint, or not within `first_answer_s`.
        InfraError: when what answers cannot be used.
    """

    def __init__(self, endpoint: Endpoint, *, first_answer_s: float = _FIRST_ANSWER_S) -> None:
        self.endpoint = endpoint
        tls = endpoint.tls or False
        try:
            if endpoint.socket_path is not None:
                _knock(endpoint.socket_path, first_answer_s)
            # The SDK hands the number on to requests as it is, and says an integer only in its annotations.
            first = APIClient(base_url=endpoint.address, timeout=cast("int", first_answer_s), tls=tls)
            first.close()
            version = first.api_version
            self.quick = APIClient(base_url=endpoint.address, version=version, timeout=_QUICK_S, tls=tls)
            self.patient = APIClient(base_url=endpoint.address, version=version, timeout=_PATIENT_S, tls=tls)
        except (InvalidVersion, TLSParameterError) as error:
            raise InfraError(f"the Docker engine at {endpoint.address} cannot be used: {error}") from error
        except (DockerException, RequestException, HTTPError, OSError) as error:
            raise self.away(error) from error

    def close(self) -> None:
        """Close what is open."""
        self.quick.close()
        self.patient.close()

    @contextmanager
    def asked_to(self, doing: str) -> Iterator[None]:
        """A block that asks the engine to do something, and nothing else: its failures become ours.

        Raises:
            EngineAwayError: when the engine does not answer.
            EngineRefusalError: when it answers that it could not.
        """
        try:
            yield
        except APIError as error:
            raise EngineRefusalError(doing, one_line(error.explanation or str(error))) from error
        except DockerException as error:
            raise EngineRefusalError(doing, one_line(str(error))) from error
        except (RequestException, HTTPError) as error:
            raise self.away(error) from error

    def find_image(self, reference: str) -> Mapping[str, Any] | None:
        """What the engine knows of an image, or None when it has no such image."""
        with self.asked_to(f"look for image {reference!r}"):
            try:
                return cast(
                    "Mapping[str, Any]",
                    self.quick.inspect_image(reference),  # type: ignore[no-untyped-call]
                )
            except ImageNotFound:
                return None

    def away(self, error: BaseException) -> EngineAwayError:
        """What it means that the connection broke."""
        return EngineAwayError(
            f"the Docker engine at {self.endpoint.address} does not answer: {_reason(error)}",
            hint="start it, or set DOCKER_HOST to the address of one that runs",
        )


def _knock(path: str, timeout_s: float) -> None:
    """Raise the system's own error when nobody listens: the SDK buries it, and leaves its socket open."""
    with socket.socket(socket.AF_UNIX) as knock:
        knock.settimeout(timeout_s)
        knock.connect(path)


def one_line(text: str) -> str:
    """An engine's explanation as one clause, without its middle when that is far too long, as with a path in it."""
    words, half = " ".join(text.split()).rstrip("."), _CLAUSE_CHARACTERS // 2
    return words if len(words) <= _CLAUSE_CHARACTERS else f"{words[:half]}…{words[-half:]}"


def _reason(error: BaseException) -> str:
    """The system's own words from the bottom of a chain of errors, if it has any."""
    reason = ""
    link: BaseException | None = error
    while link is not None:
        if isinstance(link, TimeoutError):
            return "it takes too long"
        if isinstance(link, OSError) and link.strerror:
            reason = link.strerror.lower()
        link = link.__cause__ or link.__context__
    return reason or one_line(str(error))
