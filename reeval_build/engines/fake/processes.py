"""Runs a command on the host and leaves no process of it behind."""

from __future__ import annotations

import os
import selectors
import signal
import subprocess
import time
from contextlib import closing, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

from reeval_build.errors import CancelledError, InfraError
from reeval_build.ports.engine import CommandTimeoutError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import IO, BinaryIO

    from reeval_build.ports.engine import Cancellation

_LOOK_AGAIN_S: Final = 0.05
_END_WITHIN_S: Final = 5.0
_CHUNK_BYTES: Final = 65536
_MOST_CHUNKS_LEFT: Final = 32
_MARK: Final = b"REEVAL_BUILD_SANDBOX"
_NOT_EXECUTABLE: Final = 126
_NOT_FOUND: Final = 127
_KILLED_BY: Final = 128


class ProcessesRemainError(InfraError):
    """Processes of a sandbox cannot be ended."""

    def __init__(self, directory: Path, pids: Sequence[int]) -> None:
        numbers = ", ".join(map(str, sorted(pids)))
        super().__init__(
            f"processes of the sandbox {directory} cannot be ended: {numbers}",
            hint="end them as the user they run as; `ps -fp` with a number says which that is",
        )
        self.directory, self.pids = directory, tuple(sorted(pids))


def run(
    command: Sequence[str],
    *,
    sandbox: Path,
    cwd: bytes,
    env: Mapping[str, str],
    stdout: BinaryIO,
    stderr: BinaryIO,
    timeout_s: float | None,
    cancel: Cancellation,
) -> int:
    """Run a command of the sandbox at `sandbox` in a session of its own; see `ports.engine.Sandbox.execute`.

    When it returns or raises, the process group is gone, and on Linux so is every process that still has the
    variable which names the sandbox in its environment, in whatever session.

    Raises:
        InfraError: when the command has ended and a process of it cannot be ended.
    """
    try:
        process = subprocess.Popen(
            [encoded(argument) for argument in command],
            cwd=cwd,
            env={encoded(name): encoded(value) for name, value in env.items()} | {_MARK: os.fsencode(sandbox)},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
            umask=0o022,
        )
    except OSError as error:
        return _could_not_start(command, cwd, error, stderr)
    with closing(_Output({process.stdout: stdout, process.stderr: stderr})) as output:
        try:
            _wait(process, output, timeout_s, cancel)
        except BaseException:
            # What ended the command is what the caller hears of.
            with suppress(InfraError):
                _end(process, sandbox)
            raise
        else:
            _end(process, sandbox)
        finally:
            # What they wrote before they ended; more than a pipe holds comes only from one that got away.
            output.pass_on_rest()
    code = process.returncode
    return code if code >= 0 else _KILLED_BY - code


def encoded(text: str) -> bytes:
    """What an author wrote is UTF-8 in the sandbox, whatever the locale of the host is."""
    return text.encode("utf-8", "surrogateescape")


def _could_not_start(command: Sequence[str], cwd: bytes, error: OSError, stderr: BinaryIO) -> int:
    missing_directory = not os.path.isdir(cwd)
    what = cwd if missing_directory else encoded(command[0])
    stderr.write(what + f": {error.strerror}\n".encode())
    return _NOT_FOUND if isinstance(error, FileNotFoundError) and not missing_directory else _NOT_EXECUTABLE


class _Output:
    """The pipes that a command writes into, and where what comes out of each goes."""

    def __init__(self, streams: Mapping[IO[bytes] | None, BinaryIO]) -> None:
        self._streams = [source for source in streams if source is not None]
        self._selector = selectors.DefaultSelector()
        for source in self._streams:
            self._selector.register(source, selectors.EVENT_READ, streams[source])

    def pass_on(self, timeout_s: float) -> bool:
        """Pass on what comes within the time; whether anything did."""
        if not self._selector.get_map():
            time.sleep(timeout_s)
            return False
        passed = False
        for key, _events in self._selector.select(timeout_s):
            chunk = os.read(key.fd, _CHUNK_BYTES)
            if chunk:
                key.data.write(chunk)
                key.data.flush()
                passed = True
            else:
                self._selector.unregister(key.fileobj)
        return passed

    def pass_on_rest(self) -> None:
        """Pass on what is in the pipes now."""
        for _ in range(_MOST_CHUNKS_LEFT):
            if not self.pass_on(0):
                return

    def close(self) -> None:
        """Close the pipes."""
        self._selector.close()
        for stream in self._streams:
            stream.close()


def _wait(process: subprocess.Popen[bytes], output: _Output, timeout_s: float | None, cancel: Cancellation) -> None:
    """Pass the output on until the command ends; whatever it left running is not waited for."""
    deadline = None if timeout_s is None else time.monotonic() + timeout_s
    while process.poll() is None:
        output.pass_on(_LOOK_AGAIN_S)
        if cancel.is_set():
            raise CancelledError
        if deadline is not None and time.monotonic() > deadline:
            assert timeout_s is not None, "a deadline comes from a limit"
            raise CommandTimeoutError(timeout_s)


def _end(process: subprocess.Popen[bytes], sandbox: Path) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    try:
        process.wait(_END_WITHIN_S)
    except subprocess.TimeoutExpired as error:
        raise ProcessesRemainError(sandbox, [process.pid]) from error
    end_processes(sandbox)


def end_processes(directory: Path) -> None:
    """End every process of the sandbox at `directory`, and of sandboxes below it, that still names it.

    Does nothing where there is no /proc.

    Raises:
        ProcessesRemainError: when some are left after several seconds, such as another user's.
    """
    deadline = time.monotonic() + _END_WITHIN_S
    while pids := list(_processes_of(os.fsencode(directory))):
        if time.monotonic() > deadline:
            raise ProcessesRemainError(directory, pids)
        for pid in pids:
            with suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(_LOOK_AGAIN_S / 10)


def _processes_of(directory: bytes) -> Iterator[int]:
    for entry in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            for variable in (entry / "environ").read_bytes().split(b"\0"):
                name, _, sandbox = variable.partition(b"=")
                if name == _MARK and (sandbox + b"/").startswith(directory + b"/"):
                    yield int(entry.name)
