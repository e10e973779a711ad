from __future__ import annotations

import pytest

from reeval_build.content.placement import SkillToPlace, place_skills, skill_directory
from reeval_build.content.problems import ContentError
from reeval_build.content.skill_file import FoundSkill
from tests.unit.content.shelf import harness

DIRECTORIES = {
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
}


def to_place(shelf, name, placement="harness"):
    tree = shelf.tree({"SKILL.md": name, "x/y": ""})
    return SkillToPlace(skill=FoundSkill(name=name, description="d", tree=tree), placement=placement)


@pytest.mark.conforms("100")
@pytest.mark.parametrize(("kind", "directory"), DIRECTORIES.items())
def test_skills_are_put_where_the_harness_reads_them(shelf, kind, directory):
    placed = place_skills([to_place(shelf, "b"), to_place(shelf, "a")], harness(kind), shelf.material)

    tree, other = (placed.home, placed.workspace) if directory.startswith("~/") else (placed.workspace, placed.home)
    above = directory.removeprefix("~/")
    assert other is None
    assert shelf.paths(tree) == [f"{above}/{name}/{file}" for name in "ab" for file in ("SKILL.md", "x/y")]
    assert skill_directory(harness(kind), "harness").text == directory


@pytest.mark.conforms("100")
@pytest.mark.parametrize("kind", DIRECTORIES)
def test_workspace_placement_is_the_repository_s_skill_directory(shelf, kind):
    placed = place_skills([to_place(shelf, "a", "workspace")], harness(kind), shelf.material)

    above = ".claude/skills" if kind == "claude-code" else ".agents/skills"
    assert placed.home is None
    assert shelf.paths(placed.workspace) == [f"{above}/a/SKILL.md", f"{above}/a/x/y"]


def test_both_placements_can_be_used_at_once(shelf):
    skills = [to_place(shelf, "a"), to_place(shelf, "a", "workspace")]

    placed = place_skills(skills, harness("codex"), shelf.material)

    assert shelf.paths(placed.home) == [".agents/skills/a/SKILL.md", ".agents/skills/a/x/y"]
    assert shelf.paths(placed.workspace) == [".agents/skills/a/SKILL.md", ".agents/skills/a/x/y"]


def test_no_skills_are_no_trees(shelf):
    placed = place_skills([], harness("codex"), shelf.material)

    assert (placed.workspace, placed.home) == (None, None)


def test_two_skills_in_one_place_are_refused(shelf):
    skills = [to_place(shelf, "a"), to_place(shelf, "a", "workspace")]

    with pytest.raises(ContentError, match=r"\.agents/skills/a is the place of two skills on cursor"):
        place_skills(skills, harness("cursor"), shelf.material)


def test_the_order_of_skills_does_not_matter(shelf):
    skills = [to_place(shelf, name) for name in "abc"]

    forward = place_skills(skills, harness("pi"), shelf.material)
    assert place_skills(skills[::-1], harness("pi"), shelf.material) == forward
