"""What a chain of layers says together."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, TypeVar, cast

import attrs

from reeval_build.model.egress import Egress
from reeval_build.model.mcp import McpServer
from reeval_build.model.plugins import PluginSource
from reeval_build.model.skills import SkillSource
from reeval_build.model.spec import EnvValue, FileContent, GitWorkspace, Sandbox, SetupStep
from reeval_build.paths import Destination, parse_destination

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from reeval_build.model.spec import Layer, Spec

Field = TypeVar("Field")

# The order in which a layer's overrides are listed.
_FIELDS: Final = ("sandbox", "env", "files", "skills", "plugins", "mcp", "rules", "workspace", "egress")
_REPLACED: Final = frozenset({"sandbox", "rules", "workspace", "egress"})


@attrs.frozen(kw_only=True)
class Merged:
    """An environment's fields after merging.

    What skills and plugins are called is known when their sources have been read: they stay as layers, each with its
    name, root first, and `named.merge_by_name` puts them together. `overrides` are those of the other fields.
    """

    sandbox: Sandbox | None
    workspace: GitWorkspace | None
    egress: Egress | None
    env: Mapping[str, EnvValue]
    files: Mapping[str, FileContent]
    mcp: Mapping[str, McpServer]
    rules: FileContent | None
    setup: tuple[SetupStep, ...]
    skills: tuple[tuple[str, tuple[SkillSource, ...]], ...]
    plugins: tuple[tuple[str, tuple[PluginSource, ...]], ...]
    overrides: tuple[str, ...]

    @property
    def literals(self) -> Mapping[str, str]:
        """The variables that are no secrets."""
        return {name: value for name, value in self.env.items() if isinstance(value, str)}


def merge(layers: Iterable[Layer]) -> Merged:
    """The fields of a chain of layers, root first.

    `env`, `files` and `mcp` merge by name, `setup` is concatenated, the rest replace. Rule: reeval's documentation,
    the table of `extendEnvironment`.
    """
    chain = list(layers)
    specs = [layer.spec for layer in chain]
    return Merged(
        sandbox=_last(spec.sandbox for spec in specs),
        workspace=_last(spec.workspace for spec in specs),
        egress=_egress(specs),
        env=_union(spec.env for spec in specs),
        files=_union(spec.files for spec in specs),
        mcp=_union(spec.mcp for spec in specs),
        rules=_last(spec.rules for spec in specs),
        setup=tuple(step for spec in specs for step in spec.setup or ()),
        skills=tuple((layer.name, layer.spec.skills) for layer in chain if layer.spec.skills),
        plugins=tuple((layer.name, layer.spec.plugins) for layer in chain if layer.spec.plugins),
        overrides=overrides(chain),
    )


def _last(values: Iterable[Field]) -> Field | None:
    return next((value for value in reversed(list(values)) if value is not None), None)


def _egress(specs: Iterable[Spec]) -> Egress | None:
    # mypy makes one type of the several of Egress, and then it is none of them.
    found: list[Egress | None] = [spec.egress for spec in specs]
    return next((value for value in reversed(found) if value is not None), None)


def _union(values: Iterable[Mapping[str, Field] | None]) -> Mapping[str, Field]:
    union: dict[str, Field] = {}
    for value in values:
        union.update(value or {})
    return MappingProxyType(union)


def overrides(
    layers: Iterable[Layer],
    *,
    skills: Iterable[Iterable[str]] = (),
    plugins: Iterable[Iterable[str]] = (),
) -> tuple[str, ...]:
    """What layers replaced, each once: `rules`, `env.NODE_ENV`, `files.src/a.ts`; never `setup`, which adds.

    `skills` and `plugins` are the names that were found, for each of the layers of `Merged.skills` and
    `Merged.plugins`; without them theirs are left out.
    """
    resolved = {"skills": iter(skills), "plugins": iter(plugins)}
    seen: set[str] = set()
    found: list[str] = []
    for layer in layers:
        for field in _FIELDS:
            keys = _keys(field, getattr(layer.spec, field), resolved)
            found += [key for key in keys if key in seen]
            seen.update(keys)
    return tuple(dict.fromkeys(found))


def _keys(field: str, value: object, resolved: Mapping[str, Iterator[Iterable[str]]]) -> list[str]:
    """What of a field a layer sets, by the names that overrides have."""
    if not value and (value is None or field not in _REPLACED):
        return []
    if field in _REPLACED:
        return [field]
    names = next(resolved[field], ()) if field in resolved else cast("Mapping[str, object]", value)
    return [f"{field}.{name}" for name in sorted(names)]


def conflicts(name: str, layers: Iterable[Layer]) -> tuple[str, ...]:
    """The mistakes that no single field shows: files in each other's way, or inside the `.git` that `init` makes."""
    merged = merge(layers)
    where = f'defineEnvironment("{name}")'
    places: dict[Destination, str] = {parse_destination(path): path for path in merged.files}
    problems = []
    for place, path in sorted(places.items()):
        for count in range(1, len(place.parts)):
            above = places.get(Destination(place.root, place.parts[:count]))
            if above is not None:
                problems.append(
                    f'files["{above}"] and files["{path}"] in {where} cannot both be there: '
                    f'"{above}" would be a file and a directory'
                )
    if merged.workspace is not None and merged.workspace.init:
        problems += [
            f'files["{path}"] in {where} is inside the .git directory that init makes'
            for place, path in sorted(places.items())
            if place.root == "workspace" and place.parts[0] == b".git"
        ]
    return tuple(problems)
