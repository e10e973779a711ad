"""Checks `setup`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from reeval_build.model.durations import seconds
from reeval_build.model.helpers.steps import inputs, working_directory
from reeval_build.model.options import is_list, is_said
from reeval_build.model.reading import Refused
from reeval_build.model.shown import got, shown
from reeval_build.model.spec import DEFAULT_TIMEOUT_S, SetupStep

if TYPE_CHECKING:
    from reeval_build.model.checks.definition import Definition

_KEYS: Final = frozenset({"run", "timeout", "cwd"})


def check_setup(value: object, definition: Definition) -> tuple[SetupStep, ...] | None:
    """Commands, in order."""
    if not is_list(value):
        definition.add(f"setup in {definition.where} must be a list {got(value)}")
        return None
    found = [_check_step(at, step, definition) for at, step in enumerate(value)]
    return tuple(step for step in found if step is not None)


def _check_step(at: int, step: object, definition: Definition) -> SetupStep | None:
    if isinstance(step, SetupStep):
        return step
    fields = {"run": step} if isinstance(step, str) else step
    run = fields.get("run") if isinstance(fields, Mapping) else None
    if not isinstance(fields, Mapping) or not is_said(run):
        definition.add(
            f"setup[{at}] in {definition.where} must be a command string or {{ run, timeout?, cwd? }} {got(step)}"
        )
        return None
    return _check_options(run, fields, definition)


def _check_options(run: str, fields: Mapping[Any, object], definition: Definition) -> SetupStep | None:
    named = f"setup step {shown(run)} in {definition.where}"
    mistakes = [
        f'{named} has an unknown key "{key}"; a step is a string or {{ run, timeout?, cwd? }}.'
        for key in fields
        if key not in _KEYS and not (definition.is_wire and key == "inputs")
    ]
    read: dict[str, Any] = {}
    for key, option in (("cwd", working_directory), ("inputs", inputs)):
        if key in fields and (key != "inputs" or definition.is_wire):
            try:
                read[key] = option(fields[key], definition.site)
            except Refused as refused:
                mistakes += [f"{named} {mistake.clause}" for mistake in refused.mistakes]
    timeout_s = DEFAULT_TIMEOUT_S
    if "timeout" in fields:
        timeout_s = seconds(fields["timeout"], number_s=definition.site.number_s) or 0
        if not timeout_s:
            mistakes.append(f'{named} has a bad timeout; use seconds or text such as "5m" {got(fields["timeout"])}')
    definition.problems.extend(mistakes)
    return None if mistakes else SetupStep(run=run, timeout_s=timeout_s, **read)
