"""What a process that was killed left in the engine."""

from __future__ import annotations

import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import docker
import pytest

from reeval_build.engines.docker.containers import OWNER_LABEL
from reeval_build.engines.owner import current_owner
from tests.support.workbench import Workbench

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.support.engine import PrivateEngine

_CHECKOUT = Path(__file__).parents[2]
_START_AND_WAIT = """
import sys
from pathlib import Path
from tests.support.workbench import Workbench
bench = Workbench(sys.argv[1], Path(sys.argv[2]))
with bench.sandbox(bench.base(sys.argv[3])) as sandbox:
    print(sandbox.container, flush=True)
    input()
"""


@pytest.fixture
def client(engine: PrivateEngine) -> Iterator[docker.DockerClient]:
    with closing(docker.DockerClient(base_url=engine.url)) as made:
        yield made


def test_the_container_of_a_killed_process_is_removed_by_the_next_one(engine, client, tmp_path):
    with subprocess.Popen(
        [sys.executable, "-c", _START_AND_WAIT, engine.url, str(tmp_path / "killed"), engine.busybox],
        cwd=_CHECKOUT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        name = process.stdout.readline().strip()
        assert client.containers.get(name).status == "running"
        process.kill()

    with closing(Workbench(engine.url, tmp_path / "next")) as bench:
        bench.run(bench.base(engine.busybox), "true")

    with pytest.raises(docker.errors.NotFound):
        client.containers.get(name)


def test_the_image_through_which_a_killed_process_read_changes_is_removed(engine, client, tmp_path):
    with subprocess.Popen(["true"]) as process:
        place, pid, start = current_owner().split(":")
        dead = f"{place}:{process.pid}:{int(start) + 1}"
    container = client.containers.create(engine.busybox, "true", labels={OWNER_LABEL: dead})
    image = container.commit()

    with closing(Workbench(engine.url, tmp_path)) as bench:
        bench.run(bench.base(engine.busybox), "true")

    assert pid != str(process.pid)
    with pytest.raises(docker.errors.ImageNotFound):
        client.images.get(image.id)


def test_containers_of_the_living_and_of_strangers_stay(engine, client, tmp_path):
    owners = [current_owner(), "another-machine:1:1"]
    kept = [client.containers.create(engine.busybox, "true", labels={OWNER_LABEL: owner}) for owner in owners]
    kept.append(client.containers.create(engine.busybox, "true"))

    with closing(Workbench(engine.url, tmp_path)) as bench:
        bench.run(bench.base(engine.busybox), "true")

    for container in kept:
        container.reload()
        container.remove()


def test_two_engines_of_one_process_leave_each_other_alone(engine, client, tmp_path):
    with closing(Workbench(engine.url, tmp_path / "one")) as one, one.sandbox(one.base(engine.busybox)) as sandbox:
        with closing(Workbench(engine.url, tmp_path / "two")) as two:
            two.run(two.base(engine.busybox), "true")

        assert client.containers.get(sandbox.container).status == "running"
