"""Runs a command of a step in a sandbox, and says how it failed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

import attrs

from reeval_build.execute.failures import StepExitError, StepFailedError, StepMemoryError, StepTimeoutError
from reeval_build.ports.engine import CommandTimeoutError
from reeval_build.state.workspace import is_replaced

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path
    from typing import BinaryIO

    from reeval_build.paths import Parts
    from reeval_build.ports.engine import Sandbox
    from reeval_build.ports.objects import Batch
    from reeval_build.state.delta import DeltaEntry

_QUOTED_BYTES: Final = 2000
_QUOTED_LINES: Final = 10


@attrs.frozen(kw_only=True)
class StepCommand:
    """A shell command of a step of a phase; `memory_bytes` is how much memory its sandbox may use, if that is limited.

    `cwd` is relative to the workspace, or absolute in the sandbox. Messages name it as `called`, else by itself, and
    with `quotes_log` they say the last that was written to its log, which must have no secrets then.
    """

    phase: str
    run: str
    cwd: str
    env: Mapping[str, str]
    timeout_s: float
    memory_bytes: int | None = None
    called: str | None = None
    quotes_log: bool = False

    @property
    def label(self) -> str:
        """What messages call it."""
        return self.run if self.called is None else self.called

    def reader(self, sandbox: Sandbox, workspace: Parts, log: Path) -> Callable[[Batch], tuple[DeltaEntry, ...]]:
        """What reads the changes of `sandbox` after the command, which must leave a directory at `workspace`."""

        def read(batch: Batch) -> tuple[DeltaEntry, ...]:
            entries = sandbox.capture(batch)
            if is_replaced(workspace, entries):
                raise StepFailedError(self.phase, self.label, "left no directory where the workspace was", log=log)
            return entries

        return read


def run_step(command: StepCommand, sandbox: Sandbox, *, stdout: BinaryIO, stderr: BinaryIO, log: Path) -> None:
    """Run a command to its end; what it writes ends in the file at `log`.

    Raises:
        StepFailedError: when it does not succeed, as one of its subclasses.
        CancelledError: when the run is told to stop.
        InfraError: when the engine fails.
    """
    try:
        code = sandbox.execute(
            ["/bin/sh", "-c", command.run],
            cwd=command.cwd,
            env=command.env,
            stdout=stdout,
            stderr=stderr,
            timeout_s=command.timeout_s,
        )
    except CommandTimeoutError as error:
        said = _last_said(command, stdout, log)
        raise StepTimeoutError(command.phase, command.label, error.timeout_s, log=log, said=said) from error
    if code == 0:
        return
    said = _last_said(command, stdout, log)
    if sandbox.was_killed_for_memory():
        raise StepMemoryError(command.phase, command.label, command.memory_bytes, log=log, said=said)
    raise StepExitError(command.phase, command.label, code, log=log, said=said)


def _last_said(command: StepCommand, output: BinaryIO, log: Path) -> str:
    """The last lines of a log, as one, when messages are to quote it."""
    if not command.quotes_log:
        return ""
    output.flush()
    with log.open("rb") as file:
        file.seek(max(0, log.stat().st_size - _QUOTED_BYTES))
        text = file.read().decode("utf-8", "replace")
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return " / ".join(lines[-_QUOTED_LINES:])
