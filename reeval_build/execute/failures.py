"""How pieces of work fail."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reeval_build.errors import InfraError
from reeval_build.plan.labels import shorten

if TYPE_CHECKING:
    from pathlib import Path


class StepFailedError(InfraError):
    """A command of an install or setup step did not succeed; its result is not kept."""

    def __init__(self, phase: str, run: str, reason: str, *, log: Path) -> None:
        super().__init__(f'{phase} step "{shorten(run)}" {reason}', hint=f"its output is in {log}")
        self.phase, self.run, self.reason, self.log = phase, run, reason, log
