"""Base images: what identifies them, and what is said when there is none, or no engine."""

from __future__ import annotations

import io
import socket
import tarfile
import threading
from contextlib import closing
from typing import TYPE_CHECKING

import docker
import pytest

from reeval_build.engines.docker.connection import Connection
from reeval_build.engines.docker.endpoint import Endpoint, EndpointError
from reeval_build.engines.docker.engine import DockerEngine
from reeval_build.engines.docker.registry import MissingImageError
from reeval_build.model.spec import DockerSandbox
from reeval_build.ports.engine import EngineAwayError
from tests.support.workbench import Workbench

if TYPE_CHECKING:
    from collections.abc import Iterator

    from reeval_build.plan.resolution import Base
    from tests.support.engine import PrivateEngine


@pytest.fixture
def bench(engine: PrivateEngine, tmp_path) -> Iterator[Workbench]:
    with closing(Workbench(engine.url, tmp_path)) as made:
        yield made


@pytest.fixture
def client(engine: PrivateEngine) -> Iterator[docker.DockerClient]:
    with closing(docker.DockerClient(base_url=engine.url)) as made:
        yield made


def resolve(bench: Workbench, image: str) -> Base:
    return bench.engine.resolve(DockerSandbox(image=image), cancel=threading.Event())


def commit(client: docker.DockerClient, engine: PrivateEngine, name: str, *changes: str, command: str = "true") -> None:
    container = client.containers.create(engine.busybox, ["sh", "-c", command])
    container.start()
    container.wait()
    container.commit(name, "1", changes="\n".join(changes) or None)
    container.remove()


def test_an_image_in_the_engine_is_found_without_pulling(bench, engine, client):
    base = resolve(bench, engine.busybox)

    found = client.images.get(engine.busybox).attrs
    assert base.platform == "/".join(filter(None, [found["Os"], found["Architecture"], found.get("Variant")]))


@pytest.mark.conforms("76")
def test_an_image_of_a_registry_is_pulled_and_is_the_same_whatever_it_is_called(bench, engine):
    assert resolve(bench, engine.registry_busybox) == resolve(bench, engine.busybox)


def test_what_commands_cannot_see_is_no_part_of_the_identity(bench, engine, client):
    commit(client, engine, "reeval-build-test/labelled", "LABEL a=b", "CMD true", "WORKDIR /tmp")

    base, labelled = resolve(bench, engine.busybox), resolve(bench, "reeval-build-test/labelled:1")

    assert labelled == base
    assert client.images.get("reeval-build-test/labelled:1").id != client.images.get(engine.busybox).id


def test_another_environment_or_another_file_is_another_identity(bench, engine, client):
    commit(client, engine, "reeval-build-test/env", "ENV COLOUR=green")
    commit(client, engine, "reeval-build-test/file", command="echo > /file")
    names = [engine.busybox, "reeval-build-test/env:1", "reeval-build-test/file:1"]

    assert len({resolve(bench, name).identity for name in names}) == 3


@pytest.mark.conforms("76")
def test_a_tag_that_moved_is_another_identity(bench, engine, client):
    there = f"{engine.registry}/moving"
    commit(client, engine, there, command="echo one > /file")
    client.images.push(there, "1")
    before = resolve(bench, f"{there}:1")
    commit(client, engine, there, command="echo two > /file")
    client.images.push(there, "1")
    client.images.remove(f"{there}:1", force=True)

    after = resolve(bench, f"{there}:1")

    assert after.identity != before.identity


@pytest.mark.conforms("76")
def test_an_image_that_was_rebuilt_with_the_same_content_is_the_same(bench, client):
    def build(moment: int) -> None:
        buffer = io.BytesIO()
        with tarfile.open(fileobj=buffer, mode="w") as tar:
            tar.addfile(tarfile.TarInfo("file"))
        client.api.import_image_from_data(buffer.getvalue(), "reeval-build-test/rebuilt", str(moment))

    build(1)
    build(2)

    names = [f"reeval-build-test/rebuilt:{moment}" for moment in (1, 2)]
    one, two = (resolve(bench, name) for name in names)
    assert one == two
    assert len({client.images.get(name).id for name in names}) == 2


@pytest.mark.parametrize("name", ["{registry}/no/such:1", "127.0.0.1:1/no/registry:1", "No Such Name"])
def test_an_image_that_cannot_be_had_is_named(bench, engine, name):
    name = name.format(registry=engine.registry)

    with pytest.raises(MissingImageError) as caught:
        resolve(bench, name)

    assert caught.value.name == name
    assert "\n" not in str(caught.value)


def test_an_engine_without_a_socket_is_away(tmp_path, bench):
    address = f"unix://{tmp_path}/none.sock"
    engine = DockerEngine(bench.objects, scratch=tmp_path, address=address)

    with pytest.raises(EngineAwayError, match="no such file") as caught:
        engine.resolve(DockerSandbox(image="any"), cancel=threading.Event())

    assert address in str(caught.value)


def test_an_engine_that_refuses_connections_is_away(tmp_path, bench):
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        engine = DockerEngine(bench.objects, scratch=tmp_path, address=f"tcp://127.0.0.1:{unused.getsockname()[1]}")
        with pytest.raises(EngineAwayError, match="refused"):
            engine.resolve(DockerSandbox(image="any"), cancel=threading.Event())


def test_an_engine_that_accepts_and_says_nothing_is_away():
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        endpoint = Endpoint(address=f"tcp://127.0.0.1:{silent.getsockname()[1]}")

        with pytest.raises(EngineAwayError, match="too long"):
            Connection(endpoint, first_answer_s=0.2)


@pytest.mark.parametrize("address", ["ssh://host", "/var/run/docker.sock", "tcp://host"])
def test_an_address_that_cannot_be_used_is_named(tmp_path, bench, address):
    engine = DockerEngine(bench.objects, scratch=tmp_path, address=address)

    with pytest.raises(EndpointError, match=address):
        engine.resolve(DockerSandbox(image="any"), cancel=threading.Event())


def test_the_engine_of_the_environment_is_used_by_default(tmp_path, bench, engine, monkeypatch):
    monkeypatch.setenv("DOCKER_HOST", engine.url)

    with closing(DockerEngine(bench.objects, scratch=tmp_path)) as ours:
        assert ours.resolve(DockerSandbox(image=engine.busybox), cancel=threading.Event()) == resolve(
            bench, engine.busybox
        )
