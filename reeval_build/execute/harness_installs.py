"""Installs the program of a harness in a sandbox, and sees whether it works."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

from reeval_build.errors import InfraError
from reeval_build.execute.commands import StepCommand, run_step
from reeval_build.execute.leaks import keep_delta
from reeval_build.execute.redaction import Redactor
from reeval_build.plan.outputs import StateOutput

if TYPE_CHECKING:
    from pathlib import Path
    from typing import BinaryIO

    from reeval_build.execute.context import Context
    from reeval_build.plan.work import HarnessWork
    from reeval_build.ports.engine import Sandbox
    from reeval_build.state.state import State

# A program that waits for somebody to log in would have all the time that a download has.
SMOKE_TIMEOUT_S: Final = 120.0


class MissingProgramError(InfraError):
    """What installs a harness needs a program that its image does not have."""

    def __init__(self, label: str, kind: str, program: str) -> None:
        super().__init__(
            f"harness {label} is installed with {program}, and there is no {program} in its image",
            hint="use an image that has it, such as node:24-bookworm, or install it in an install step of docker(), "
            f"or write commands of your own as install in [tool.reeval-build.harness.{kind}]",
        )
        self.program = program


def install_harness(work: HarnessWork, state: State, context: Context, log: Path) -> StateOutput:
    """Install a harness on `state`, then see whether it works in another sandbox, of what was kept of that.

    What the second leaves is not kept: a program writes files when it starts.

    Raises:
        MissingProgramError: when the image lacks what installs it.
        StepFailedError: when a command does not succeed, the one that says whether it works included.
    """
    install, engine = work.install, context.engines(work.engine)
    with log.open("wb") as output:
        with engine.start(state, cancel=context.cancel) as sandbox:
            if install.needs is not None and not _has(sandbox, install.needs, output):
                raise MissingProgramError(install.label, install.kind, install.needs)
            for run in install.install:
                command = _command(work, run, called=install.label if install.needs else run)
                run_step(command, sandbox, stdout=output, stderr=output, log=log)
            delta, _ = keep_delta(command.reader(sandbox, engine.layout.workspace, log), Redactor({}), context)
        installed = state.on_top(delta)
        with engine.start(installed, cancel=context.cancel) as sandbox:
            smoke = _command(work, install.smoke, at_most_s=SMOKE_TIMEOUT_S)
            run_step(smoke, sandbox, stdout=output, stderr=output, log=log)
    return StateOutput(state=installed)


def _has(sandbox: Sandbox, program: str, output: BinaryIO) -> bool:
    found = ["/bin/sh", "-c", 'command -v "$0" >/dev/null', program]
    return sandbox.execute(found, cwd="/", env={}, stdout=output, stderr=output) == 0


def _command(work: HarnessWork, run: str, *, called: str | None = None, at_most_s: float = math.inf) -> StepCommand:
    return StepCommand(
        phase=work.phase,
        run=run,
        cwd="/",
        env={},
        timeout_s=min(work.install.timeout_s, at_most_s),
        called=called,
        quotes_log=True,
    )
