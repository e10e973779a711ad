"""What a project says of itself in the table `[tool.reeval-build]` of its pyproject.toml."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

import attrs

from reeval_build.errors import PlanError
from reeval_build.model.harness_recipes import HarnessRecipe
from reeval_build.model.platforms import is_platform
from reeval_build.model.sizes import size_bytes

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

_NAME: Final = "pyproject.toml"
_TABLE: Final = "reeval-build"
_HARNESSES: Final = "harness"


class ProjectFileError(PlanError):
    """A pyproject.toml does not say what it should."""

    def __init__(self, path: Path, problem: str, *, hint: str | None = None) -> None:
        super().__init__(f"{path}: {problem}", hint=hint)
        self.path = path


@attrs.frozen(kw_only=True)
class ProjectSettings:
    """What a project asks for; None for what it does not say.

    `budget_bytes` is how large the store may become, and `platform` what its images are for. `harnesses` is how the
    programs of harnesses are installed, by kind, for those kinds that it says it of.
    """

    budget_bytes: int | None = None
    platform: str | None = None
    harnesses: Mapping[str, HarnessRecipe] = attrs.field(factory=dict)


def project_settings(directory: Path) -> ProjectSettings:
    """What the nearest pyproject.toml in `directory` or above it says.

    Raises:
        ProjectFileError: when it cannot be read, is not TOML, or has something in its table that is unknown or wrong.
    """
    path = next((above / _NAME for above in (directory, *directory.parents) if _is_file(above / _NAME)), None)
    if path is None:
        return ProjectSettings()
    try:
        data = path.read_bytes()
    except OSError as error:
        raise ProjectFileError(path, f"it cannot be read: {error.strerror}") from error
    # Of a file that does not name this program, nothing is asked.
    if _TABLE.encode() not in data:
        return ProjectSettings()
    import tomllib  # noqa: PLC0415 - most projects have no such table, and each command starts here

    try:
        tools = tomllib.loads(data.decode("utf-8")).get("tool", {})
    except ValueError as error:
        raise ProjectFileError(path, f"it is not TOML: {error}") from error
    except RecursionError as error:
        raise ProjectFileError(path, "it is not TOML that can be read: it is nested too deeply") from error
    table = tools.get(_TABLE, {}) if isinstance(tools, dict) else {}
    if not isinstance(table, dict):
        raise ProjectFileError(path, f"tool.{_TABLE} is not a table")
    return _settings(path, table)


def _is_file(path: Path) -> bool:
    """Whether it is; whoever may not enter a directory above where they work is told nothing by what is in it."""
    try:
        return path.is_file()
    except PermissionError:
        return False


def _settings(path: Path, table: Mapping[str, Any]) -> ProjectSettings:
    found: dict[str, Any] = {}
    for key, value in table.items():
        if key == _HARNESSES:
            found["harnesses"] = _harnesses(path, value)
            continue
        if key not in _KEYS:
            import difflib  # noqa: PLC0415 - for this message only

            known = (*_KEYS, _HARNESSES)
            near = difflib.get_close_matches(key, known, n=1)
            raise ProjectFileError(
                path,
                f'[tool.{_TABLE}] has an unknown key "{key}"',
                hint=f'did you mean "{near[0]}"?' if near else f"known are {', '.join(_KEYS)} and {_HARNESSES}",
            )
        name, read, what = _KEYS[key]
        found[name] = read(value)
        if found[name] is None:
            raise ProjectFileError(path, f"{key} of [tool.{_TABLE}] is {value!r}, which is not {what}")
    return ProjectSettings(**found)


def _harnesses(path: Path, value: object) -> Mapping[str, HarnessRecipe]:
    from reeval_build.loading.harness_tables import (  # noqa: PLC0415 - most projects have no such table
        HarnessTableError,
        read_recipes,
    )

    try:
        return read_recipes(f"tool.{_TABLE}.{_HARNESSES}", value)
    except HarnessTableError as error:
        raise ProjectFileError(path, error.problem, hint=error.hint) from error


def _platform(value: object) -> str | None:
    return value if isinstance(value, str) and is_platform(value) else None


_KEYS: Final[Mapping[str, tuple[str, Callable[[object], int | str | None], str]]] = {
    "budget": ("budget_bytes", size_bytes, 'a size such as "20G"'),
    "platform": ("platform", _platform, 'a platform such as "linux/arm64"'),
}
