"""Reads skills and plugins out of fetched trees: to plan with, and to place them."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import attrs

from reeval_build.content.inline_skill import write_inline_skill
from reeval_build.content.marketplaces import MarketplaceEntry, find_entry
from reeval_build.content.material import Material
from reeval_build.content.plugins import PluginContents, called_plugin, find_plugin, plugin_path
from reeval_build.content.problems import ContentError
from reeval_build.content.skills import FoundSkills, find_skills
from reeval_build.digest import BLOB, Digest
from reeval_build.execute import trees
from reeval_build.model.plugins import LocalPlugin, MarketplacePlugin
from reeval_build.model.skills import InlineSkill
from reeval_build.plan.content_nodes import planned_text
from reeval_build.plan.outputs import TreeOutput
from reeval_build.plan.resolution import FetchedSource, ResolvedPlugin, ResolvedSkills
from reeval_build.tree import directory
from reeval_build.tree.directory import Entry
from reeval_build.tree.draft import Draft

if TYPE_CHECKING:
    from collections.abc import Mapping

    from reeval_build.content.facts import Facts
    from reeval_build.model.plugins import PluginSource
    from reeval_build.model.skills import SkillSource
    from reeval_build.plan.outputs import Output
    from reeval_build.plan.work import PluginWork, SkillsWork
    from reeval_build.ports.objects import Batch, Objects


def read_skills(source: SkillSource, fetched: FetchedSource | None, objects: Objects, facts: Facts) -> ResolvedSkills:
    """The skills that a source gives, without keeping anything but `facts`.

    Raises:
        ContentError: when it does not give what it should.
        LostObjectError: when the store lacks a piece of it.
    """
    tree = None if fetched is None else fetched.tree
    return ResolvedSkills(found=_skills(source, tree, _to_look_at(objects, facts)), fetched=fetched)


def read_entry(
    source: MarketplacePlugin, marketplace: FetchedSource, objects: Objects, facts: Facts
) -> MarketplaceEntry:
    """The entry of a plugin in its marketplace. Raises as `read_skills` does."""
    return find_entry(source.name, marketplace.tree, _to_look_at(objects, facts), where=called_plugin(source))


def read_plugin(
    source: PluginSource,
    fetched: FetchedSource,
    objects: Objects,
    facts: Facts,
    *,
    home: str,
    entry: MarketplaceEntry | None = None,
    marketplace: FetchedSource | None = None,
) -> ResolvedPlugin:
    """A plugin as its source has it, without keeping anything; `home` is the sandbox's home directory.

    Raises as `read_skills` does.
    """
    contents = find_plugin(source, fetched.tree, _to_look_at(objects, facts), home=home, entry=entry)
    return ResolvedPlugin(
        contents=contents,
        fetched=fetched,
        path=plugin_path(source, entry),
        entry=entry,
        marketplace=marketplace,
    )


def place_skills(work: SkillsWork, inputs: Mapping[str, Output], objects: Objects) -> TreeOutput:
    """Keep the skills of a node, and put them where they belong."""
    with objects.batch() as batch:
        material = _to_keep(objects, batch)
        draft = Draft(material.load)
        sources = {(skill.role, skill.origin) for skill in work.skills}
        kept = {
            (origin, skill.name): skill.tree
            for role, origin in sources
            for skill in _skills(origin, None if role is None else _tree(inputs[role]), material).skills
        }
        for skill in work.skills:
            name = skill.destination.parts[-1].decode("ascii")
            assert kept[skill.origin, name] == skill.tree, "what is placed is what was planned"
            draft.put(skill.destination.parts, Entry.directory(skill.tree))
        tree = draft.save(material.save)
    return TreeOutput(**{work.skills[0].destination.root: tree})


def place_plugin(work: PluginWork, inputs: Mapping[str, Output], objects: Objects) -> TreeOutput:
    """Keep what is kept of a plugin, and put it into its directory.

    Raises:
        ContentError: when a build changed what the plan was made from.
    """
    entry, source = work.resolved.entry, work.source
    if work.built is not None:
        source = _at_root(source)
        entry = entry and attrs.evolve(entry, path=())
    with objects.batch() as batch:
        material = _to_keep(objects, batch)
        found = find_plugin(source, _tree(inputs["source"]), material, home=work.home, entry=entry)
        if work.built is not None and planned_text(found) != work.built.planned:
            raise _changed_by_build(work, found)
        assert work.tree in {None, found.tree}, "what is placed is what was planned"
        draft = Draft(material.load)
        draft.put(work.place.parts, Entry.directory(found.tree))
        return TreeOutput(home=draft.save(material.save))


def _changed_by_build(work: PluginWork, found: PluginContents) -> ContentError:
    before = work.resolved.contents
    changed = [
        word
        for word, one, other in (
            ("name", before.name, found.name),
            ("parts", before.parts, found.parts),
            ("hooks", before.hooks, found.hooks),
            ("MCP servers", before.servers, found.servers),
        )
        if one != other
    ]
    return ContentError(
        called_plugin(work.source),
        "",
        f"differs after its build in its {' and its '.join(changed)}, and the plan was made from what it was before",
        hint="commit what the build makes of them to the plugin's source",
    )


def _at_root(source: PluginSource) -> PluginSource:
    """The same plugin, when all that there is of its source is its directory."""
    return source if isinstance(source, (LocalPlugin, MarketplacePlugin)) else attrs.evolve(source, path=None)


def _skills(source: SkillSource, tree: Digest | None, material: Material) -> FoundSkills:
    if isinstance(source, InlineSkill):
        return write_inline_skill(source, material)
    assert tree is not None, "what is not written in the definition is fetched"
    return find_skills(source, tree, material)


def _tree(output: Output) -> Digest:
    tree = cast("TreeOutput", output).workspace
    assert tree is not None, "a source is in the place of a workspace"
    return tree


def _to_look_at(objects: Objects, facts: Facts) -> Material:
    """Says what would be kept, and keeps nothing but `facts`."""
    return Material(
        load=trees.loader(objects),
        read=lambda digest: objects.read(BLOB, digest),
        save=directory.tree_digest,
        add=BLOB.digest,
        facts=facts,
    )


def _to_keep(objects: Objects, batch: Batch) -> Material:
    """Keeps everything, and so reads everything: what was found out before may be in no store."""
    return Material(
        load=trees.loader(objects),
        read=lambda digest: objects.read(BLOB, digest),
        save=trees.saver(batch),
        add=lambda data: batch.add(BLOB, data),
    )
