"""Images of private states: there while they are used, and then gone with their layers."""

from __future__ import annotations

import secrets
import subprocess
import sys
import threading
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import docker
import pytest

from reeval_build.engines.docker.containers import OWNER_LABEL
from reeval_build.engines.owner import current_owner
from reeval_build.model.spec import DockerSandbox
from tests.support.workbench import Workbench, succeed

if TYPE_CHECKING:
    from collections.abc import Iterator

    from docker.models.images import Image

    from reeval_build.engines.docker.engine import DockerEngine
    from reeval_build.state.state import State
    from tests.support.engine import PrivateEngine

_CHECKOUT = Path(__file__).parents[2]
_START_AND_WAIT = """
import sys
from pathlib import Path
from tests.support.workbench import Workbench
bench = Workbench(sys.argv[1], Path(sys.argv[2]))
state = bench.place(bench.base(sys.argv[3]), "workspace", {"a": sys.argv[4].encode()})
bench.engine.keep_private(state)
with bench.sandbox(state):
    print(state.restored.hex, flush=True)
    input()
"""


@pytest.fixture
def client(engine: PrivateEngine) -> Iterator[docker.DockerClient]:
    with closing(docker.DockerClient(base_url=engine.url)) as made:
        yield made


@pytest.fixture
def bench(engine: PrivateEngine, tmp_path: Path) -> Iterator[Workbench]:
    with closing(Workbench(engine.url, tmp_path / "bench")) as made:
        yield made


@pytest.fixture
def state(bench: Workbench, engine: PrivateEngine) -> State:
    """A state of which the engine has nothing."""
    return bench.place(bench.base(engine.busybox), "workspace", {"a": secrets.token_bytes(8)})


@contextmanager
def used(bench: Workbench, image: str, state: State, *, private: State | None = None) -> Iterator[DockerEngine]:
    """An engine that has run a sandbox of a state; it is closed when the block ends."""
    with closing(bench.another()) as made:
        made.resolve(DockerSandbox(image=image), cancel=threading.Event())
        if private is not None:
            made.keep_private(private)
        with made.start(state, cancel=threading.Event()) as sandbox:
            succeed(sandbox, "cat /workspace/* > /dev/null")
        yield made


def image_of(client: docker.DockerClient, state: State) -> Image | None:
    try:
        return client.images.get(f"reeval-build/state:{state.restored.hex}")
    except docker.errors.ImageNotFound:
        return None


def test_a_private_image_names_its_owner_and_is_gone_when_the_engine_is_closed(engine, client, bench, state):
    with used(bench, engine.busybox, state, private=state):
        image = image_of(client, state)

    assert image is not None
    assert image.labels[OWNER_LABEL] == current_owner()
    with pytest.raises(docker.errors.ImageNotFound):
        client.images.get(image.id)


def test_the_state_below_keeps_its_image_which_has_no_owner(engine, client, bench, state):
    above = bench.place(state, "workspace", {"b": b"b"})

    with used(bench, engine.busybox, above, private=above):
        pass

    below = image_of(client, state)
    assert image_of(client, above) is None
    assert below is not None
    assert OWNER_LABEL not in below.labels


def test_an_image_that_was_there_before_the_state_was_private_is_removed_when_it_is_used(engine, client, bench, state):
    with used(bench, engine.busybox, state):
        pass
    assert image_of(client, state) is not None

    with used(bench, engine.busybox, state, private=state):
        pass

    assert image_of(client, state) is None


def test_an_image_that_another_engine_runs_stays_until_that_one_is_closed(engine, client, bench, state):
    with closing(bench.another()) as other:
        other.resolve(DockerSandbox(image=engine.busybox), cancel=threading.Event())
        other.keep_private(state)
        with other.start(state, cancel=threading.Event()) as sandbox:
            with used(bench, engine.busybox, state, private=state):
                pass
            assert succeed(sandbox, "ls /workspace") == b"a\n"
            assert image_of(client, state) is not None
    assert image_of(client, state) is None

    assert [image for image in client.images.list(all=True) if OWNER_LABEL in image.labels] == []


def test_the_private_image_of_a_killed_process_is_removed_by_the_next_one(engine, client, tmp_path):
    with subprocess.Popen(
        [sys.executable, "-c", _START_AND_WAIT, engine.url, str(tmp_path / "killed"), engine.busybox, str(tmp_path)],
        cwd=_CHECKOUT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        name = f"reeval-build/state:{process.stdout.readline().strip()}"
        assert client.images.get(name).tags == [name]
        process.kill()

    with closing(Workbench(engine.url, tmp_path / "next")) as bench:
        bench.run(bench.base(engine.busybox), "true")

    with pytest.raises(docker.errors.ImageNotFound):
        client.images.get(name)


def test_closing_an_engine_that_is_away_is_no_trouble(engine, bench, state):
    with used(bench, engine.busybox, state, private=state) as made:
        made.close()
        made.close()
