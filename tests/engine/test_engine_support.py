"""The private engine itself: what every other test in this directory stands on."""

from __future__ import annotations

import re
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import docker
import pytest

from tests.support.engine import PrivateEngine, cache, restore_base_images

if TYPE_CHECKING:
    from collections.abc import Iterator

_CHECKOUT = Path(__file__).parents[2]

_START_AND_WAIT = """
from tests.support.engine import running
with running() as engine:
    print(engine.url.removeprefix("unix://").removesuffix("/docker.sock"), flush=True)
    input()
"""


@pytest.fixture
def client(engine: PrivateEngine) -> Iterator[docker.DockerClient]:
    with closing(docker.DockerClient(base_url=engine.url, timeout=120)) as client:
        yield client


def run(client: docker.DockerClient, image: str, script: str) -> str:
    return client.containers.run(image, ["sh", "-c", script], remove=True).decode()


@pytest.mark.parametrize("image", ["busybox", "python_image", "registry_busybox", "registry_python_image"])
def test_each_image_runs_a_shell(engine: PrivateEngine, client: docker.DockerClient, image: str) -> None:
    assert run(client, getattr(engine, image), "echo ok") == "ok\n"


def test_the_python_image_makes_environments_and_reaches_the_package_index(
    engine: PrivateEngine, client: docker.DockerClient
) -> None:
    script = "python3 -m venv /tmp/v && cd /root && /tmp/v/bin/pip download --quiet --no-deps click && ls"

    said = run(client, engine.python_image, script)

    assert re.search(r"^click-.*\.whl$", said, re.MULTILINE)


def test_a_pulled_image_is_the_same_and_has_a_digest(engine: PrivateEngine, client: docker.DockerClient) -> None:
    image = client.images.pull(engine.registry_busybox)

    assert image.id == client.images.get(engine.busybox).id
    assert re.fullmatch(rf"{engine.registry}/.*@sha256:[0-9a-f]{{64}}", image.attrs["RepoDigests"][0])


def test_base_images_are_there_again_after_a_test_removed_everything(
    engine: PrivateEngine, client: docker.DockerClient
) -> None:
    client.images.prune(filters={"dangling": False})
    assert client.images.list() == []

    restore_base_images(engine)

    assert run(client, engine.busybox, "echo ok") == "ok\n"
    assert run(client, engine.python_image, "echo ok") == "ok\n"


def test_an_engine_does_not_outlive_a_killed_test_run() -> None:
    with subprocess.Popen(
        [sys.executable, "-c", _START_AND_WAIT], cwd=_CHECKOUT, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as owner:
        assert owner.stdout is not None
        run_directory = Path(owner.stdout.readline().decode().strip())
        assert cache.is_alive(run_directory)

        owner.kill()

    cache.remove(run_directory, timeout_s=10)
    assert not run_directory.exists()
