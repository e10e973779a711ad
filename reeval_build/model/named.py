"""Merges what has its name from its source: skills and plugins, once their sources have been read."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Generic, Literal, TypeVar

import attrs

from reeval_build.errors import InfraError

Value = TypeVar("Value")


@attrs.frozen(kw_only=True)
class Named(Generic[Value]):
    """One thing with the name it has, and where it is from, as messages say it: `skill.local("./skills")`."""

    name: str
    value: Value
    source: str


@attrs.frozen
class NamesMerged(Generic[Value]):
    """What is left of all layers, by name, and what a layer replaced: `skills.house-style`."""

    values: Mapping[str, Value]
    overrides: tuple[str, ...]


class SameNameError(InfraError):
    """Two things of one layer have one name."""

    def __init__(self, field: str, name: str, *, layer: str, sources: tuple[str, str]) -> None:
        super().__init__(
            f'{field} in defineEnvironment("{layer}") has "{name}" twice: from {sources[0]} and from {sources[1]}',
            hint="leave one of them out, for instance with only",
        )
        self.name, self.layer, self.sources = name, layer, sources


def merge_by_name(
    field: Literal["skills", "plugins"], layers: Iterable[tuple[str, Iterable[Named[Value]]]]
) -> NamesMerged[Value]:
    """Put layers together, root first, each with its name and what it has: of one name, the child's is kept.

    Raises:
        SameNameError: for two of one name within a layer.
    """
    values: dict[str, Value] = {}
    overrides: list[str] = []
    for layer, named in layers:
        own: dict[str, Named[Value]] = {}
        for one in named:
            if one.name in own:
                raise SameNameError(field, one.name, layer=layer, sources=(own[one.name].source, one.source))
            own[one.name] = one
        overrides += [f"{field}.{name}" for name in sorted(own) if name in values]
        values |= {name: one.value for name, one in own.items()}
    return NamesMerged(MappingProxyType(values), tuple(dict.fromkeys(overrides)))
