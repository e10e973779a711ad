"""Finds out which skills the sources of some cells have, fetching what is not there."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reeval_build.execute.fetching import fetch_all, had, whole
from reeval_build.execute.skills import read_skills
from reeval_build.model.skills import InlineSkill, SkillSource
from reeval_build.plan.sources import skills_request

if TYPE_CHECKING:
    from collections.abc import Sequence

    from reeval_build.errors import InfraError
    from reeval_build.execute.context import Context
    from reeval_build.execute.questions import Questions
    from reeval_build.plan.resolution import ResolvedSkills


def resolve_skills(
    sources: Sequence[SkillSource], context: Context, ask: Questions
) -> dict[SkillSource, ResolvedSkills | InfraError]:
    """The skills of each source, or why they cannot be had."""
    fetched = fetch_all((skills_request(one) for one in sources if not isinstance(one, InlineSkill)), context, ask)

    def read(source: SkillSource) -> ResolvedSkills:
        if isinstance(source, InlineSkill):
            return read_skills(source, None, context.objects, context.facts)
        return whole(
            had(fetched[skills_request(source)]),
            context,
            lambda one: read_skills(source, one, context.objects, context.facts),
        )

    return ask(sources, read)
