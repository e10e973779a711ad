"""A container in which commands run, and whose changes are read at the end."""

from __future__ import annotations

import io
import posixpath
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from docker.errors import APIError

from reeval_build.engines.docker.connection import EngineRefusalError
from reeval_build.engines.docker.containers import USER
from reeval_build.engines.docker.output import CommandOutput, Demultiplexer, started
from reeval_build.engines.docker.places import HOME, WORKSPACE
from reeval_build.errors import CancelledError, InfraError
from reeval_build.ports.engine import CommandTimeoutError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import BinaryIO, Protocol

    from reeval_build.engines.docker.connection import Connection
    from reeval_build.ports.engine import Cancellation
    from reeval_build.ports.objects import Batch
    from reeval_build.state.delta import DeltaEntry

    class DeltaReader(Protocol):
        """Reads what an ended container changed."""

        def __call__(self, container: str, batch: Batch, /) -> tuple[DeltaEntry, ...]:
            """The changes, in order; the bytes of files are added to `batch`."""


_IN_DIRECTORY: Final = 'cd -- "$1" || exit; shift; exec "$@"'
_MEMORY_KILLS: Final = """\
for file in /sys/fs/cgroup/memory.events /sys/fs/cgroup/memory/memory.oom_control; do
  [ -r "$file" ] && while read -r name count; do [ "$name" = oom_kill ] && echo "$count"; done < "$file"
done
"""
_COUNTING_S: Final = 10.0
_TICK_S: Final = 0.1
_SILENCE_S: Final = 2.0
_NOT_RUNNING: Final = 409


class ContainerSandbox:
    """A running container as a sandbox; see `ports.engine.Sandbox`."""

    def __init__(
        self, connection: Connection, container: str, read_delta: DeltaReader, *, cancel: Cancellation
    ) -> None:
        self._connection = connection
        self.container = container
        self._read_delta = read_delta
        self._cancel = cancel

    def execute(
        self,
        command: Sequence[str],
        *,
        cwd: str,
        env: Mapping[str, str],
        stdout: BinaryIO,
        stderr: BinaryIO,
        timeout_s: float | None = None,
    ) -> int:
        """See `ports.engine.Sandbox.execute`."""
        for text in (*command, cwd, *env):
            if not _is_unicode(text):
                raise InfraError(f"{text!r} is not valid Unicode, and an engine takes nothing else")
        for name, value in env.items():
            # Which may be a secret: it is not shown.
            if not _is_unicode(value):
                raise InfraError(f"the value of {name} is not valid Unicode, and an engine takes nothing else")
        limits = _Limits(self._cancel, timeout_s)
        try:
            limits.check()
            exec_id = self._create(command, cwd, env)
            with started(self._connection, exec_id) as output:
                self._pass_on(output, Demultiplexer(stdout, stderr), exec_id, limits)
            while (exit_code := self._exit_code(exec_id)) is None:
                limits.check()
                time.sleep(_TICK_S)
        except (CancelledError, CommandTimeoutError) as stop:
            self._stop(stop)
            raise
        return exit_code

    def was_killed_for_memory(self) -> bool:
        """See `ports.engine.Sandbox.was_killed_for_memory`.

        The kernel counts in the sandbox's control group, which is what the sandbox sees as its own. The engine's word
        comes when a container has ended, and not for every command in it.
        """
        counts = io.BytesIO()
        command = ["/bin/sh", "-c", _MEMORY_KILLS]
        with suppress(EngineRefusalError, CommandTimeoutError):
            self.execute(command, cwd="/", env={}, stdout=counts, stderr=io.BytesIO(), timeout_s=_COUNTING_S)
        found = [int(line) for line in counts.getvalue().splitlines() if line.isdigit()]
        return any(found) if found else self._is_said_to_be_killed_for_memory()

    def _is_said_to_be_killed_for_memory(self) -> bool:
        self._end()
        with self._connection.asked_to("look at a container"):
            return bool(self._connection.quick.inspect_container(self.container)["State"]["OOMKilled"])

    def capture(self, batch: Batch) -> tuple[DeltaEntry, ...]:
        """See `ports.engine.Sandbox.capture`."""
        self._end()
        return self._read_delta(self.container, batch)

    def _create(self, command: Sequence[str], cwd: str, env: Mapping[str, str]) -> str:
        with self._connection.asked_to("create a command"):
            created = self._connection.quick.exec_create(
                self.container,
                ["/bin/sh", "-c", _IN_DIRECTORY, "sh", posixpath.join(WORKSPACE, cwd), *command],
                environment={"HOME": HOME, **env},
                user=USER,
                workdir="/",
            )
        return str(created["Id"])

    def _pass_on(self, output: CommandOutput, sink: Demultiplexer, exec_id: str, limits: _Limits) -> None:
        last_heard = time.monotonic()
        while (data := output.read(wait_s=_TICK_S)) != b"":
            limits.check()
            if data is not None:
                sink.feed(data)
                last_heard = time.monotonic()
            elif time.monotonic() - last_heard > _SILENCE_S:
                # A process that was left in the background can hold the stream open for ever.
                if self._exit_code(exec_id) is not None:
                    return
                last_heard = time.monotonic()

    def _exit_code(self, exec_id: str) -> int | None:
        with self._connection.asked_to("look at a command"):
            details = self._connection.quick.exec_inspect(exec_id)
        code = details["ExitCode"]
        return None if details["Running"] or code is None else int(code)

    def _stop(self, reason: CancelledError | CommandTimeoutError) -> None:
        try:
            self._end()
        except InfraError:
            # Whoever told the run to stop is not kept waiting by an engine that hangs as well.
            if not isinstance(reason, CancelledError):
                raise

    def _end(self) -> None:
        """Kill the first process of the container, and with it its process namespace: nothing in it survives that."""
        with self._connection.asked_to("end a container"):
            try:
                self._connection.quick.kill(self.container)
            except APIError as error:
                if error.status_code != _NOT_RUNNING:
                    raise
            self._connection.quick.wait(self.container, timeout=self._connection.quick.timeout)


def _is_unicode(text: str) -> bool:
    return text.isprintable() or not any("\ud800" <= character <= "\udfff" for character in text)


class _Limits:
    """Tells when a command must end before it has ended by itself."""

    def __init__(self, cancel: Cancellation, timeout_s: float | None) -> None:
        self._cancel = cancel
        self._timeout_s = timeout_s
        self._started = time.monotonic()

    def check(self) -> None:
        """Raise CancelledError or CommandTimeoutError when it is time."""
        if self._cancel.is_set():
            raise CancelledError
        if self._timeout_s is not None and time.monotonic() - self._started >= self._timeout_s:
            raise CommandTimeoutError(self._timeout_s)
