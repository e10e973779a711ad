"""Cells: an environment on a harness."""

from __future__ import annotations

from typing import Final

import attrs

from reeval_build.model.egress import Egress, effective
from reeval_build.model.environment import Environment
from reeval_build.model.harnesses import Harness
from reeval_build.model.merge import Merged
from reeval_build.model.spec import Sandbox

# No environment can have it in its name.
BEFORE_EVAL: Final = "#"


@attrs.frozen(kw_only=True)
class Cell:
    """One environment on one harness, merged, with its sandbox decided.

    `harness_id` is what the harness is called when that is more than its kind, such as `codex:gpt-5`. `file` is the
    file the environment was found in, as messages name it; `of_eval` the eval it is called after, when evals make
    several cells of that environment and harness.
    """

    environment: Environment
    harness: Harness
    merged: Merged
    sandbox: Sandbox
    harness_id: str | None = None

    file: str = attrs.field(eq=False)
    of_eval: str | None = attrs.field(default=None, eq=False)

    @property
    def name(self) -> str:
        """How people name the cell: `ENVIRONMENT@HARNESS`, and `#EVAL` where that is not one cell."""
        return self.short_name + ("" if self.of_eval is None else BEFORE_EVAL + self.of_eval)

    @property
    def short_name(self) -> str:
        """`ENVIRONMENT@HARNESS`."""
        return f"{self.environment.name}@{self.harness_name}"

    @property
    def egress(self) -> Egress:
        """Where its sandbox may connect, in one form; the automatic hosts come to that."""
        return effective(self.merged.egress)

    @property
    def harness_name(self) -> str:
        """What its harness is called: an id, or a kind."""
        return self.harness.kind if self.harness_id is None else self.harness_id
