"""Environments in reeval's wire form."""

from __future__ import annotations

import json
from itertools import count, groupby
from typing import TYPE_CHECKING, Any

import attrs

from reeval_build.loading.found import NO_ENVIRONMENT
from reeval_build.model.helpers.harnesses import harness_to_wire
from reeval_build.model.wire import environment_to_wire
from reeval_build.model.wire_values import value_to_wire

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from reeval_build.loading.found import Found


def export_json(found: Sequence[Found]) -> str:
    """One environment as it is, anything else as a declaration tree. The shape is in `docs/reference/json.md`."""
    evals = list(_evals(found))
    match evals:
        case [{"options": {"environment": environment, **rest}}] if not rest:
            value: object = environment
        case _:
            value = {"children": evals}
    return json.dumps(value, indent=2)


def _evals(found: Sequence[Found]) -> Iterator[dict[str, Any]]:
    """An eval for everything that was found; those that only differ in their harness are one on several.

    It has the name of the first eval that declared it, else of its environment; a number tells it from those before.
    """
    taken: set[str] = set()
    for _, alike in groupby(found, lambda one: (one.evals[:1], one.harness is None, attrs.evolve(one, harness=None))):
        several = list(alike)
        name = several[0].evals[0].name if several[0].evals else several[0].environment.name
        numbered = (name if number == 1 else f"{name} ({number})" for number in count(1))
        free = next(free for free in numbered if free not in taken)
        taken.add(free)
        yield {"type": "eval", "name": free, "mode": "run", "options": _options(several)}


def _options(several: Sequence[Found]) -> dict[str, Any]:
    found = several[0]
    harnesses = [harness_to_wire(one.harness) for one in several if one.harness is not None]
    written = {
        "environment": None if found.environment == NO_ENVIRONMENT else environment_to_wire(found.environment),
        "harness": harnesses if len(harnesses) > 1 else next(iter(harnesses), None),
        "env": value_to_wire(found.env) or None,
        "egress": None if found.egress is None else value_to_wire(found.egress),
        "sandbox": None if found.sandbox is None else value_to_wire(found.sandbox),
    }
    return {name: value for name, value in written.items() if value is not None}
