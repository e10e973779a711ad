"""Where skills are put, for each kind of harness."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import attrs

from reeval_build.content.problems import ContentError
from reeval_build.content.skill_file import FoundSkill
from reeval_build.digest import Digest
from reeval_build.model.skills import Placement
from reeval_build.paths import Destination, parse_destination
from reeval_build.tree.directory import Entry
from reeval_build.tree.draft import Draft

if TYPE_CHECKING:
    from collections.abc import Iterable

    from reeval_build.content.material import Material
    from reeval_build.model.harnesses import Harness

# Rule: reeval's wire types, `FakeHarness.layout`. Three harnesses read skills in a home of their own, which they do
# not name: for goose and Grok it is the directory their own documentation has for one user's skills, and for fx,
# whose directories are not documented, the one that most agents share.
_READS: Final = {
    kind: parse_destination(text)
    for kind, text in {
        "antigravity": "~/.gemini/config/skills",
        "claude-code": ".claude/skills",
        "codex": "~/.agents/skills",
        "cursor": ".agents/skills",
        "fake": ".agents/skills",
        "fx": "~/.agents/skills",
        "goose": "~/.config/goose/skills",
        "grok-build": "~/.grok/skills",
        "opencode": "~/.config/opencode/skills",
        "pi": "~/.pi/agent/skills",
    }.items()
}


@attrs.frozen(kw_only=True)
class SkillToPlace:
    """A skill and where its author wants it."""

    skill: FoundSkill
    placement: Placement


@attrs.frozen(kw_only=True)
class PlacedSkills:
    """The skills as trees: what goes over the workspace, and what goes over the home directory."""

    workspace: Digest | None
    home: Digest | None


def skill_directory(harness: Harness, placement: Placement) -> Destination:
    """The directory that has a directory for each skill of a placement."""
    if placement == "harness":
        return _READS[harness.kind]
    return parse_destination(".claude/skills" if harness.kind == "claude-code" else ".agents/skills")


def place_skills(skills: Iterable[SkillToPlace], harness: Harness, material: Material) -> PlacedSkills:
    """The skills where `harness` reads them, each in a directory of its name; None for a place that gets none.

    Raises:
        ContentError: when two skills have one place.
    """
    drafts = {"workspace": Draft(material.load), "home": Draft(material.load)}
    used: set[str] = set()
    for one in skills:
        above = skill_directory(harness, one.placement)
        parts = (*above.parts, one.skill.name.encode("ascii"))
        if drafts[above.root].get(parts) is not None:
            raise ContentError(f"{above.text}/{one.skill.name}", "", f"is the place of two skills on {harness.kind}")
        drafts[above.root].put(parts, Entry.directory(one.skill.tree))
        used.add(above.root)
    trees = {root: draft.save(material.save) for root, draft in drafts.items() if root in used}
    return PlacedSkills(workspace=trees.get("workspace"), home=trees.get("home"))
