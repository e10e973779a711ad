"""The tables `[tool.reeval-build.harness.KIND]` of a pyproject.toml."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

import attrs

from reeval_build.model.durations import seconds
from reeval_build.model.harness_recipes import LATEST, NPM_PROGRAMS, HarnessRecipe, is_version_or_tag, is_word
from reeval_build.model.harnesses import HARNESSES

if TYPE_CHECKING:
    from collections.abc import Iterable

_FAKE: Final = "fake"
_KEYS: Final = ("version", "install", "smoke", "timeout")


class HarnessTableError(Exception):
    """A table does not say what it should; `problem` is a clause about the file that it is in."""

    def __init__(self, problem: str, *, hint: str | None = None) -> None:
        super().__init__(problem)
        self.problem, self.hint = problem, hint


def read_recipes(table: str, value: object) -> dict[str, HarnessRecipe]:
    """How each kind of harness that has a table is installed, by kind; `table` is what messages call `value`.

    Raises:
        HarnessTableError: for what is unknown, wrong or missing.
    """
    if not isinstance(value, Mapping):
        raise HarnessTableError(f"{table} is not a table")
    kinds = [kind for kind in HARNESSES if kind != _FAKE]
    for kind in value:
        if kind == _FAKE:
            raise HarnessTableError(f"[{table}.{kind}] is of a harness that has no program to install")
        if kind not in kinds:
            raise HarnessTableError(f'[{table}] has an unknown harness "{kind}"', hint=_near(kind, kinds))
    return {kind: _Reading(f"{table}.{kind}", kind).recipe(one) for kind, one in value.items()}


@attrs.frozen
class _Reading:
    """Reads the table of one kind of harness."""

    _table: str
    _kind: str

    def recipe(self, value: object) -> HarnessRecipe:
        if not isinstance(value, Mapping):
            raise HarnessTableError(f"{self._table} is not a table")
        for key in value:
            if key not in _KEYS:
                raise HarnessTableError(f'[{self._table}] has an unknown key "{key}"', hint=_near(key, _KEYS))
        known = NPM_PROGRAMS.get(self._kind)
        is_own = known is None or "install" in value
        recipe = HarnessRecipe(
            kind=self._kind,
            package=None if is_own or known is None else known.package,
            version=self._own_version(value) if is_own else self._npm_version(value),
            install=self._install(value) if is_own else (),
            smoke=self._smoke(value, None if known is None else known.smoke),
        )
        return attrs.evolve(recipe, timeout_s=self._timeout_s(value)) if "timeout" in value else recipe

    def _npm_version(self, value: Mapping[str, Any]) -> str:
        version = value.get("version", LATEST)
        if not isinstance(version, str) or not is_version_or_tag(version):
            raise self._wrong("version", version, 'one version such as "1.2.3", or a tag such as "latest"')
        return version

    def _own_version(self, value: Mapping[str, Any]) -> str | None:
        version = value.get("version")
        if version is not None and not (isinstance(version, str) and is_word(version)):
            raise self._wrong("version", version, 'a version such as "1.2.3"')
        return version

    def _install(self, value: Mapping[str, Any]) -> tuple[str, ...]:
        if "install" not in value:
            raise HarnessTableError(
                f"[{self._table}] needs install: how that harness is installed is not known here",
                hint="write the command, or a list of them",
            )
        install = value["install"]
        commands = (install,) if isinstance(install, str) else install
        if not isinstance(commands, (tuple, list)) or not commands or not all(map(_is_command, commands)):
            raise self._wrong("install", install, "a command or a list of commands")
        return tuple(commands)

    def _smoke(self, value: Mapping[str, Any], known: str | None) -> str:
        smoke = value.get("smoke", known)
        if smoke is None:
            raise HarnessTableError(
                f"[{self._table}] needs smoke: a command that fails when the program does not work",
                hint="such as one that prints its version",
            )
        if not isinstance(smoke, str) or not _is_command(smoke):
            raise self._wrong("smoke", smoke, "a command")
        return smoke

    def _timeout_s(self, value: Mapping[str, Any]) -> float:
        found = seconds(value["timeout"])
        if found is None:
            raise self._wrong("timeout", value["timeout"], 'a time limit: seconds, or text such as "10m"')
        return found

    def _wrong(self, key: str, value: object, what: str) -> HarnessTableError:
        return HarnessTableError(f"{key} of [{self._table}] is {value!r}, which is not {what}")


def _is_command(value: object) -> bool:
    return isinstance(value, str) and bool(value.strip()) and "\0" not in value


def _near(name: str, known: Iterable[str]) -> str:
    known = tuple(known)
    near = difflib.get_close_matches(name, known, n=1)
    return f'did you mean "{near[0]}"?' if near else f"known are {', '.join(known[:-1])} and {known[-1]}"
