"""A private engine, ready for tests."""

from __future__ import annotations

import http.client
import socket
import time
from contextlib import closing, contextmanager
from functools import partial
from typing import TYPE_CHECKING, Final

import attrs
import docker

from tests.support.engine import images, processes
from tests.support.engine.needs import EngineError, obstacle

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from tests.support.engine.processes import Processes

_ANSWER_S: Final = 60.0
_CALL_S: Final = 300


@attrs.frozen(kw_only=True)
class PrivateEngine:
    """Where a private engine is, and the base images it starts with.

    The images named `registry_...` are the same ones, but are not in the engine before they are pulled; they can be
    pulled again after everything in the engine was removed.
    """

    url: str
    registry: str
    busybox: str = f"{images.BUSYBOX}:{images.TAG}"
    python_image: str = f"{images.DEBIAN_PYTHON}:{images.TAG}"

    @property
    def registry_busybox(self) -> str:
        """The small image's name in the registry."""
        return f"{self.registry}/{self.busybox}"

    @property
    def registry_python_image(self) -> str:
        """The Python image's name in the registry."""
        return f"{self.registry}/{self.python_image}"


@contextmanager
def running() -> Iterator[PrivateEngine]:
    """An engine of our own for as long as the block runs; it never outlives the calling thread."""
    started, engine = start(outlives_us=False)
    try:
        yield engine
        remove_containers(engine)
    finally:
        started.kill()


def start(*, outlives_us: bool) -> tuple[Processes, PrivateEngine]:
    """Start an engine that has the base images, and wait until it and its registry answer.

    Raises:
        EngineError: when this machine cannot run one, or it does not come up.
    """
    reason = obstacle()
    if reason:
        raise EngineError(reason)
    started = processes.start(outlives_us=outlives_us)
    try:
        engine = PrivateEngine(url=f"unix://{started.run}/docker.sock", registry=f"127.0.0.1:{started.registry_port}")
        _wait(started, partial(_docker_answers, started.run / "docker.sock"))
        _wait(started, partial(_registry_answers, started.registry_port))
        with _client(engine) as client:
            images.provide(client, started)
    except BaseException:
        started.kill()
        raise
    return started, engine


def restore_base_images(engine: PrivateEngine) -> None:
    """Put the base images back if a test removed them."""
    with _client(engine) as client:
        images.load_missing(client)


def remove_containers(engine: PrivateEngine) -> None:
    """Remove the engine's containers, so that killing it leaves no control groups of theirs behind."""
    with _client(engine) as client:
        for container in client.containers.list(all=True, ignore_removed=True):
            container.remove(force=True)


def _client(engine: PrivateEngine) -> closing[docker.DockerClient]:
    return closing(docker.DockerClient(base_url=engine.url, timeout=_CALL_S))


def _wait(started: Processes, answers: Callable[[], bool]) -> None:
    end = time.monotonic() + _ANSWER_S
    while not answers():
        started.check()
        if time.monotonic() > end:
            raise EngineError(f"the private engine in {started.run} did not answer within {_ANSWER_S:.0f} s")
        time.sleep(0.02)


def _docker_answers(path: Path) -> bool:
    with socket.socket(socket.AF_UNIX) as connection, closing(http.client.HTTPConnection("docker")) as client:
        connection.settimeout(_ANSWER_S)
        try:
            connection.connect(str(path))
            client.sock = connection
            client.request("GET", "/_ping")
            return client.getresponse().status == http.HTTPStatus.OK
        except (OSError, http.client.HTTPException):
            return False


def _registry_answers(port: int) -> bool:
    with closing(http.client.HTTPConnection("127.0.0.1", port, timeout=_ANSWER_S)) as client:
        try:
            client.request("GET", "/v2/")
            return client.getresponse().status == http.HTTPStatus.OK
        except (OSError, http.client.HTTPException):
            return False
