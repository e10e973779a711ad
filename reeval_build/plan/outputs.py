"""What a finished node leaves for the nodes above it."""

from __future__ import annotations

from typing import Final, TypeAlias

import attrs

from reeval_build import canon
from reeval_build.digest import Digest, Domain
from reeval_build.state.state import State

OUTPUT: Final = Domain("output", 1)


@attrs.frozen(kw_only=True)
class TreeOutput:
    """Files for the workspace, for the home directory, or both."""

    workspace: Digest | None = None
    home: Digest | None = None


@attrs.frozen(kw_only=True)
class StateOutput:
    """A state."""

    state: State


@attrs.frozen(kw_only=True)
class SnapshotOutput:
    """The state a cell starts from.

    `baseline` is its workspace, which a sandbox's changes are compared with; `placed` is the part of the workspace
    that was there before setup, which counts as tracked whatever an ignore file says.
    """

    state: State
    baseline: Digest
    placed: Digest


Output: TypeAlias = TreeOutput | StateOutput | SnapshotOutput


def content_of(output: Output) -> Digest:
    """What identifies an output: nodes above it are keyed by this."""
    match output:
        case TreeOutput(workspace=workspace, home=home):
            value: canon.Value = ["tree", workspace, home]
        case StateOutput(state=state):
            value = ["state", state.content]
        case SnapshotOutput(state=state, baseline=baseline, placed=placed):
            value = ["snapshot", state.content, baseline, placed]
    return OUTPUT.digest(canon.encode(value))
