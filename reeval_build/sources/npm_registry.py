"""Which registry a package would come from, to tell apart what was fetched from one and from another."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Final

from reeval_build.sources.npm_errors import without_credentials

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_SETTING: Final = re.compile(r"\s*((?:@[^:\s]+:)?registry)\s*=\s*[\"']?(.*?)[\"']?\s*")
_ENVIRONMENT: Final = "npm_config_"
_MARKS_OF_A_PROJECT: Final = ("package.json", "node_modules")


def configured_registry(name: str, project: Path | None) -> str:
    """The registry that npm's configuration names for a package, without credentials; empty for npm's own default.

    Asking npm would take longer than a whole build that has nothing to do. So this reads, where npm looks, the files
    of the project and the user and the environment; what the machine or npm itself has as default is one and the same
    for all.
    """
    settings: dict[str, str] = {}
    for file in _files(project):
        settings.update(_read(file))
    settings.update(_from_environment(os.environ))
    scope = name.partition("/")[0] if name.startswith("@") else ""
    value = settings.get(f"{scope}:registry") or settings.get("registry", "")
    return without_credentials(os.path.expandvars(value)).rstrip("/")


def _files(project: Path | None) -> Iterator[Path]:
    """The files that hold, the one that counts most last."""
    user = next((value for name, value in os.environ.items() if name.lower() == "npm_config_userconfig"), None)
    yield Path(user or "~/.npmrc")
    if project is not None:
        above = (project, *project.parents)
        found = (path for path in above if any((path / mark).exists() for mark in _MARKS_OF_A_PROJECT))
        yield next(found, project) / ".npmrc"


def _read(file: Path) -> dict[str, str]:
    try:
        text = file.expanduser().read_text(encoding="utf-8", errors="replace")
    except (OSError, RuntimeError):  # the latter when there is no home
        return {}
    return {found[1]: found[2] for line in text.splitlines() if (found := _SETTING.fullmatch(line))}


def _from_environment(environment: Mapping[str, str]) -> dict[str, str]:
    lowered = {name.lower(): value for name, value in environment.items()}
    return {
        name.removeprefix(_ENVIRONMENT): value
        for name, value in lowered.items()
        if name.startswith(_ENVIRONMENT) and name.endswith("registry") and value
    }
