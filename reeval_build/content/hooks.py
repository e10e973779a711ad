"""The hooks that a plugin declares."""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs

from reeval_build.content.documents import Json, kind_of
from reeval_build.content.problems import ContentError, shown

if TYPE_CHECKING:
    from collections.abc import Iterator


@attrs.frozen(kw_only=True)
class Hook:
    """Something that runs when `event` happens; `command` is what a hook of the type `command` runs."""

    event: str
    type: str
    command: str | None = None


def read_hooks(value: Json, path: str, *, where: str) -> tuple[Hook, ...]:
    """The hooks of an event map, which may stand below a key `hooks`.

    Raises:
        ContentError: for anything that is not `{event: [{hooks: [{type, …}]}]}`.
    """
    if not isinstance(value, dict):
        raise ContentError(where, path, f"must have hooks as an object, not as {kind_of(value)}")
    events = value.get("hooks", value)
    if not isinstance(events, dict):
        raise ContentError(where, path, f"must have `hooks` as an object, not as {kind_of(events)}")
    hooks: list[Hook] = []
    for event, groups in events.items():
        # Both forms have a description, and files name their schema.
        if event in {"description", "$schema"} and isinstance(groups, str):
            continue
        hooks.extend(_of_event(event, groups, path, where))
    return tuple(hooks)


def _of_event(event: str, groups: Json, path: str, where: str) -> Iterator[Hook]:
    called = shown(event[:80])
    if not isinstance(groups, list):
        raise ContentError(where, path, f"must have a list for the hook event {called}, not {kind_of(groups)}")
    for group in groups:
        handlers = group.get("hooks") if isinstance(group, dict) else None
        if not isinstance(handlers, list):
            raise ContentError(where, path, f"has for the hook event {called} an item without a list `hooks`")
        for handler in handlers:
            yield _hook(event, handler, path, where)


def _hook(event: str, handler: Json, path: str, where: str) -> Hook:
    called = shown(event[:80])
    if not isinstance(handler, dict):
        raise ContentError(where, path, f"has for the hook event {called} {kind_of(handler)} where a hook is needed")
    kind = handler.get("type", "command")
    command = handler.get("command")
    if not isinstance(kind, str):
        raise ContentError(where, path, f"has for the hook event {called} a hook whose type is {kind_of(kind)}")
    if kind != "command":
        return Hook(event=event, type=kind)
    if not isinstance(command, str) or not command.strip():
        raise ContentError(where, path, f"has for the hook event {called} a hook without a command")
    arguments = handler.get("args", [])
    if not isinstance(arguments, list) or not all(isinstance(item, str) for item in arguments):
        raise ContentError(where, path, f"has for the hook event {called} a hook whose args are not a list of texts")
    return Hook(event=event, type=kind, command=" ".join([command, *(str(item) for item in arguments)]))
