"""States: what a sandbox's file system is, by content."""

from __future__ import annotations

from functools import cached_property
from typing import Final, TypeAlias

import attrs

from reeval_build import canon
from reeval_build.digest import Digest, Domain
from reeval_build.paths import Parts

STATE: Final = Domain("state", 1)
RESTORED: Final = Domain("restored", 1)


@attrs.frozen
class Layout:
    """Where an engine's sandboxes have the workspace and the home directory, from their root."""

    workspace: Parts
    home: Parts


@attrs.frozen(kw_only=True)
class PlacedTree:
    """A delta that puts a tree of files somewhere: read from the store, never from a container.

    With `replaces`, nothing the state below has at `at` is left. Owners, modes and times are fixed: see
    `reeval_build.state.placed`.
    """

    at: Parts
    tree: Digest
    replaces: bool


@attrs.frozen(kw_only=True)
class StepDelta:
    """A delta that a step left; `times` names the modification times to restore with it."""

    delta: Digest

    times: Digest = attrs.field(eq=False)


Delta: TypeAlias = PlacedTree | StepDelta


@attrs.frozen(slots=False)
class State:
    """A base, by its content, and the deltas on top of it, lowest first.

    `env` is what every command finds in its environment (`NAME=value`), where that is not what the base has.
    """

    base: Digest
    deltas: tuple[Delta, ...] = ()
    env: tuple[str, ...] | None = None

    def on_top(self, *deltas: Delta) -> State:
        """This state with more deltas on it."""
        return State(self.base, (*self.deltas, *deltas), self.env)

    def lowest(self, count: int) -> State:
        """The state of no more than the lowest `count` deltas."""
        return State(self.base, self.deltas[:count], self.env)

    @cached_property
    def content(self) -> Digest:
        """What identifies the state: equal for equal bases and deltas, on every engine and machine."""
        env: list[canon.Value] = [] if self.env is None else [list(self.env)]
        return STATE.digest(canon.encode([self.base, [_identity(delta) for delta in self.deltas], *env]))

    @cached_property
    def restored(self) -> Digest:
        """What identifies the state together with the times it is restored with: states of one content may differ."""
        times = [delta.times if isinstance(delta, StepDelta) else None for delta in self.deltas]
        return RESTORED.digest(canon.encode([self.content, times]))


def _identity(delta: Delta) -> canon.Value:
    if isinstance(delta, PlacedTree):
        return ["placed", list(delta.at), delta.tree, delta.replaces]
    return ["step", delta.delta]
