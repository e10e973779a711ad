"""`claude_code`, `codex`, `fake_harness` and the others: which agent an eval runs."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final, Unpack

from reeval_build.errors import DefinitionError
from reeval_build.model.durations import duration_text
from reeval_build.model.harness_descriptors import HarnessDescriptor
from reeval_build.model.harnesses import HARNESSES
from reeval_build.model.options import count, duration, is_list, one_of, text
from reeval_build.model.reading import Option, Refused, Shape, make, read
from reeval_build.model.shown import got, is_text
from reeval_build.model.site import Site

if TYPE_CHECKING:
    from os import PathLike

    from reeval_build.model.written_harnesses import (
        ClaudeCodeOptions,
        CursorOptions,
        FakeHarnessOptions,
        HarnessOptions,
        HarnessOptionsWithEffort,
    )

_MAX_DEPTH: Final = 20
_PROVIDER_AND_MODEL: Final = re.compile(r"[^/\s]+/\S+")


def fake_harness(**options: Unpack[FakeHarnessOptions]) -> HarnessDescriptor:
    """A canned agent, for tests and dry runs.

    Args:
        layout: the kind of harness whose image it has, and where it reads rules and skills.
        effort: what cells say of its effort.
        gateway: `direct` or `vercel`.
        id: how cells name it, instead of `fake`.
        max_concurrent: how many attempts may run at once on this kind of harness.
        start_timeout: how long a session may take to become ready.

    The others are what it does: `text`, `files`, `script`, `tools`, `delay_ms`, `flake_rate` and so on, as reeval
    documents them.

    Raises:
        DefinitionError: with every option that is not as above.
    """
    return _make("fake", options)


def claude_code(**options: Unpack[ClaudeCodeOptions]) -> HarnessDescriptor:
    """Claude Code, with a `model`, and optionally `effort`, `gateway`, `id`, `max_concurrent` and `start_timeout`."""
    return _make("claude-code", options)


def codex(**options: Unpack[HarnessOptionsWithEffort]) -> HarnessDescriptor:
    """OpenAI's Codex, with the options of `claude_code`."""
    return _make("codex", options)


def cursor(**options: Unpack[CursorOptions]) -> HarnessDescriptor:
    """Cursor's agent, with the options of `claude_code`, and `params` of the model."""
    return _make("cursor", options)


def antigravity(**options: Unpack[HarnessOptionsWithEffort]) -> HarnessDescriptor:
    """The Antigravity CLI, with the options of `claude_code`."""
    return _make("antigravity", options)


def opencode(**options: Unpack[HarnessOptionsWithEffort]) -> HarnessDescriptor:
    """OpenCode, with the options of `claude_code`; the model is `PROVIDER/MODEL`."""
    return _make("opencode", options)


def goose(**options: Unpack[HarnessOptionsWithEffort]) -> HarnessDescriptor:
    """Goose, with the options of `claude_code`."""
    return _make("goose", options)


def pi(**options: Unpack[HarnessOptionsWithEffort]) -> HarnessDescriptor:
    """Pi, with the options of `claude_code`."""
    return _make("pi", options)


def fx(**options: Unpack[HarnessOptions]) -> HarnessDescriptor:
    """Fx, with the options of `claude_code` apart from `effort`."""
    return _make("fx", options)


def grok_build(**options: Unpack[HarnessOptionsWithEffort]) -> HarnessDescriptor:
    """XAI's Grok Build, with the options of `claude_code`."""
    return _make("grok-build", options)


def harness_from_wire(data: object, *, directory: str | PathLike[str] = ".") -> HarnessDescriptor:
    """The harness that data from JSON describes; a time limit that is a bare number is milliseconds.

    Raises:
        DefinitionError: with every mistake.
    """
    kind = data.get("kind") if isinstance(data, Mapping) else None
    if not isinstance(data, Mapping) or not isinstance(kind, str) or kind not in SHAPES:
        raise DefinitionError(f"a harness must come from a harness helper, such as fake_harness() {got(data)}")
    return read(SHAPES[kind], {key: value for key, value in data.items() if key != "kind"}, Site.of_wire(directory))


def harness_to_wire(descriptor: HarnessDescriptor) -> dict[str, Any]:
    """A harness as data: what `harness_from_wire` reads."""
    written: dict[str, Any] = {"kind": descriptor.kind}
    for key, option in SHAPES[descriptor.kind].options.items():
        behaviour = descriptor.behaviour.get(option.name)
        value = behaviour if key in _BEHAVIOUR else getattr(descriptor, option.name)
        if value is not None and not (key == "params" and not value):
            written[key] = duration_text(value) if key == "startTimeout" else _thawed(value)
    return written


