"""Runs a command of a step in a sandbox, and says how it failed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import attrs

from reeval_build.execute.failures import StepExitError, StepMemoryError, StepTimeoutError
from reeval_build.ports.engine import CommandTimeoutError

if TYPE_CHECKING:
    from pathlib import Path
    from typing import BinaryIO

    from reeval_build.ports.engine import Sandbox


@attrs.frozen(kw_only=True)
class StepCommand:
    """A shell command of a step of a phase; `memory_bytes` is how much memory its sandbox may use, if that is limited.

    `cwd` is relative to the workspace, or absolute in the sandbox.
    """

    phase: str
    run: str
    cwd: str
    env: Mapping[str, str]
    timeout_s: float
    memory_bytes: int | None = None


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
        raise StepTimeoutError(command.phase, command.run, error.timeout_s, log=log) from error
    if code != 0 and sandbox.was_killed_for_memory():
        raise StepMemoryError(command.phase, command.run, command.memory_bytes, log=log)
    if code != 0:
        raise StepExitError(command.phase, command.run, code, log=log)
