"""Reads plugins out of fetched trees: to plan with, and to place them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs

from reeval_build.content.called import called_plugin
from reeval_build.content.marketplaces import MarketplaceEntry, find_entry
from reeval_build.content.plugins import PluginContents, find_plugin, plugin_path
from reeval_build.content.problems import ContentError
from reeval_build.execute.reading import to_keep, to_look_at, tree_of
from reeval_build.model.plugins import LocalPlugin, MarketplacePlugin
from reeval_build.plan.content_nodes import planned_text
from reeval_build.plan.outputs import TreeOutput
from reeval_build.plan.resolution import FetchedSource, ResolvedPlugin
from reeval_build.tree.directory import Entry
from reeval_build.tree.draft import Draft

if TYPE_CHECKING:
    from collections.abc import Mapping

    from reeval_build.content.facts import Facts
    from reeval_build.model.plugins import PluginSource
    from reeval_build.plan.outputs import Output
    from reeval_build.plan.work import PluginWork
    from reeval_build.ports.objects import Objects


def read_entry(
    source: MarketplacePlugin, marketplace: FetchedSource, objects: Objects, facts: Facts
) -> MarketplaceEntry:
    """The entry of a plugin in its marketplace. Raises as `read_skills` does."""
    return find_entry(source.name, marketplace.tree, to_look_at(objects, facts), where=called_plugin(source))


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
    contents = find_plugin(source, fetched.tree, to_look_at(objects, facts), home=home, entry=entry)
    return ResolvedPlugin(
        contents=contents,
        fetched=fetched,
        path=plugin_path(source, entry),
        entry=entry,
        marketplace=marketplace,
    )


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
        material = to_keep(objects, batch)
        found = find_plugin(source, tree_of(inputs["source"]), material, home=work.home, entry=entry)
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
