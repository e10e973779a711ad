"""Which hook events and types each harness runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import attrs

if TYPE_CHECKING:
    from collections.abc import Mapping


@attrs.frozen
class HookSupport:
    """The events that a harness calls hooks for, and the types of hooks it can call."""

    events: frozenset[str]
    types: frozenset[str]


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


# Sources, read on 2026-11-30: claude-code: its plugin manifest schema, its hooks reference and its changelog. cursor:
# "Third Party Hooks" of its documentation. antigravity: the events and types measured by skillsaw's rule
# antigravity-hooks-valid. grok-build: "Hooks" of its user guide. Harnesses that load no hooks are not here, nor is
# fake, which takes all.
HOOK_SUPPORT: Final[Mapping[str, HookSupport]] = {
    "claude-code": HookSupport(
        events=_names(
            "PreToolUse PostToolUse PostToolUseFailure PostToolBatch Notification UserPromptSubmit "
            "UserPromptExpansion SessionStart SessionEnd Stop StopFailure SubagentStart SubagentStop PreCompact "
            "PostCompact PermissionRequest PermissionDenied Setup TeammateIdle TaskCreated TaskCompleted Elicitation "
            "ElicitationResult ConfigChange WorktreeCreate WorktreeRemove InstructionsLoaded CwdChanged "
            "FileChanged DirectoryAdded MessageDisplay PreModelSwitch PostModelSwitch"
        ),
        types=frozenset({"command", "prompt", "agent", "http", "mcp_tool"}),
    ),
    "cursor": HookSupport(
        events=_names("PreToolUse PostToolUse UserPromptSubmit Stop SubagentStop SessionStart SessionEnd PreCompact"),
        types=frozenset({"command", "prompt"}),
    ),
    "antigravity": HookSupport(
        events=_names("PreToolUse PostToolUse PreInvocation PostInvocation Stop SessionStart"),
        types=frozenset({"command", "prompt"}),
    ),
    "grok-build": HookSupport(
        events=_names(
            "SessionStart UserPromptSubmit PreToolUse PostToolUse PostToolUseFailure PermissionDenied Stop "
            "StopFailure StopCancelled Notification SubagentStart SubagentStop PreCompact PostCompact "
            "SessionEnd"
        ),
        types=frozenset({"command", "http"}),
    ),
}
