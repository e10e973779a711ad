"""Checks what an author wrote, field by field, in the words of reeval's documentation."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from reeval_build.errors import DefinitionError
from reeval_build.model import descriptors
from reeval_build.model.durations import seconds
from reeval_build.model.shown import got, is_text, names_secret
from reeval_build.model.spec import DEFAULT_TIMEOUT_S, FileContent, GitWorkspace, Sandbox, SetupStep, Spec
from reeval_build.paths import PathError, parse_destination

_VARIABLE: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_IMAGE_FIELDS: Final = ("image", "from", "from_", "dockerfile", "install")
_LATER_FIELDS: Final = ("egress", "mcp", "plugins", "skills")
_NEAR_MISSES: Final = {
    "steps": "setup",
    "exec": "setup",
    "run": "setup",
    "vars": "env",
    "secrets": "env",
    "network": "egress",
    "networkPolicy": "egress",
    "skill": "skills",
    "plugin": "plugins",
    "file": "files",
    "agents": "rules",
    "use": "extend",
    "repo": "workspace",
    "git": "workspace",
    "template": "workspace",
}


class _Problems:
    """The mistakes found so far in the environment `name`."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.found: list[str] = []

    @property
    def where(self) -> str:
        return f'defineEnvironment("{self.name}")'

    def add(self, problem: str) -> None:
        self.found.append(problem)


def check_fields(name: str, fields: Mapping[str, Any]) -> Spec:
    """The checked spec that `fields` describe.

    Raises:
        DefinitionError: with every mistake, in a fixed order: image fields, unknown fields, then the fields by name.
    """
    problems = _Problems(name)
    for field in sorted(fields, key=lambda field: field not in _IMAGE_FIELDS):
        _check_field_name(field, fields[field], problems)
    checked: dict[str, Any] = {}
    for field, check in _CHECKS.items():
        if field in fields:
            checked[field] = check(fields[field], problems)
    if problems.found:
        raise DefinitionError(*problems.found)
    return Spec(**checked)


def _check_field_name(field: object, value: object, problems: _Problems) -> None:
    if field in _IMAGE_FIELDS:
        option = "from" if field == "from_" or (field == "image" and isinstance(value, str)) else field
        problems.add(
            f'"{field}" isn\'t an environment field ({problems.where}). '
            f"Put the image on the sandbox: sandbox: docker({{ {option}: … }})."
        )
    elif field in _LATER_FIELDS:
        problems.add(f"{field} in {problems.where} is not supported by this version of reeval-build yet")
    elif field not in _CHECKS:
        hint = f' Did you mean "{_NEAR_MISSES[field]}"?' if field in _NEAR_MISSES else ""
        problems.add(f'Unknown field "{field}" in {problems.where}.{hint}')


def _check_env(value: object, problems: _Problems) -> dict[str, str]:
    if not isinstance(value, Mapping):
        problems.add(f"env in {problems.where} must be a mapping of variable names to strings")
        return {}
    checked: dict[str, str] = {}
    for name, text in value.items():
        if not isinstance(name, str) or not _VARIABLE.fullmatch(name):
            problems.add(
                f"env[{got(name)[5:-1]}] in {problems.where} is not a variable name: "
                'letters, digits and "_", starting with a letter or "_"'
            )
        elif isinstance(text, Mapping) and text.get("kind") == "secret":
            problems.add(
                f"env.{name} in {problems.where} is a secret, which this version of reeval-build does not support yet"
            )
        elif not is_text(text):
            problems.add(f"env.{name} in {problems.where} must be a string of valid Unicode without NUL")
        elif names_secret(name):
            problems.add(
                f"env.{name} in {problems.where} is a literal string. "
                "Pass secrets with secret.fromEnv() so they're redacted and never recorded."
            )
        else:
            checked[name] = text
    return checked


