"""What a chain of layers says together."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING

import attrs

from reeval_build.errors import DefinitionError
from reeval_build.paths import Destination, parse_destination

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from reeval_build.model.spec import FileContent, GitWorkspace, Sandbox, SetupStep, Spec

_REPLACED = ("sandbox", "rules", "workspace")
_MERGED_BY_NAME = ("env", "files")
_ORDER = ("sandbox", "env", "files", "rules", "workspace")


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
    replaced: dict[str, object] = dict.fromkeys(_REPLACED)
    by_name: dict[str, dict[str, object]] = {field: {} for field in _MERGED_BY_NAME}
    setup: list[SetupStep] = []
    overrides: dict[str, None] = {}
    for spec in specs:
        overrides.update(dict.fromkeys(_replaced_by(spec, replaced, by_name)))
        for field in _REPLACED:
            if (value := getattr(spec, field)) is not None:
                replaced[field] = value
        for field in _MERGED_BY_NAME:
            by_name[field].update(getattr(spec, field) or {})
        setup += spec.setup or ()
    return Merged(  # type: ignore[arg-type]  # the loops above are over the names of fields of one type each
        **replaced,
        **{field: MappingProxyType(values) for field, values in by_name.items()},
        setup=tuple(setup),
        overrides=tuple(overrides),
    )


def _replaced_by(spec: Spec, above: Mapping[str, object], by_name: Mapping[str, Mapping[str, object]]) -> Iterable[str]:
    for field in _ORDER:
        value = getattr(spec, field)
        if field in _REPLACED:
            if value is not None and above[field] is not None:
                yield field
        else:
            for name in sorted(value or {}):
                if name in by_name[field]:
                    yield f"{field}.{name}"


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
