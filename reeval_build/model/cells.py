"""Cells: an environment on a harness."""

from __future__ import annotations

import attrs

from reeval_build.model.egress import Egress, effective
from reeval_build.model.environment import Environment
from reeval_build.model.harnesses import Harness
from reeval_build.model.merge import Merged
from reeval_build.model.spec import Sandbox


@attrs.frozen(kw_only=True)
class Cell:
    """One environment on one harness, merged, with its sandbox decided.

    `harness_id` is what the harness is called when that is more than its kind, such as `codex:gpt-5`. `file` is the
    file the environment was found in, as messages name it.
    """

    environment: Environment
    harness: Harness
    merged: Merged
    sandbox: Sandbox
    harness_id: str | None = None

    file: str = attrs.field(eq=False)

    @property
    def name(self) -> str:
        """How people name the cell: `ENVIRONMENT@HARNESS`."""
        return f"{self.environment.name}@{self.harness_name}"

    @property
    def egress(self) -> Egress:
        """Where its sandbox may connect, in one form; the automatic hosts come to that."""
        return effective(self.merged.egress)

    @property
    def harness_name(self) -> str:
        """What its harness is called: an id, or a kind."""
        return self.harness.kind if self.harness_id is None else self.harness_id
