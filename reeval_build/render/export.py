"""Environments in reeval's wire form."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from reeval_build.loading.found import NO_ENVIRONMENT
from reeval_build.model.helpers.harnesses import harness_to_wire
from reeval_build.model.wire import environment_to_wire
from reeval_build.model.wire_values import value_to_wire

if TYPE_CHECKING:
    from collections.abc import Sequence

    from reeval_build.loading.found import Found


def export_json(found: Sequence[Found]) -> str:
    """One environment as it is, anything else as a declaration tree. The shape is in `docs/reference/json.md`."""
    options = [_options(one) for one in found]
    match options:
        case [{"environment": environment, **rest}] if not rest:
            value: object = environment
        case _:
            names = [_name(one) for one in found]
            value = {"children": [_eval(names, at, one) for at, one in enumerate(options)]}
    return json.dumps(value, indent=2)


def _eval(names: Sequence[str], at: int, options: dict[str, Any]) -> dict[str, Any]:
    """An eval; a number tells it from those before it that would have its name."""
    earlier = names[:at].count(names[at])
    name = f"{names[at]} ({earlier + 1})" if earlier else names[at]
    return {"type": "eval", "name": name, "mode": "run", "options": options}


def _name(found: Found) -> str:
    return found.environment.name + (f"@{found.harness.cell_id}" if found.harness else "")


def _options(found: Found) -> dict[str, Any]:
    written = {
        "environment": None if found.environment == NO_ENVIRONMENT else environment_to_wire(found.environment),
        "harness": None if found.harness is None else harness_to_wire(found.harness),
        "env": value_to_wire(found.env) or None,
        "egress": None if found.egress is None else value_to_wire(found.egress),
        "sandbox": None if found.sandbox is None else value_to_wire(found.sandbox),
    }
    return {name: value for name, value in written.items() if value is not None}
