"""How the commands of steps fail: each way is a class of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from reeval_build.errors import InfraError
from reeval_build.model.sizes import size_text
from reeval_build.plan.labels import shorten

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path


class StepFailedError(InfraError):
    """A command of an install or setup step, a harness or a plugin's build did not succeed; its result is not kept.

    `said` is the end of what it wrote, where that may be shown.
    """

    def __init__(
        self, phase: str, run: str, reason: str, *, log: Path, said: str = "", tail: Iterable[str] = ()
    ) -> None:
        quoted = f": {said}" if said else ""
        super().__init__(f'{phase} step "{shorten(run)}" {reason}{quoted}', *tail, hint=f"its output is in {log}")
        self.phase, self.run, self.reason, self.log = phase, run, reason, log


class StepExitError(StepFailedError):
    """The command ended with another code than 0."""

    category: ClassVar[str] = "exit"

    def __init__(self, phase: str, run: str, code: int, *, log: Path, said: str = "") -> None:
        super().__init__(phase, run, f"failed with exit code {code}", log=log, said=said)
        self.code = code


class StepTimeoutError(StepFailedError):
    """The command did not end in time."""

    category: ClassVar[str] = "timeout"

    def __init__(self, phase: str, run: str, timeout_s: float, *, log: Path, said: str = "") -> None:
        super().__init__(phase, run, f"timed out after {timeout_s:g} s", log=log, said=said)
        self.timeout_s = timeout_s


class StepMemoryError(StepFailedError):
    """The command failed, and memory was used up: its sandbox's, or all that the engine's machine has."""

    category: ClassVar[str] = "memory"

    def __init__(self, phase: str, run: str, limit_bytes: int | None, *, log: Path, said: str = "") -> None:
        super().__init__(phase, run, killed_for_memory(limit_bytes), log=log, said=said)
        self.limit_bytes = limit_bytes


class DockerfileFailedError(StepFailedError):
    """An image could not be built from a Dockerfile; `tail` are the last lines of what its builder said."""

    category: ClassVar[str] = "exit"

    def __init__(self, name: str, reason: str, tail: tuple[str, ...], *, log: Path) -> None:
        lines = [f"  {line}" for line in tail if line not in reason]
        super().__init__("dockerfile", name, f"failed: {reason}", log=log, tail=lines)
        self.tail = tail


class DockerfileTimeoutError(StepFailedError):
    """An image was not built in time."""

    category: ClassVar[str] = "timeout"

    def __init__(self, name: str, timeout_s: float, *, log: Path) -> None:
        super().__init__("dockerfile", name, f"timed out after {timeout_s:g} s", log=log)
        self.timeout_s = timeout_s


def killed_for_memory(limit_bytes: int | None) -> str:
    """What is said of a command that was; its limit is None when it had none."""
    limit = "the engine's machine had no more" if limit_bytes is None else f"limit {size_text(limit_bytes)}"
    return f"was killed for memory ({limit})"
