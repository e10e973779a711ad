"""Building with BuildKit, which only Docker's own client speaks to."""

from __future__ import annotations

import json
import os
import re
import selectors
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Final

import attrs

from reeval_build.digest import Digest
from reeval_build.engines.docker.build_context import write_context
from reeval_build.engines.docker.layers import ScratchError
from reeval_build.errors import CancelledError
from reeval_build.ports.builds import BuildFailedError
from reeval_build.ports.engine import CommandTimeoutError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import IO

    from reeval_build.engines.docker.endpoint import Endpoint
    from reeval_build.ports.engine import Cancellation
    from reeval_build.ports.objects import Objects

_ASK_S: Final = 20
_TICK_S: Final = 0.2
_TO_END_S: Final = 10.0
_CHUNK_BYTES: Final = 64 * 1024
_WITHOUT_BUILDX: Final = 23
"""From this version on, the client itself cannot build any more."""

# Ends the client when we are gone, however we went: then the other end of its input closes.
_WATCHED: Final = """
exec 3<&0
"$@" 3<&- </dev/null & client=$!
{ read -r _; kill 0; } <&3 >/dev/null 2>&1 & watch=$!
exec 3<&-
wait "$client"; code=$?
kill "$watch" 2>/dev/null
exit "$code"
"""
_ERROR: Final = re.compile(r"(?:ERROR:|error:|failed to solve[^:]*:)\s*(.*)")


@attrs.frozen(kw_only=True)
class Client:
    """A client that can have BuildKit build: the words that its command begins with, and its environment."""

    command: tuple[str, ...]
    env: Mapping[str, str]


def find_client(endpoint: Endpoint, settings: Path) -> Client | None:
    """The client on the PATH, if it is one that can; its settings are in a new directory, so that none are the user's.

    Those would put proxies, credentials and another builder into what is built.
    """
    program = shutil.which("docker")
    if program is None or (endpoint.tls is not None and "DOCKER_CERT_PATH" not in os.environ):
        return None
    plugins = Path(os.environ.get("DOCKER_CONFIG") or os.path.expanduser("~/.docker")) / "cli-plugins"
    settings.mkdir(mode=0o700)
    (settings / "config.json").write_text(json.dumps({"cliPluginsExtraDirs": [str(plugins)]}))
    env = {
        "PATH": os.environ.get("PATH", os.defpath),
        "HOME": str(settings),
        "DOCKER_CONFIG": str(settings),
        "DOCKER_HOST": endpoint.address,
        "DOCKER_BUILDKIT": "1",
        "BUILDX_NO_DEFAULT_ATTESTATIONS": "1",
        **{name: os.environ[name] for name in ("DOCKER_TLS_VERIFY", "DOCKER_CERT_PATH") if name in os.environ},
    }
    if _answer([program, "buildx", "version"], env) is not None:
        return Client(command=(program, "buildx", "build", "--builder=default", "--load"), env=env)
    version = (_answer([program, "version", "--format", "{{.Client.Version}}"], env) or "").partition(".")[0]
    if version.isdigit() and int(version) < _WITHOUT_BUILDX:
        return Client(command=(program, "build"), env=env)
    return None


def _answer(command: Sequence[str], env: Mapping[str, str]) -> str | None:
    try:
        done = subprocess.run(
            command, env=env, stdin=subprocess.DEVNULL, capture_output=True, timeout=_ASK_S, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.decode("utf-8", "replace").strip() if done.returncode == 0 else None


@attrs.frozen(kw_only=True)
class Build:
    """What is to be built: a Dockerfile whose images the engine has by the names in it."""

    dockerfile: bytes
    context: Digest
    name: str
    labels: Mapping[str, str]
    platform: str | None


def build_with_client(
    client: Client,
    build: Build,
    objects: Objects,
    *,
    place: Path,
    output: BinaryIO,
    timeout_s: float,
    cancel: Cancellation,
) -> None:
    """Build an image. `place` is a directory for temporary files.

    Raises:
        BuildFailedError: when it cannot be built.
        CommandTimeoutError: when it takes longer than `timeout_s`.
        CancelledError: when the run is told to stop.
        ScratchError: when what is sent cannot be written.
    """
    try:
        write_context(build.context, place / "context", objects)
        (place / "Dockerfile").write_bytes(build.dockerfile)
        # It is read in place of the one in the context, whose rules were followed already.
        (place / "Dockerfile.dockerignore").write_bytes(b"# All that is here is wanted.\n")
    except OSError as error:
        raise ScratchError(place, error) from error
    command = [
        *client.command,
        "--progress=plain",
        *(f"--label={name}={value}" for name, value in build.labels.items()),
        *(() if build.platform is None else (f"--platform={build.platform}",)),
        f"--tag={build.name}",
        f"--file={place / 'Dockerfile'}",
        str(place / "context"),
    ]
    tail = bytearray()
    code = _run(command, client.env, _Sink(output, tail), timeout_s, cancel)
    if code != 0:
        raise BuildFailedError(_reason(bytes(tail), code))


@attrs.frozen
class _Sink:
    """Passes output on, and keeps the end of it."""

    output: BinaryIO
    tail: bytearray

    def write(self, chunk: bytes) -> None:
        self.output.write(chunk)
        self.output.flush()
        self.tail.extend(chunk)
        del self.tail[:-_CHUNK_BYTES]


def _reason(tail: bytes, code: int) -> str:
    """The last line that says what went wrong."""
    for line in reversed(tail.decode("utf-8", "replace").splitlines()):
        match = _ERROR.search(line)
        if match is not None and match[1]:
            return match[1].strip()
    return f"the client ended with exit code {code}"


def _run(command: Sequence[str], env: Mapping[str, str], sink: _Sink, timeout_s: float, cancel: Cancellation) -> int:
    process = subprocess.Popen(
        ["/bin/sh", "-c", _WATCHED, "sh", *command],
        env=dict(env),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )
    assert process.stdout is not None, "it was started with pipes"
    assert process.stdin is not None, "it was started with pipes"
    deadline = time.monotonic() + timeout_s
    try:
        for chunk in _chunks(process.stdout):
            if chunk:
                sink.write(chunk)
            if cancel.is_set():
                raise CancelledError
            if time.monotonic() >= deadline:
                raise CommandTimeoutError(timeout_s)
        return process.wait()
    finally:
        _end(process)
        process.stdin.close()
        process.stdout.close()


def _chunks(stream: IO[bytes]) -> Iterator[bytes]:
    """What is read, as it comes, and nothing now and then."""
    with selectors.DefaultSelector() as selector:
        selector.register(stream, selectors.EVENT_READ)
        while True:
            if not selector.select(_TICK_S):
                yield b""
                continue
            chunk = os.read(stream.fileno(), _CHUNK_BYTES)
            if not chunk:
                return
            yield chunk


def _end(process: subprocess.Popen[bytes]) -> None:
    """Have the client tell the engine to stop, and end it when that takes long."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        if process.poll() is not None:
            return
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, number)
        with suppress(subprocess.TimeoutExpired):
            process.wait(_TO_END_S)


def new_place(scratch: Path) -> tempfile.TemporaryDirectory[str]:
    """A directory for one build, gone when its block ends."""
    scratch.mkdir(parents=True, exist_ok=True)
    return tempfile.TemporaryDirectory(prefix="build-", dir=scratch, ignore_cleanup_errors=True)
