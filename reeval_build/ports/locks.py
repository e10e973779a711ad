"""Where it is written down what images are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable

    from reeval_build.plan.locks import Locks


class LockFile(Protocol):
    """The lock file of a project, which need not be there."""

    def read(self) -> Locks:
        """What it says.

        Raises:
            PlanError: when it cannot be read.
        """

    def change(self, change: Callable[[Locks], Locks]) -> None:
        """Have it say what `change` makes of what it says now; other processes wait meanwhile.

        Raises:
            PlanError: when it cannot be read.
            OSError: when it cannot be written.
        """


class RegistryAnswers(Protocol):
    """Asks the registries of images."""

    def digest(self, name: str) -> str:
        """What `name` is in its registry now, `sha256:...`.

        Raises:
            InfraError: when the registry does not say, or the engine that asks it does not answer.
        """

    def close(self) -> None:
        """Close what is open."""
