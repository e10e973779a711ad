"""A private engine for a benchmark, or why there is none. An engine that is there already is never used."""

from __future__ import annotations

import os
import shutil
import subprocess
from contextlib import contextmanager
from typing import TYPE_CHECKING

from builders import Docker

from tests.support.engine import EngineError, obstacle, running

if TYPE_CHECKING:
    from collections.abc import Iterator


class NoDockerError(Exception):
    """What benchmarks of Docker need is not there."""


@contextmanager
def docker() -> Iterator[Docker]:
    """An engine of our own for the block. Raises NoDockerError where there can be none."""
    reason = obstacle()
    if reason:
        raise NoDockerError(reason)
    try:
        with running() as engine:
            yield Docker(client=_client(engine.url), url=engine.url, image=engine.python_image)
    except EngineError as error:
        raise NoDockerError(str(error)) from error


def _client(url: str) -> str:
    """A client that can build with BuildKit: Debian's can, others need a plugin."""
    candidates = [path for path in ("/usr/bin/docker", shutil.which("docker")) if path]
    env = {**os.environ, "DOCKER_HOST": url, "DOCKER_BUILDKIT": "1"}
    for candidate in dict.fromkeys(candidates):
        build = [candidate, "build", "--quiet", "-"]
        done = subprocess.run(build, input=b"FROM scratch\nENV A=1\n", env=env, capture_output=True, check=False)
        if done.returncode == 0:
            return candidate
    raise NoDockerError("no docker client here can build with BuildKit")