def _thawed(value: object) -> Any:  # noqa: ANN401 - any JSON
    if isinstance(value, Mapping):
        return {key: _thawed(item) for key, item in value.items()}
    return [_thawed(item) for item in value] if isinstance(value, tuple) else value


def _make(kind: str, options: Mapping[str, object]) -> HarnessDescriptor:
    return make(SHAPES[kind], {}, {_CAMEL_CASE.get(name, name): value for name, value in options.items()})


def _provider_and_model(value: object, site: Site) -> str:
    found = text(value, site)
    if not _PROVIDER_AND_MODEL.fullmatch(found):
        raise Refused(f"must be PROVIDER/MODEL {got(value)}")
    return found


def _params(value: object, _site: Site) -> dict[str, str]:
    if not isinstance(value, Mapping) or not all(is_text(item) for pair in value.items() for item in pair):
        raise Refused(f"must be a mapping of text to text {got(value)}")
    return dict(value)


def _json(value: object, _site: Site) -> object:
    if not _is_json(value, _MAX_DEPTH):
        raise Refused(f"must be data as JSON has it {got(value)}")
    return value


def _is_json(value: object, depth: int) -> bool:
    match value:
        case None | bool() | int():
            return True
        case float():
            return math.isfinite(value)
        case str():
            return is_text(value)
        case Mapping():
            return depth > 0 and all(is_text(key) and _is_json(item, depth - 1) for key, item in value.items())
        case _:
            return depth > 0 and is_list(value) and all(_is_json(item, depth - 1) for item in value)


def _build_model(kind: str) -> Any:  # noqa: ANN401 - it takes what was read, by name
    def build(**options: Any) -> HarnessDescriptor:  # noqa: ANN401 - they were read by name
        return HarnessDescriptor(kind=kind, **options)

    return build


def _build_fake(**options: Any) -> HarnessDescriptor:  # noqa: ANN401 - they were read by name
    own = {name: option for name, option in options.items() if name in _FAKE_FIELDS}
    behaviour = {name: option for name, option in options.items() if name not in _FAKE_FIELDS}
    return HarnessDescriptor(kind="fake", behaviour=behaviour, **own)


_COMMON: Final = {
    "gateway": Option("gateway", one_of("direct", "vercel")),
    "id": Option("id", text),
    "maxConcurrent": Option("max_concurrent", count),
    "startTimeout": Option("start_timeout_s", duration("90s"), called="start_timeout"),
}
_FAKE_FIELDS: Final = frozenset({"layout", "effort", "gateway", "id", "max_concurrent", "start_timeout_s"})
_BEHAVIOUR: Final = {
    "delayMs": "delay_ms",
    "failWith": "fail_with",
    "files": "files",
    "flakeRate": "flake_rate",
    "ignoreAbort": "ignore_abort",
    "reasoning": "reasoning",
    "script": "script",
    "servedModel": "served_model",
    "startHangs": "start_hangs",
    "text": "text",
    "tools": "tools",
    "withSkill": "with_skill",
}
_CAMEL_CASE: Final = {
    "max_concurrent": "maxConcurrent",
    "start_timeout": "startTimeout",
    **{snake: camel for camel, snake in _BEHAVIOUR.items()},
}
_EFFORTS: Final = {"claude-code": one_of("low", "medium", "high", "xhigh", "max")}
_MODELS: Final = {"opencode": _provider_and_model}


def _shape(kind: str) -> Shape[HarnessDescriptor]:
    options = {"model": Option("model", _MODELS.get(kind, text), required=True)}
    if kind != "fx":
        options["effort"] = Option("effort", _EFFORTS.get(kind, text))
    if kind == "cursor":
        options["params"] = Option("params", _params)
    return Shape(
        called=f"{kind.replace('-', '_')}()",
        options=options | _COMMON,
        build=_build_model(kind),
        instead=HarnessDescriptor(kind=kind, model=""),
    )


_FAKE: Final = Shape(
    called="fake_harness()",
    options={
        "layout": Option("layout", one_of(*(kind for kind in HARNESSES if kind != "fake"))),
        "effort": Option("effort", text),
        **_COMMON,
        **{camel: Option(camel, _json, called=snake) for camel, snake in _BEHAVIOUR.items()},
    },
    build=_build_fake,
    instead=HarnessDescriptor(kind="fake"),
)
SHAPES: Final = {kind: _FAKE if kind == "fake" else _shape(kind) for kind in HARNESSES}
