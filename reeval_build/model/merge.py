"""What a chain of layers says together."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, TypeVar

import attrs

from reeval_build.errors import DefinitionError
from reeval_build.model.spec import FileContent, GitWorkspace, Sandbox, SetupStep
from reeval_build.paths import Destination, parse_destination

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from reeval_build.model.spec import Spec

Field = TypeVar("Field")

_FIELDS: Final = ("sandbox", "env", "files", "rules", "workspace")
_MERGED_BY_NAME: Final = ("env", "files")


@attrs.frozen(kw_only=True)
class Merged:
    """An environment's fields after merging.

    `overrides` lists what a layer replaced: `rules`, `env.NODE_ENV`, `files.src/a.ts`; never `setup`, which adds.
    """

    sandbox: Sandbox | None
    workspace: GitWorkspace | None
    env: Mapping[str, str]
    files: Mapping[str, FileContent]
    rules: FileContent | None
    setup: tuple[SetupStep, ...]
    overrides: tuple[str, ...]


def merge(specs: Iterable[Spec]) -> Merged:
    """The fields of a chain of layers, root first.

    `env` and `files` merge by name, `setup` is concatenated, the rest replace. Rule: reeval's documentation, the
    table of `extendEnvironment`.
    """
    chain = list(specs)
    return Merged(
        sandbox=_last(spec.sandbox for spec in chain),
        workspace=_last(spec.workspace for spec in chain),
        env=_union(spec.env for spec in chain),
        files=_union(spec.files for spec in chain),
        rules=_last(spec.rules for spec in chain),
        setup=tuple(step for spec in chain for step in spec.setup or ()),
        overrides=tuple(dict.fromkeys(_overrides(chain))),
    )


def _last(values: Iterable[Field]) -> Field | None:
    return next((value for value in reversed(list(values)) if value is not None), None)


def _union(values: Iterable[Mapping[str, Field] | None]) -> Mapping[str, Field]:
    union: dict[str, Field] = {}
    for value in values:
        union.update(value or {})
    return MappingProxyType(union)


def _overrides(chain: Sequence[Spec]) -> Iterable[str]:
    for at, spec in enumerate(chain):
        for field in _FIELDS:
            value, above = getattr(spec, field), [getattr(other, field) for other in chain[:at]]
            if field in _MERGED_BY_NAME:
                yield from (
                    f"{field}.{name}" for name in sorted(value or {}) if any(name in (has or {}) for has in above)
                )
            elif value is not None and any(has is not None for has in above):
                yield field


def check_together(name: str, specs: Sequence[Spec]) -> None:
    """Refuse what no single field shows: files in each other's way, or inside the `.git` that `init` makes.

    Raises:
        DefinitionError: with every such mistake.
    """
    merged = merge(specs)
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
    if problems:
        raise DefinitionError(*problems)
