"""A runner's process, its pipes and its end."""

from __future__ import annotations

import enum
import os
import selectors
import signal
import subprocess
import time
from collections import deque
from contextlib import suppress
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path
    from typing import IO, Self

    from reeval_build.loading.runner_output import RunnerOutput

MOST_LINE_BYTES: Final = 64 * 1024 * 1024
_LOOK_AGAIN_S: Final = 0.05
_CHUNK_BYTES: Final = 65536
_MOST_CHUNKS_LEFT: Final = 64
_TO_END_S: Final = 1.0


class Silence(enum.Enum):
    """Why there is no line."""

    ENDED = "the process ended, or closed its output"
    TIME = "none came within the time"
    SIZE = "it is too long"


class RunnerProcess:
    """A command in a session of its own that takes and gives one line at a time; `output` gets what else it says."""

    def __init__(self, command: Sequence[str], *, cwd: Path, env: Mapping[str, str], output: RunnerOutput) -> None:
        """Start it.

        Raises:
            OSError: when it cannot be started.
        """
        self._process = subprocess.Popen(
            command,
            cwd=cwd,
            env=env,
            bufsize=0,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
        self._output = output
        self._lines: deque[bytes] = deque()
        self._partial: list[bytes] = []
        self._partial_bytes = 0
        self._selector = selectors.DefaultSelector()
        self._selector.register(_pipe(self._process.stdout), selectors.EVENT_READ, self._take)
        self._selector.register(_pipe(self._process.stderr), selectors.EVENT_READ, output.take)

    def send(self, line: bytes) -> None:
        """Send a line; nothing happens when nobody reads it any more."""
        # It fits into the pipe, so this does not wait.
        with suppress(BrokenPipeError):
            _pipe(self._process.stdin).write(line + b"\n")

    def receive(self, timeout_s: float) -> bytes | Silence:
        """The next line, without its end."""
        deadline = time.monotonic() + timeout_s
        while not self._lines:
            if self._partial_bytes > MOST_LINE_BYTES:
                return Silence.SIZE
            if self._has_ended():
                # A process that it left behind can hold the pipes open: what is in them is read, not waited for.
                self._read_rest()
                if not self._lines:
                    return Silence.ENDED
                break
            left_s = deadline - time.monotonic()
            if left_s <= 0:
                return Silence.TIME
            self._read(min(left_s, _LOOK_AGAIN_S))
        line = self._lines.popleft()
        return Silence.SIZE if len(line) > MOST_LINE_BYTES else line

    def end(self) -> int | None:
        """Close its input and give it a moment to end; its exit code.

        None when it did not end; a negative number is the signal that ended it.
        """
        with suppress(BrokenPipeError):
            _pipe(self._process.stdin).close()
        deadline = time.monotonic() + _TO_END_S
        while self._process.poll() is None and time.monotonic() < deadline:
            self._read(_LOOK_AGAIN_S)
        return self._process.poll()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        """Kill what is left of its process group, read what it still said, and close the pipes."""
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        self._read_rest()
        self._selector.close()
        for pipe in (self._process.stdin, self._process.stdout, self._process.stderr):
            with suppress(BrokenPipeError):
                _pipe(pipe).close()

    def _has_ended(self) -> bool:
        return self._process.poll() is not None or _pipe(self._process.stdout) not in self._selector.get_map()

    def _read(self, timeout_s: float) -> bool:
        """Read what comes within the time; whether anything did."""
        if not self._selector.get_map():
            time.sleep(timeout_s)
            return False
        ready = self._selector.select(timeout_s)
        for key, _events in ready:
            chunk = os.read(key.fd, _CHUNK_BYTES)
            if chunk:
                key.data(chunk)
            else:
                self._selector.unregister(key.fileobj)
        return bool(ready)

    def _read_rest(self) -> None:
        for _ in range(_MOST_CHUNKS_LEFT):
            if not self._read(0):
                return

    def _take(self, chunk: bytes) -> None:
        *ends, rest = chunk.split(b"\n")
        for end in ends:
            self._lines.append(b"".join((*self._partial, end)))
            self._partial.clear()
            self._partial_bytes = 0
        self._partial.append(rest)
        self._partial_bytes += len(rest)


def _pipe(stream: IO[bytes] | None) -> IO[bytes]:
    assert stream is not None, "the process was started with pipes"
    return stream
