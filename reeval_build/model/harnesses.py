"""What is known of each kind of harness, as one table."""

from __future__ import annotations

from typing import Final

import attrs

_EVERY_PART: Final = frozenset({"skills", "agents", "commands", "hooks", "mcp", "rules"})


@attrs.frozen(kw_only=True)
class Harness:
    """An agent program, as far as it decides what a sandbox has in it.

    Paths are relative to the workspace, or begin with `~/` for the home directory. `skills` is where it reads skills,
    `workspace_skills` where those go that are placed in the workspace. `plugin_parts` are the parts of plugins that
    it loads: a plugin with another one is refused. `has_sse` says whether it speaks to MCP servers over SSE.

    A plugin's MCP server is refused when it reads a host variable and `plugin_variables` is false, and when it has
    the name of another server and `plugin_names_may_repeat` is false.
    """

    kind: str
    rules_file: str = "AGENTS.md"
    skills: str = ".agents/skills"
    workspace_skills: str = ".agents/skills"
    plugin_parts: frozenset[str] = _EVERY_PART
    has_sse: bool = True
    plugin_variables: bool = True
    plugin_names_may_repeat: bool = True


# Rules: reeval's documentation, "Fields" (rules, plugins) and "Errors"; where skills are read: its wire types,
# `FakeHarnessDescriptor.layout`. Where a workspace's skills go, and where Cursor reads them, is our choice. Goose, fx
# and Grok Build read skills in a home of their own that reeval does not name: for Goose and Grok Build it is the place
# that their own documentation has for one user's skills, for fx the one that most agents share.
HARNESSES: Final = {
    harness.kind: harness
    for harness in (
        Harness(kind="fake"),
        Harness(
            kind="claude-code",
            rules_file="CLAUDE.md",
            skills=".claude/skills",
            workspace_skills=".claude/skills",
            plugin_parts=_EVERY_PART - {"rules"},
            plugin_variables=False,
        ),
        Harness(
            kind="codex",
            skills="~/.agents/skills",
            plugin_parts=frozenset({"skills", "mcp"}),
            plugin_variables=False,
            plugin_names_may_repeat=False,
        ),
        Harness(kind="cursor"),
        Harness(kind="antigravity", skills="~/.gemini/config/skills", plugin_variables=False),
        Harness(
            kind="opencode",
            skills="~/.config/opencode/skills",
            plugin_parts=_EVERY_PART - {"hooks", "rules"},
        ),
        Harness(kind="goose", skills="~/.config/goose/skills", plugin_parts=frozenset({"skills", "mcp"})),
        Harness(
            kind="pi",
            skills="~/.pi/agent/skills",
            plugin_parts=frozenset({"skills", "commands", "mcp"}),
            has_sse=False,
            plugin_names_may_repeat=False,
        ),
        Harness(kind="fx", skills="~/.agents/skills", plugin_parts=frozenset({"skills", "mcp"})),
        Harness(
            kind="grok-build",
            skills="~/.grok/skills",
            plugin_parts=_EVERY_PART - {"rules"},
            plugin_variables=False,
            plugin_names_may_repeat=False,
        ),
    )
}
