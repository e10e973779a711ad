"""Finds out which plugins the sources of some cells have, fetching what is not there."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reeval_build.content.called import called_plugin
from reeval_build.content.problems import ContentError
from reeval_build.errors import InfraError
from reeval_build.execute.fetching import fetch_all, had, whole
from reeval_build.execute.plugins import read_entry, read_plugin
from reeval_build.model.plugins import LocalPlugin, MarketplacePlugin, PluginSource
from reeval_build.plan.sources import entry_request, plugin_request
from reeval_build.ports.sources import NoSuchDirectoryError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from reeval_build.content.marketplaces import MarketplaceEntry
    from reeval_build.execute.context import Context
    from reeval_build.execute.questions import Questions
    from reeval_build.plan.resolution import FetchedSource, ResolvedPlugin


def resolve_plugins(
    plugins: Sequence[tuple[PluginSource, str]], context: Context, ask: Questions
) -> dict[tuple[PluginSource, str], ResolvedPlugin | InfraError]:
    """Each plugin for a home directory, or why it cannot be had."""
    first = fetch_all((plugin_request(source) for source, _ in plugins), context, ask)

    def entry_of(source: MarketplacePlugin) -> MarketplaceEntry:
        return whole(
            had(first[plugin_request(source)]),
            context,
            lambda one: read_entry(source, one, context.objects, context.facts),
        )

    entries = ask([source for source, _ in plugins if isinstance(source, MarketplacePlugin)], entry_of)
    found = [entry_request(entry) for entry in entries.values() if not isinstance(entry, InfraError)]
    fetched = {**first, **fetch_all((request for request in found if request is not None), context, ask)}

    def read(plugin: tuple[PluginSource, str]) -> ResolvedPlugin:
        source, home = plugin
        request = plugin_request(source)
        entry = marketplace = None
        if isinstance(source, MarketplacePlugin):
            entry = had(entries[source])
            own = entry_request(entry)
            if own is not None:
                marketplace, request = had(first[request]), own
        return whole(
            _of_plugin(source, fetched[request]),
            context,
            lambda one: read_plugin(
                source, one, context.objects, context.facts, home=home, entry=entry, marketplace=marketplace
            ),
        )

    return ask(plugins, read)


def _of_plugin(source: PluginSource, answer: FetchedSource | InfraError) -> FetchedSource:
    """Rule: reeval's documentation, "Errors": a local plugin that is not there is a mistake of its author."""
    if isinstance(source, LocalPlugin) and isinstance(answer, NoSuchDirectoryError):
        raise ContentError(called_plugin(source), "", "is no directory", hint="check its spelling") from answer
    return had(answer)
