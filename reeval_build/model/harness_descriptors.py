"""A harness as an eval chooses it: its kind, and what decides how it runs."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import attrs

from reeval_build.model.harnesses import HARNESSES

if TYPE_CHECKING:
    from reeval_build.model.harness_facts import Harness


def _frozen(value: object) -> Any:  # noqa: ANN401 - any JSON
    if isinstance(value, Mapping):
        return MappingProxyType({key: _frozen(item) for key, item in value.items()})
    return tuple(map(_frozen, value)) if isinstance(value, (list, tuple)) else value


@attrs.frozen(kw_only=True)
class HarnessDescriptor:
    """One harness of an eval.

    `params` are Cursor's. `layout` is the kind whose image and places a fake harness uses, and `behaviour` what it
    does, by reeval's names.
    """

    kind: str
    model: str | None = None
    effort: str | None = None
    gateway: str | None = None
    id: str | None = None
    max_concurrent: int | None = None
    params: Mapping[str, str] = attrs.field(factory=dict, converter=_frozen, hash=False)
    layout: str | None = None
    behaviour: Mapping[str, Any] = attrs.field(factory=dict, converter=_frozen, hash=False)

    start_timeout_s: float | None = attrs.field(default=None, eq=False)

    @property
    def cell_id(self) -> str:
        """How cells name it: its `id`, else `KIND:MODEL[effort=EFFORT]`. Rule: reeval's wire types."""
        if self.id is not None:
            return self.id
        if self.model is None:
            return self.kind
        return f"{self.kind}:{self.model}" + (f"[effort={self.effort}]" if self.effort is not None else "")

    @property
    def harness(self) -> Harness:
        """What is known of its kind. A fake harness has the places of its layout, and takes everything."""
        fake = HARNESSES[self.kind]
        if self.layout is None:
            return fake
        places = HARNESSES[self.layout]
        return attrs.evolve(
            fake, rules_file=places.rules_file, skills=places.skills, workspace_skills=places.workspace_skills
        )
