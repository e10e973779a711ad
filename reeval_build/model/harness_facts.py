"""What there is to know of a harness."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import attrs

if TYPE_CHECKING:
    from reeval_build.model.skills import Placement

# Those of `model.plugins`, which start-up does without.
EVERY_PART: Final = frozenset({"skills", "agents", "commands", "hooks", "mcp", "rules"})


@attrs.frozen(kw_only=True)
class HookSupport:
    """The events that a harness calls hooks for, and the types of hooks it can call."""

    events: frozenset[str]
    types: frozenset[str]


@attrs.frozen(kw_only=True)
class McpFile:
    """The file that a harness reads MCP servers from.

    `form` says for people what is in it. `variable` is how a value refers to the variable NAME of the harness's own
    process, and None when values cannot. `has_bare_names` says that a server's name is letters, digits, `_` and `-`
    only, so that one of a plugin goes without the plugin's.
    """

    path: str
    form: str
    variable: str | None = "${NAME}"
    has_bare_names: bool = False
    sse: str = "as any remote server"

    def reference(self, name: str) -> str:
        """How a value refers to a variable."""
        assert self.variable is not None, "values cannot refer to variables"
        return self.variable.replace("NAME", name)


@attrs.frozen
class Origin:
    """From where something is known that reeval's documentation does not say, and what of it is not certain."""

    about: str
    source: str
    not_certain: str = ""


@attrs.frozen(kw_only=True)
class Harness:
    """An agent program, as far as it decides what a sandbox has in it, and what it is refused.

    Paths are relative to the workspace, or begin with `~/` for the home directory. `skills` is where it reads skills,
    `workspace_skills` where those go that are placed in the workspace. `mcp_file` is None when it is given its servers
    otherwise, or when it is not known how.

    A plugin is refused that has a part which is not among `plugin_parts`, or a hook outside `hooks`, where None is
    every hook; one with a manifest at `own_manifest`, which the harness reads in place of `.claude-plugin/plugin.json`;
    one whose MCP server reads a host variable, unless `takes_plugin_variables`, or has the name of another server,
    unless `server_names_may_repeat`; one that has an item of another one's name, unless `item_names_may_repeat`; and
    one with ChatGPT apps, when the harness `offers_apps`.
    """

    kind: str
    rules_file: str = "AGENTS.md"
    skills: str = ".agents/skills"
    workspace_skills: str = ".agents/skills"
    plugin_parts: frozenset[str] = EVERY_PART
    hooks: HookSupport | None = None
    own_manifest: str | None = None
    takes_plugin_variables: bool = True
    server_names_may_repeat: bool = True
    item_names_may_repeat: bool = True
    offers_apps: bool = False
    has_sse: bool = True
    mcp_file: McpFile | None = None
    origins: tuple[Origin, ...] = ()

    def skill_directory(self, placement: Placement) -> str:
        """The directory that has a directory for each skill of a placement."""
        return self.skills if placement == "harness" else self.workspace_skills
