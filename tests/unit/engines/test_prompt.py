"""An answer of an engine that is not plain is none."""

from __future__ import annotations

import json
import socket
import threading
from contextlib import closing, suppress
from typing import TYPE_CHECKING

import pytest

from reeval_build.engines.docker.prompt import find_image

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

DETAILS = {"Id": "sha256:1", "Os": "linux", "Architecture": "arm64", "RootFS": {"Layers": ["sha256:2"]}, "Config": None}
OK = b"HTTP/1.0 200 OK\r\nContent-Type: application/json\r\n\r\n"


@pytest.fixture
def answering(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[bytes], list[bytes]]]:
    """Has a socket answer one question; gives the list that the question will be in."""
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(tmp_path / "engine.sock"))
        server.listen()
        monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/engine.sock")
        threads: list[threading.Thread] = []

        def begin(answer: bytes) -> list[bytes]:
            asked: list[bytes] = []

            def serve() -> None:
                connection, _ = server.accept()
                with closing(connection), suppress(OSError):
                    asked.append(connection.recv(65536))
                    connection.sendall(answer)

            threads.append(threading.Thread(target=serve))
            threads[-1].start()
            return asked

        yield begin
        for thread in threads:
            thread.join()


def test_a_plain_answer_is_an_image(answering):
    asked = answering(OK + json.dumps(DETAILS).encode())

    image = find_image("registry:5000/a b@c\r\n")

    assert image is not None
    assert (image.platform, image.layers, image.env, image.image_id) == ("linux/arm64", ("sha256:2",), (), "sha256:1")
    assert asked[0].startswith(b"GET /images/registry:5000/a%20b%40c%0D%0A/json HTTP/1.0\r\nHost: docker\r\n\r\n")


@pytest.mark.parametrize(
    "answer",
    [
        b"",
        b"\r\n\r\n",
        OK,
        OK + b"[]",
        OK + b"{}",
        OK + json.dumps(DETAILS).encode()[:-1],
        OK + json.dumps(DETAILS | {"RootFS": None}).encode(),
        OK + json.dumps(DETAILS | {"Config": 1}).encode(),
        b"HTTP/1.0 404 Not Found\r\n\r\n" + json.dumps(DETAILS).encode(),
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n",
    ],
)
def test_any_other_answer_is_none(answering, answer):
    answering(answer)

    assert find_image("a") is None


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("DOCKER_CONTEXT", "remote"),
        ("DOCKER_TLS_VERIFY", "1"),
        ("DOCKER_HOST", "tcp://127.0.0.1:1"),
        ("DOCKER_HOST", "unix://relative.sock"),
    ],
)
def test_an_engine_that_may_be_elsewhere_is_not_asked(tmp_path, monkeypatch, name, value):
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(tmp_path / "engine.sock"))
        server.listen()
        server.settimeout(0)
        monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/engine.sock")
        monkeypatch.setenv(name, value)

        assert find_image("a") is None
        with pytest.raises(BlockingIOError):
            server.accept()
