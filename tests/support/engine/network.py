"""A network of its own for a private engine: user-mode, so nothing of the machine's own network is touched."""

from __future__ import annotations

import json
import os
import random
import socket
import subprocess
import time
from typing import TYPE_CHECKING, Final

from tests.support.engine.needs import EngineError, environment

if TYPE_CHECKING:
    from pathlib import Path

_START_S: Final = 15.0
# Below the ports that the kernel hands out, so that only another engine's can be in the way.
_PORTS: Final = range(20_000, 30_000)


def connect(run: Path, process: int, *, ends_with: int) -> subprocess.Popen[bytes]:
    """Connect the network namespace of `process` to the outside, until the pipe `ends_with` has no writer."""
    _wait_until_in_namespace(process)
    ready, set_ready = os.pipe()
    with open(ready, "rb") as is_ready, (run / "network.log").open("w") as log:  # noqa: PTH123 - a file descriptor
        try:
            network = subprocess.Popen(
                [
                    *("slirp4netns", "--configure", "--mtu=65520", "--disable-host-loopback"),
                    *("--api-socket", _api(run), "--exit-fd", str(ends_with), "--ready-fd", str(set_ready)),
                    *(str(process), "tap0"),
                ],
                env=environment(),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=log,
                pass_fds=(ends_with, set_ready),
                start_new_session=True,
            )
        finally:
            os.close(set_ready)
        if is_ready.read(1) != b"1":
            network.wait(_START_S)
            raise EngineError(f"the private engine's network did not start: {(run / 'network.log').read_text()}")
    return network


def forward_a_port(run: Path) -> int:
    """Let a free port on this machine's loopback lead to the same port in the engine's network, and give the port."""
    for port in random.sample(_PORTS, 20):
        call = {"proto": "tcp", "host_addr": "127.0.0.1", "host_port": port, "guest_port": port}
        if "return" in _ask(run, {"execute": "add_hostfwd", "arguments": call}):
            return port
    raise EngineError("no free loopback port was found for the private registry")


def _ask(run: Path, call: dict[str, object]) -> dict[str, object]:
    with socket.socket(socket.AF_UNIX) as api:
        api.settimeout(_START_S)
        api.connect(_api(run))
        api.sendall(json.dumps(call).encode())
        api.shutdown(socket.SHUT_WR)
        answer: dict[str, object] = json.loads(b"".join(iter(lambda: api.recv(4096), b"")))
        return answer


def _api(run: Path) -> str:
    return str(run / "network.sock")


def _wait_until_in_namespace(process: int) -> None:
    end = time.monotonic() + _START_S
    while _namespace(process) in {None, _namespace(os.getpid())}:
        if time.monotonic() > end:
            raise EngineError("the private engine did not get namespaces of its own")
        time.sleep(0.005)


def _namespace(process: int) -> str | None:
    try:
        return os.readlink(f"/proc/{process}/ns/net")  # noqa: PTH115 - not the path of a file
    except OSError:
        return None
