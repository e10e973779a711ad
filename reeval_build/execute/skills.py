"""Reads skills out of fetched trees: to plan with, and to place them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reeval_build.content.inline_skill import write_inline_skill
from reeval_build.content.skills import FoundSkills, find_skills
from reeval_build.execute.reading import to_keep, to_look_at, tree_of
from reeval_build.model.skills import InlineSkill
from reeval_build.plan.outputs import TreeOutput
from reeval_build.plan.resolution import FetchedSource, ResolvedSkills
from reeval_build.tree.directory import Entry
from reeval_build.tree.draft import Draft

if TYPE_CHECKING:
    from collections.abc import Mapping

    from reeval_build.content.facts import Facts
    from reeval_build.content.material import Material
    from reeval_build.digest import Digest
    from reeval_build.model.skills import SkillSource
    from reeval_build.plan.outputs import Output
    from reeval_build.plan.work import SkillsWork
    from reeval_build.ports.objects import Objects


def read_skills(source: SkillSource, fetched: FetchedSource | None, objects: Objects, facts: Facts) -> ResolvedSkills:
    """The skills that a source gives, without keeping anything but `facts`.

    Raises:
        ContentError: when it does not give what it should.
        LostObjectError: when the store lacks a piece of it.
    """
    tree = None if fetched is None else fetched.tree
    return ResolvedSkills(found=_skills(source, tree, to_look_at(objects, facts)), fetched=fetched)


def place_skills(work: SkillsWork, inputs: Mapping[str, Output], objects: Objects) -> TreeOutput:
    """Keep the skills of a node, and put them where they belong."""
    with objects.batch() as batch:
        material = to_keep(objects, batch)
        draft = Draft(material.load)
        sources = {(skill.role, skill.origin) for skill in work.skills}
        kept = {
            (origin, skill.name): skill.tree
            for role, origin in sources
            for skill in _skills(origin, None if role is None else tree_of(inputs[role]), material).skills
        }
        for skill in work.skills:
            name = skill.destination.parts[-1].decode("ascii")
            assert kept[skill.origin, name] == skill.tree, "what is placed is what was planned"
            draft.put(skill.destination.parts, Entry.directory(skill.tree))
        tree = draft.save(material.save)
    return TreeOutput(**{work.skills[0].destination.root: tree})


def _skills(source: SkillSource, tree: Digest | None, material: Material) -> FoundSkills:
    if isinstance(source, InlineSkill):
        return write_inline_skill(source, material)
    assert tree is not None, "what is not written in the definition is fetched"
    return find_skills(source, tree, material)
