"""Which entries of a directory of the host become part of its tree."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from reeval_build.paths import Parts


class Choice(Enum):
    """What becomes of an entry. A directory that is only `ENTERED` is kept when something in it is."""

    KEPT = "kept"
    ENTERED = "entered"
    LEFT_OUT = "left out"


class Selection(Protocol):
    """Chooses entries by their path alone; what is below one that is left out is never asked for."""

    @property
    def key(self) -> bytes:
        """Differs for selections that choose differently."""

    def choose(self, parts: Parts, *, is_directory: bool) -> Choice:
        """What becomes of the entry at `parts`, which lead from the root. The directories above were asked before."""
