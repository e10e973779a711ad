"""Finds out which skills and plugins the sources of some cells have, fetching what is not there."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias, TypeVar

from reeval_build.content.plugins import called_plugin
from reeval_build.content.problems import ContentError
from reeval_build.errors import InfraError
from reeval_build.execute.contents import read_entry, read_plugin, read_skills
from reeval_build.execute.sources import fetch_source, forget_source
from reeval_build.model.plugins import LocalPlugin, MarketplacePlugin, PluginSource
from reeval_build.model.skills import InlineSkill, SkillSource
from reeval_build.plan.sources import SourceRequest, entry_request, plugin_request, skills_request
from reeval_build.ports.objects import LostObjectError
from reeval_build.ports.sources import NoSuchDirectoryError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from reeval_build.content.marketplaces import MarketplaceEntry
    from reeval_build.execute.context import Context
    from reeval_build.execute.questions import Questions
    from reeval_build.plan.resolution import FetchedSource, ResolvedPlugin, ResolvedSkills

Result = TypeVar("Result")
_Fetched: TypeAlias = "Mapping[SourceRequest, FetchedSource | InfraError]"


def resolve_skills(
    sources: Sequence[SkillSource], context: Context, ask: Questions
) -> dict[SkillSource, ResolvedSkills | InfraError]:
    """The skills of each source, or why they cannot be had."""
    fetched = _fetch((skills_request(one) for one in sources if not isinstance(one, InlineSkill)), context, ask)

    def read(source: SkillSource) -> ResolvedSkills:
        if isinstance(source, InlineSkill):
            return read_skills(source, None, context.objects, context.facts)
        return _whole(
            _had(fetched[skills_request(source)]),
            context,
            lambda one: read_skills(source, one, context.objects, context.facts),
        )

    return ask(sources, read)


def resolve_plugins(
    plugins: Sequence[tuple[PluginSource, str]], context: Context, ask: Questions
) -> dict[tuple[PluginSource, str], ResolvedPlugin | InfraError]:
    """Each plugin for a home directory, or why it cannot be had."""
    first = _fetch((plugin_request(source) for source, _ in plugins), context, ask)

    def entry_of(source: MarketplacePlugin) -> MarketplaceEntry:
        return _whole(
            _had(first[plugin_request(source)]),
            context,
            lambda one: read_entry(source, one, context.objects, context.facts),
        )

    entries = ask([source for source, _ in plugins if isinstance(source, MarketplacePlugin)], entry_of)
    found = [entry_request(entry) for entry in entries.values() if not isinstance(entry, InfraError)]
    fetched = {**first, **_fetch((request for request in found if request is not None), context, ask)}

    def read(plugin: tuple[PluginSource, str]) -> ResolvedPlugin:
        source, home = plugin
        request = plugin_request(source)
        entry = marketplace = None
        if isinstance(source, MarketplacePlugin):
            entry = _had(entries[source])
            own = entry_request(entry)
            if own is not None:
                marketplace, request = _had(first[request]), own
        return _whole(
            _of_plugin(source, fetched[request]),
            context,
            lambda one: read_plugin(
                source, one, context.objects, context.facts, home=home, entry=entry, marketplace=marketplace
            ),
        )

    return ask(plugins, read)


def _fetch(requests: Iterable[SourceRequest], context: Context, ask: Questions) -> _Fetched:
    return ask(list(requests), lambda request: fetch_source(request, context))


def _had(answer: Result | InfraError) -> Result:
    if isinstance(answer, InfraError):
        raise answer
    return answer


def _of_plugin(source: PluginSource, answer: FetchedSource | InfraError) -> FetchedSource:
    """Rule: reeval's documentation, "Errors": a local plugin that is not there is a mistake of its author."""
    if isinstance(source, LocalPlugin) and isinstance(answer, NoSuchDirectoryError):
        raise ContentError(called_plugin(source), "", "is no directory", hint="check its spelling") from answer
    return _had(answer)


def _whole(fetched: FetchedSource, context: Context, read: Callable[[FetchedSource], Result]) -> Result:
    """What `read` makes of a source, which is fetched again when the store has lost a piece of it."""
    try:
        return read(fetched)
    except LostObjectError:
        forget_source(fetched.source, context)
        return read(fetch_source(fetched.source.request, context))
