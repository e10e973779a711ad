"""What is known of each kind of harness, as one table; docs/reference/harnesses.md is made from it."""

from __future__ import annotations

from typing import Final

from reeval_build.model.harness_facts import EVERY_PART, Harness, HookSupport, McpFile, Origin

_COMMAND_OR_PROMPT: Final = frozenset({"command", "prompt"})


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


# What has no origin is from reeval's documentation, "Fields" (rules, plugins) and "Errors", and where skills are read
# from its wire types, `FakeHarnessDescriptor.layout`. Other sources were read on 2026-11-30. Where the skills of a
# workspace go is our choice for every kind: `.claude/skills` for the one that reads that, else what most agents share.
HARNESSES: Final = {
    harness.kind: harness
    for harness in (
        Harness(kind="fake"),
        Harness(
            kind="claude-code",
            rules_file="CLAUDE.md",
            skills=".claude/skills",
            workspace_skills=".claude/skills",
            plugin_parts=EVERY_PART - {"rules"},
            hooks=HookSupport(
                events=_names(
                    "PreToolUse PostToolUse PostToolUseFailure PostToolBatch Notification UserPromptSubmit "
                    "UserPromptExpansion SessionStart SessionEnd Stop StopFailure SubagentStart SubagentStop "
                    "PreCompact PostCompact PermissionRequest PermissionDenied Setup TeammateIdle TaskCreated "
                    "TaskCompleted Elicitation ElicitationResult ConfigChange WorktreeCreate WorktreeRemove "
                    "InstructionsLoaded CwdChanged FileChanged DirectoryAdded MessageDisplay PreModelSwitch "
                    "PostModelSwitch"
                ),
                types=_COMMAND_OR_PROMPT | {"agent", "http", "mcp_tool"},
            ),
            takes_plugin_variables=False,
            mcp_file=McpFile(path="~/.claude.json", form="`mcpServers`, each with its `type`", sse='`"type": "sse"`'),
            origins=(
                Origin("hooks", "its plugin manifest schema, its hooks reference and its changelog"),
                Origin(
                    "MCP servers",
                    'its documentation, "MCP": scopes, `type`, expansion of `${NAME}` in `command`, `args`, `env`, '
                    "`url` and `headers`",
                    "expansion is documented for `.mcp.json`, of which this file's `mcpServers` is the user's form",
                ),
            ),
        ),
        Harness(
            kind="codex",
            skills="~/.agents/skills",
            plugin_parts=frozenset({"skills", "mcp"}),
            own_manifest=".codex-plugin/plugin.json",
            takes_plugin_variables=False,
            server_names_may_repeat=False,
            offers_apps=True,
            has_sse=False,
            mcp_file=McpFile(
                path="~/.codex/config.toml",
                form="`[mcp_servers.<name>]`; variables by name, in `env_vars`, `env_http_headers` and "
                "`bearer_token_env_var`",
                variable=None,
                has_bare_names=True,
            ),
            origins=(
                Origin("its manifest", "public texts about its plugins", "reeval says only that there is one"),
                Origin(
                    "MCP servers", "its documentation of `mcp_servers`, and the configuration parser in its repository"
                ),
            ),
        ),
        Harness(
            kind="cursor",
            hooks=HookSupport(
                events=_names(
                    "PreToolUse PostToolUse UserPromptSubmit Stop SubagentStop SessionStart SessionEnd PreCompact"
                ),
                types=_COMMAND_OR_PROMPT,
            ),
            item_names_may_repeat=False,
            mcp_file=McpFile(path="~/.cursor/mcp.json", form="`mcpServers`", variable="${env:NAME}"),
            origins=(
                Origin("where skills are read", "the fake harness, which has its image and reads them there"),
                Origin("hooks", '"Third Party Hooks" of its documentation'),
                Origin("MCP servers", 'its documentation, "Model Context Protocol": both files and interpolation'),
            ),
        ),
        Harness(
            kind="antigravity",
            skills="~/.gemini/config/skills",
            hooks=HookSupport(
                events=_names("PreToolUse PostToolUse PreInvocation PostInvocation Stop SessionStart"),
                types=_COMMAND_OR_PROMPT,
            ),
            own_manifest="plugin.json",
            takes_plugin_variables=False,
            mcp_file=McpFile(
                path="~/.gemini/config/mcp_config.json",
                form="`mcpServers`, a remote server by `serverUrl`",
                variable=None,
            ),
            origins=(
                Origin("its manifest", "public texts about its plugins", "reeval says only that there is one"),
                Origin("hooks", "what the linter skillsaw measured, its rule antigravity-hooks-valid"),
                Origin(
                    "MCP servers",
                    "public guides for the Antigravity CLI by makers of MCP servers, which agree on the file and on "
                    "`serverUrl`; skillsaw, which measured the file against the program",
                    "its own documentation was not at hand; whether SSE needs another key",
                ),
            ),
        ),
        Harness(
            kind="opencode",
            skills="~/.config/opencode/skills",
            plugin_parts=EVERY_PART - {"hooks", "rules"},
            mcp_file=McpFile(
                path="~/.config/opencode/opencode.json", form="`mcp`, `local` and `remote`", variable="{env:NAME}"
            ),
            origins=(
                Origin(
                    "MCP servers",
                    'its documentation, "MCP servers"; "Migrate from V1" says that version 2 reads this form, too',
                ),
            ),
        ),
        Harness(
            kind="goose",
            skills="~/.config/goose/skills",
            plugin_parts=frozenset({"skills", "mcp"}),
            has_sse=False,
            mcp_file=McpFile(
                path="~/.config/goose/config.yaml",
                form="`extensions`, `stdio` and `streamable_http`; variables by name, in `env_keys`",
            ),
            origins=(
                Origin(
                    "where skills are read",
                    "its own documentation, for the skills of one user",
                    "reeval says only that it is a private home",
                ),
                Origin(
                    "MCP servers",
                    '"Configuration Files" in its repository; its pull request 5439 for `${NAME}` in headers',
                ),
            ),
        ),
        Harness(
            kind="pi",
            skills="~/.pi/agent/skills",
            plugin_parts=frozenset({"skills", "commands", "mcp"}),
            server_names_may_repeat=False,
            has_sse=False,
            mcp_file=McpFile(path="~/.pi/agent/mcp.json", form="`mcpServers`", has_bare_names=True),
            origins=(
                Origin(
                    "MCP servers",
                    "the README of `pi-mcp-adapter`, an extension: pi itself has no MCP; for SSE, reeval",
                    "which extension reeval's adapter uses",
                ),
            ),
        ),
        Harness(
            kind="fx",
            skills="~/.agents/skills",
            plugin_parts=frozenset({"skills", "mcp"}),
            origins=(
                Origin(
                    "where skills are read",
                    "the place that most agents share",
                    "reeval says only that it is a private home",
                ),
                Origin("MCP servers", "nothing was found, so they are refused"),
            ),
        ),
        Harness(
            kind="grok-build",
            skills="~/.grok/skills",
            plugin_parts=EVERY_PART - {"rules"},
            hooks=HookSupport(
                events=_names(
                    "SessionStart UserPromptSubmit PreToolUse PostToolUse PostToolUseFailure PermissionDenied Stop "
                    "StopFailure StopCancelled Notification SubagentStart SubagentStop PreCompact PostCompact "
                    "SessionEnd"
                ),
                types=frozenset({"command", "http"}),
            ),
            takes_plugin_variables=False,
            server_names_may_repeat=False,
            mcp_file=McpFile(
                path="~/.grok/config.toml",
                form="`[mcp_servers.<name>]`",
                has_bare_names=True,
                sse='`type = "sse"`',
            ),
            origins=(
                Origin(
                    "where skills are read",
                    "its own documentation, for the skills of one user",
                    "reeval says only that it is a private home",
                ),
                Origin("hooks", '"Hooks" of its user guide'),
                Origin(
                    "MCP servers", '"MCP Servers" of its user guide, and `mcp.rs` of its repository for `type = "sse"`'
                ),
            ),
        ),
    )
}
