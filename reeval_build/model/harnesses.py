"""What is known of each kind of harness, as one table."""

from __future__ import annotations

from typing import Final

import attrs


@attrs.frozen(kw_only=True)
class Harness:
    """An agent program, as far as it decides what a sandbox has in it. `rules_file` is relative to the workspace."""

    kind: str
    rules_file: str


HARNESSES: Final = {
    harness.kind: harness
    for harness in (
        Harness(kind="fake", rules_file="AGENTS.md"),
        Harness(kind="claude-code", rules_file="CLAUDE.md"),
        Harness(kind="codex", rules_file="AGENTS.md"),
    )
}
