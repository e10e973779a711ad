"""The processes of a private engine: dockerd and a registry, in namespaces of their own."""

from __future__ import annotations

import os
import signal
import subprocess
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

import attrs

from tests.support.engine import cache, network
from tests.support.engine.needs import NAMESPACES, EngineError, environment

if TYPE_CHECKING:
    from collections.abc import Iterator

_END_S: Final = 20.0
_LOG_LINES: Final = 10

# The first process of the namespaces waits for the network, then stays to collect orphans. A containerd found in
# /run would be used, so that is hidden; systemd's cgroup driver knows nothing of the process ids in here; and a
# loopback name server of the machine cannot be reached from here, while 10.0.2.3 always passes questions on to it.
_FIRST_PROCESS: Final = """
read -r _ || exit 1
ip link set lo up
mkdir -p /run/containerd && mount -t tmpfs tmpfs /run/containerd || exit 1
docker-registry serve "$1/registry.yml" > "$1/registry.log" 2>&1 &
dockerd --data-root "$1/data" --exec-root "$1/exec" --host "unix://$1/docker.sock" --pidfile "$1/pid" \
  --exec-opt native.cgroupdriver=cgroupfs --dns 10.0.2.3 > "$1/dockerd.log" 2>&1 &
wait $!
"""

_REGISTRY_CONFIG: Final = """\
version: 0.1
log: {{level: warn, accesslog: {{disabled: true}}}}
storage:
  filesystem: {{rootdirectory: {storage}}}
  delete: {{enabled: true}}
http: {{addr: ":{port}"}}
"""


@attrs.frozen(kw_only=True)
class Processes:
    """A started engine and registry, which may not answer yet."""

    run: Path
    registry_port: int
    _first: subprocess.Popen[bytes]
    _network: subprocess.Popen[bytes]

    def check(self) -> None:
        """Raise when the engine has ended by itself."""
        if self._first.poll() is not None:
            log = (self.run / "dockerd.log").read_text(errors="replace").splitlines()
            raise EngineError("\n".join(["the private engine ended by itself; its last words:", *log[-_LOG_LINES:]]))

    def kill(self) -> None:
        """End all of it and remove its directory."""
        self._first.kill()
        self._first.wait()
        self._network.wait(_END_S)
        cache.remove(self.run)


def start(*, outlives_us: bool) -> Processes:
    """Start an engine and a registry; unless they outlive us they are killed when the calling thread ends."""
    with cache.new_run() as (run, lock), _pipe() as (engine_ended, while_engine_lives):
        first = subprocess.Popen(
            [
                *([] if outlives_us else ["setpriv", "--pdeathsig", "KILL"]),
                *(*NAMESPACES, "sh", "-c", _FIRST_PROCESS, "sh", str(run)),
            ],
            env=environment(),
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            pass_fds=(lock, while_engine_lives),
            start_new_session=True,
        )
        (run / "first.pid").write_text(str(first.pid))
        try:
            connection = network.connect(run, first.pid, ends_with=engine_ended)
            port = network.forward_a_port(run)
            (run / "registry.yml").write_text(_REGISTRY_CONFIG.format(storage=run / "registry", port=port))
            _say_go(first)
        except BaseException:
            first.kill()
            first.wait()
            raise
        return Processes(run=run, registry_port=port, first=first, network=connection)


def kill(run: Path) -> None:
    """End an engine that another process started, and remove its directory."""
    if cache.is_alive(run):
        # While anything of the engine lives its first process does, so the number is still its.
        os.kill(int((run / "first.pid").read_text()), signal.SIGKILL)
    cache.remove(run)


def _say_go(first: subprocess.Popen[bytes]) -> None:
    assert first.stdin is not None, "it was made as a pipe"
    with first.stdin as stdin:
        stdin.write(b"go\n")


@contextmanager
def _pipe() -> Iterator[tuple[int, int]]:
    read_end, write_end = os.pipe()
    try:
        yield read_end, write_end
    finally:
        os.close(read_end)
        os.close(write_end)
