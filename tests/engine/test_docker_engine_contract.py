"""The engine that runs sandboxes as containers, held to the contract of engines."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

import docker
import pytest

from reeval_build.model.spec import DockerSandbox
from tests.contract.engine_suite import Bench, EngineContract
from tests.support.engine import PrivateEngine, restore_base_images
from tests.support.workbench import Workbench

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(scope="module")
def bench(engine: PrivateEngine, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    restore_base_images(engine)
    with (
        closing(Workbench(engine.url, tmp_path_factory.mktemp("bench"))) as workbench,
        closing(docker.DockerClient(base_url=engine.url)) as client,
    ):
        yield Bench(
            engine=workbench.engine,
            another=workbench.another,
            objects=workbench.objects,
            sandbox=DockerSandbox(image=engine.busybox),
            leftovers=lambda: [str(container.name) for container in client.containers.list(all=True)],
            traces=lambda state: [
                tag for image in client.images.list() for tag in image.tags if tag.endswith(state.restored.hex)
            ],
            random_sequences=3,
        )


class TestDockerEngine(EngineContract):
    pass
