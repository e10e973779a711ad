"""An engine that is reached over a network: nothing of its disk can be read from here."""

from __future__ import annotations

import socket
import socketserver
import threading
from contextlib import closing, suppress
from typing import TYPE_CHECKING

import pytest

from tests.support.workbench import Workbench, keep_delta, listing, succeed

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.support.engine import PrivateEngine


class Forwarder(socketserver.BaseRequestHandler):
    """Passes a connection on to the socket of an engine."""

    path: str

    def handle(self) -> None:
        with socket.socket(socket.AF_UNIX) as engine:
            engine.connect(self.path)
            back = threading.Thread(target=pass_on, args=(engine, self.request))
            back.start()
            pass_on(self.request, engine)
            back.join()


def pass_on(source: socket.socket, target: socket.socket) -> None:
    with suppress(OSError):
        while data := source.recv(65536):
            target.sendall(data)
    with suppress(OSError):
        target.shutdown(socket.SHUT_WR)


@pytest.fixture
def bench(engine: PrivateEngine, tmp_path) -> Iterator[Workbench]:
    handler = type("Handler", (Forwarder,), {"path": engine.url.removeprefix("unix://")})
    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        try:
            with closing(Workbench(f"tcp://127.0.0.1:{server.server_address[1]}", tmp_path)) as made:
                yield made
        finally:
            server.shutdown()
            thread.join()


def test_a_step_and_a_state_work_over_a_network(bench, engine):
    state = bench.place(bench.base(engine.busybox), "workspace", {"remote": b"1", "gone": b"2"})

    with bench.sandbox(state) as sandbox, bench.objects.batch() as batch:
        assert succeed(sandbox, "rm /workspace/gone; seq 1 100000 | tee /workspace/numbers | tail -n 1") == b"100000\n"
        before = listing(sandbox, "/workspace")
        state = state.on_top(keep_delta(batch, sandbox.capture(batch)))

    with bench.sandbox(state) as sandbox:
        assert listing(sandbox, "/workspace") == before
