"""The types of what authors write for harnesses."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, Required, TypedDict

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from reeval_build.model.written import Duration


class HarnessOptions(TypedDict, total=False):
    """The options that every harness with a model has."""

    model: Required[str]
    gateway: Literal["direct", "vercel"] | None
    id: str | None
    max_concurrent: int | None
    start_timeout: Duration | None


class HarnessOptionsWithEffort(HarnessOptions, total=False):
    """The options of most harnesses."""

    effort: str | None


class ClaudeCodeOptions(HarnessOptions, total=False):
    """The options of `claude_code`."""

    effort: Literal["low", "medium", "high", "xhigh", "max"] | None


class CursorOptions(HarnessOptionsWithEffort, total=False):
    """The options of `cursor`."""

    params: Mapping[str, str] | None


class FakeHarnessOptions(TypedDict, total=False):
    """The options of `fake_harness`."""

    layout: (
        Literal["cursor", "claude-code", "antigravity", "opencode", "goose", "pi", "codex", "fx", "grok-build"] | None
    )
    effort: str | None
    gateway: Literal["direct", "vercel"] | None
    id: str | None
    max_concurrent: int | None
    start_timeout: Duration | None
    delay_ms: float | None
    fail_with: str | None
    files: Mapping[str, str] | None
    flake_rate: float | None
    ignore_abort: bool | None
    reasoning: str | None
    script: Sequence[Sequence[Mapping[str, object]]] | None
    served_model: str | None
    start_hangs: float | None
    text: str | None
    tools: Sequence[Mapping[str, object]] | None
    with_skill: Mapping[str, object] | None
