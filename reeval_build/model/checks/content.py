"""Checks `env`, `files` and `rules`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from reeval_build.model.helpers.secrets import env_value
from reeval_build.model.reading import Refused
from reeval_build.model.secrets import VARIABLE
from reeval_build.model.shown import got, is_encodable, is_text, shown
from reeval_build.model.spec import EnvValue, FileContent, HostFile
from reeval_build.paths import PathError, parse_destination

if TYPE_CHECKING:
    from reeval_build.model.checks.definition import Definition


def check_env(value: object, definition: Definition) -> dict[str, EnvValue] | None:
    """Variables by name. A value that is refused is not shown: it may be a secret."""
    if not isinstance(value, Mapping):
        definition.add(f"env in {definition.where} must be a mapping of variable names to strings or secrets")
        return None
    checked: dict[str, EnvValue] = {}
    for name, written in value.items():
        is_name = isinstance(name, str) and VARIABLE.fullmatch(name)
        try:
            checked[name] = env_value(name, written, definition.site)
        except Refused as refused:
            definition.refuse(f"env.{name}" if is_name else f"env[{shown(name)}]", refused)
    return checked


def check_files(value: object, definition: Definition) -> dict[str, FileContent] | None:
    """Contents by destination."""
    where = definition.where
    if not isinstance(value, Mapping):
        definition.add(f"files in {where} must be a mapping of paths to strings or file(path) {got(value)}")
        return None
    checked: dict[str, FileContent] = {}
    for path, content in value.items():
        if not isinstance(path, str):
            definition.add(f"files in {where} must have text as paths {got(path)}")
            continue
        is_misplaced = False
        try:
            parse_destination(path)
        except PathError as error:
            is_misplaced = True
            definition.add(f'files["{error.path}"] in {where} {error.reason}')
        found = _content(content, definition)
        if found is None:
            definition.add(f'files["{path}"] in {where} must be a string or file(path) {got(content)}')
        elif not is_misplaced:
            checked[path] = found
    return checked


def check_rules(value: object, definition: Definition) -> FileContent | None:
    """Text, or a file of the host."""
    found = _content(value, definition)
    if found is None:
        definition.add(f"rules in {definition.where} must be markdown or file(path) {got(value)}")
    return found


def _content(value: object, definition: Definition) -> FileContent | None:
    """Text, `file(path)` or `{"kind": "file", "path": …}`; None for anything else."""
    match value:
        case HostFile():
            return value
        case str():
            return value if is_encodable(value) else None
        case {"kind": "file", "path": str(path), **rest} if is_text(path) and path and not rest:
            return HostFile(definition.site.resolve(path))
        case _:
            return None
