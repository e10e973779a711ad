"""Runs a command on the host and leaves no process of it behind."""

from __future__ import annotations

import os
import secrets
import selectors
import signal
import subprocess
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

from reeval_build.errors import CancelledError
from reeval_build.ports.engine import CommandTimeoutError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import IO, BinaryIO

    from reeval_build.ports.engine import Cancellation

_LOOK_AGAIN_S: Final = 0.05
_CHUNK_BYTES: Final = 65536
_MARK: Final = "REEVAL_BUILD_COMMAND"
_NOT_EXECUTABLE: Final = 126
_NOT_FOUND: Final = 127
_KILLED_BY: Final = 128


def run(
    command: Sequence[str],
    *,
    cwd: Path,
    env: Mapping[str, str],
    stdout: BinaryIO,
    stderr: BinaryIO,
    timeout_s: float | None,
    cancel: Cancellation,
) -> int:
    """Run a command in a session of its own; see `ports.engine.Sandbox.execute`.

    When it returns or raises, the process group is gone, and on Linux so is every process that still has the
    variable which marks the command in its environment, in whatever session.
    """
    mark = secrets.token_hex(16)
    try:
        process = subprocess.Popen(
            command,
            cwd=cwd,
            env={**env, _MARK: mark},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
            umask=0o022,
        )
    except OSError as error:
        return _could_not_start(command, cwd, error, stderr)
    try:
        _pump(process, {process.stdout: stdout, process.stderr: stderr}, timeout_s, cancel)
    finally:
        _end(process, mark)
    code = process.returncode
    return code if code >= 0 else _KILLED_BY - code


def _could_not_start(command: Sequence[str], cwd: Path, error: OSError, stderr: BinaryIO) -> int:
    missing_directory = not cwd.is_dir()
    what = cwd if missing_directory else command[0]
    stderr.write(f"{what}: {error.strerror}\n".encode())
    return _NOT_FOUND if isinstance(error, FileNotFoundError) and not missing_directory else _NOT_EXECUTABLE


def _pump(
    process: subprocess.Popen[bytes],
    streams: Mapping[IO[bytes] | None, BinaryIO],
    timeout_s: float | None,
    cancel: Cancellation,
) -> None:
    """Pass the output on until the command ends; whatever it left running is not waited for."""
    deadline = None if timeout_s is None else time.monotonic() + timeout_s
    with selectors.DefaultSelector() as selector:
        for source, target in streams.items():
            assert source is not None, "it was opened as a pipe"
            selector.register(source, selectors.EVENT_READ, target)
        while process.poll() is None:
            _pass_on(selector, _LOOK_AGAIN_S)
            if cancel.is_set():
                raise CancelledError
            if deadline is not None and time.monotonic() > deadline:
                assert timeout_s is not None, "a deadline comes from a limit"
                raise CommandTimeoutError(timeout_s)
        while _pass_on(selector, 0):
            pass


def _pass_on(selector: selectors.BaseSelector, timeout_s: float) -> bool:
    if not selector.get_map():
        time.sleep(timeout_s)
        return False
    passed = False
    for key, _events in selector.select(timeout_s):
        chunk = os.read(key.fd, _CHUNK_BYTES)
        if chunk:
            key.data.write(chunk)
            key.data.flush()
            passed = True
        else:
            selector.unregister(key.fileobj)
    return passed


def _end(process: subprocess.Popen[bytes], mark: str) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    while marked := list(_marked(mark)):
        for pid in marked:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(_LOOK_AGAIN_S / 10)
    for stream in (process.stdout, process.stderr):
        if stream is not None:
            stream.close()


def _marked(mark: str) -> Iterator[int]:
    """The processes of this command that are still there, in whatever session; none where there is no /proc."""
    wanted = f"{_MARK}={mark}".encode()
    for entry in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if wanted in (entry / "environ").read_bytes().split(b"\0"):
                yield int(entry.name)