def _check_files(value: object, problems: _Problems) -> dict[str, FileContent]:
    if not isinstance(value, Mapping):
        problems.add(f"files in {problems.where} must be a mapping of paths to strings or file(path) {got(value)}")
        return {}
    checked: dict[str, FileContent] = {}
    for path, content in value.items():
        if not isinstance(path, str):
            problems.add(f"files in {problems.where} must have text as paths {got(path)}")
            continue
        try:
            parse_destination(path)
        except PathError as error:
            problems.add(f'files["{error.path}"] in {problems.where} {error.reason}')
        found = descriptors.file_content(content)
        if found is None:
            problems.add(f'files["{path}"] in {problems.where} must be a string or file(path) {got(content)}')
        else:
            checked[path] = found
    return checked


def _check_rules(value: object, problems: _Problems) -> FileContent | None:
    found = descriptors.file_content(value)
    if found is None:
        problems.add(f"rules in {problems.where} must be markdown or file(path) {got(value)}")
    return found


def _check_sandbox(value: object, problems: _Problems) -> Sandbox | None:
    try:
        found = descriptors.sandbox(value)
    except DefinitionError as error:
        for problem in error.problems:
            problems.add(f"sandbox in {problems.where}: {problem}")
        return None
    if found is None:
        problems.add(
            f"sandbox in {problems.where} must come from a sandbox helper, "
            f"e.g. sandbox: docker({{ from: 'node:24-bookworm' }}) {got(value)}"
        )
    return found


def _check_setup(value: object, problems: _Problems) -> tuple[SetupStep, ...]:
    if isinstance(value, (str, bytes)) or not isinstance(value, Sequence):
        problems.add(f"setup in {problems.where} must be a list {got(value)}")
        return ()
    found = (_check_step(at, step, problems) for at, step in enumerate(value))
    return tuple(step for step in found if step is not None)


def _check_step(at: int, step: object, problems: _Problems) -> SetupStep | None:
    if isinstance(step, SetupStep):
        return step
    fields = {"run": step} if isinstance(step, str) else step
    run = fields.get("run") if isinstance(fields, Mapping) else None
    if not isinstance(fields, Mapping) or not is_text(run) or not run.strip():
        problems.add(
            f"setup[{at}] in {problems.where} must be a command string or {{ run, timeout?, cwd? }} {got(step)}"
        )
        return None
    named = f"setup step {got(run)[5:-1]} in {problems.where}"
    unknown = [key for key in fields if key not in {"run", "timeout", "cwd"}]
    for key in unknown:
        problems.add(f'{named} has an unknown key "{key}"; a step is a string or {{ run, timeout?, cwd? }}.')
    cwd, timeout_s = fields.get("cwd", "."), seconds(fields.get("timeout", DEFAULT_TIMEOUT_S))
    if not is_text(cwd) or not cwd:
        problems.add(f"{named} has a bad cwd; it is a directory, relative to the workspace or absolute {got(cwd)}")
        return None
    if timeout_s is None:
        problems.add(f'{named} has a bad timeout; use seconds or text such as "5m" {got(fields["timeout"])}')
        return None
    return SetupStep(run=run, cwd=cwd, timeout_s=timeout_s)


def _check_workspace(value: object, problems: _Problems) -> GitWorkspace | None:
    try:
        found = descriptors.workspace(value)
    except DefinitionError as error:
        for problem in error.problems:
            problems.add(f"workspace in {problems.where}: {problem}")
        return None
    if found is None:
        problems.add(
            f"workspace in {problems.where} must come from the git helper, "
            f"e.g. workspace: git('https://github.com/acme/app', {{ ref: 'v1.0.0' }}) {got(value)}"
        )
    return found


_CHECKS: Final[dict[str, Callable[[Any, _Problems], Any]]] = {
    "env": _check_env,
    "files": _check_files,
    "rules": _check_rules,
    "sandbox": _check_sandbox,
    "setup": _check_setup,
    "workspace": _check_workspace,
}
