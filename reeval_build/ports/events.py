"""What happens while a plan is executed, as values."""

from __future__ import annotations

from enum import Enum
from typing import Protocol, TypeAlias

import attrs

from reeval_build.digest import Digest
from reeval_build.paths import Parts
from reeval_build.plan.graph import Node


class Status(Enum):
    """How a node, or a cell, ended."""

    HIT = "hit"
    RAN = "ran"
    FAILED = "failed"
    SKIPPED = "skipped"


@attrs.frozen(kw_only=True)
class NodeWaiting:
    """Another process is building the same node; `owner` says which."""

    node: Node
    owner: str


@attrs.frozen(kw_only=True)
class NodeFinished:
    """A node ended. `problem` is why it failed; `log` is where the output of its command is."""

    node: Node
    status: Status
    seconds: float
    problem: str | None = None
    log: str | None = None


@attrs.frozen(kw_only=True)
class ObjectLost:
    """A piece of a stored result is missing or corrupt; what it belonged to is built again.

    Said once for each thing that it belongs to.
    """

    digest: Digest
    problem: str


@attrs.frozen(kw_only=True)
class CellNotRecorded:
    """The record of a cell, which is built, could not be written."""

    cell: str
    problem: str


@attrs.frozen(kw_only=True)
class SecretLeft:
    """A step left values of secrets in what it changed: that, and what stands on it, is used but not kept.

    `names` are those of the secrets in `env`; `paths` is where, from the root of the sandbox.
    """

    node: Node
    names: tuple[str, ...]
    paths: tuple[str, ...]


@attrs.frozen(kw_only=True)
class NamesAlike:
    """A node placed files that some file systems take for one; `groups` are their paths, two or more of a directory."""

    node: Node
    groups: tuple[tuple[Parts, ...], ...]


@attrs.frozen(kw_only=True)
class StoreWaiting:
    """There is no room left in the budget, and another process looks after the store; `owner` says which."""

    owner: str


@attrs.frozen(kw_only=True)
class InUse:
    """Who uses so many bytes of a store."""

    owner: str
    bytes: int


@attrs.frozen(kw_only=True)
class BudgetExceeded:
    """A store has more bytes than it may, for more of it is in use. Said once, for it can last."""

    budget_bytes: int
    bytes: int
    uses: tuple[InUse, ...]


@attrs.frozen(kw_only=True)
class LockNotWritten:
    """What images are now could not be written to the lock file: the next build asks again."""

    problem: str


Event: TypeAlias = (
    NodeWaiting
    | NodeFinished
    | ObjectLost
    | CellNotRecorded
    | SecretLeft
    | NamesAlike
    | StoreWaiting
    | BudgetExceeded
    | LockNotWritten
)


class Listener(Protocol):
    """Is told of events, as they happen, from whichever thread they happen in."""

    def __call__(self, event: Event, /) -> None:
        """Take note of `event`."""
