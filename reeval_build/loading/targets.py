"""Finds the environments that a command's targets mean."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Final

import attrs

from reeval_build.errors import DefinitionError, PlanError
from reeval_build.loading.modules import load_environments
from reeval_build.model.environment import Environment
from reeval_build.paths import display

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


_IMPORTS_US: Final = re.compile(rb"^[ \t]*(?:from|import)[ \t]+reeval_build\b", re.MULTILINE)
_SKIPPED_DIRECTORIES: Final = frozenset({"node_modules", "site-packages", "__pycache__"})


@attrs.frozen(kw_only=True)
class Found:
    """An environment, and the file it was found in, as messages name it."""

    environment: Environment
    file: str


def find_environments(targets: Iterable[str]) -> tuple[Found, ...]:
    """The environments that `targets` mean, each once, in order.

    A target is a Python file, a directory (every `.py` file below it that imports reeval_build, apart from hidden
    directories, virtual environments and the like), or `FILE::NAME` for one environment.

    Raises:
        PlanError: for a target that is not there or has no environment in it.
        DefinitionError: for a mistake in a file, and for two different environments of one name.
    """
    found: dict[str, Found] = {}
    for target in targets:
        for one in _of_target(target):
            known = found.setdefault(one.environment.name, one)
            if known.environment != one.environment:
                problem = f'environment "{one.environment.name}" is also defined, differently, in {known.file}'
                raise DefinitionError(problem, file=one.file)
    return tuple(found.values())


def _of_target(target: str) -> tuple[Found, ...]:
    text, separator, name = target.rpartition("::") if "::" in target else (target, "", "")
    path, shown = Path(text), _shown(text)
    if not separator and path.is_dir():
        return _of_directory(path)
    if not path.exists():
        raise PlanError(f"{shown}: there is no such file or directory")
    if not path.is_file() or path.suffix != ".py":
        raise PlanError(f"{shown}: a target is a .py file, a directory, or FILE::NAME")
    found = _of_file(path)
    if not found:
        raise PlanError(f"{shown}: there is no environment at its top level")
    if separator:
        names = [one.environment.name for one in found]
        found = tuple(one for one in found if one.environment.name == name)
        if not found:
            raise PlanError(f'{shown}: there is no environment "{name}"; it has {", ".join(names)}')
    return found


def _of_directory(directory: Path) -> tuple[Found, ...]:
    files = sorted(_files_below(directory))
    found = tuple(one for file in files for one in _of_file(file))
    if not found:
        raise PlanError(f"{_shown(directory)}: no .py file below it defines an environment with reeval_build")
    return found


def _of_file(file: Path) -> tuple[Found, ...]:
    shown = _shown(file)
    return tuple(
        Found(environment=environment, file=shown) for environment in load_environments(file.absolute(), shown=shown)
    )


def _files_below(directory: Path) -> Iterator[Path]:
    for above, directories, names in os.walk(directory):
        directories[:] = [
            name
            for name in directories
            if not name.startswith(".")
            and name not in _SKIPPED_DIRECTORIES
            and not (Path(above) / name / "pyvenv.cfg").exists()
        ]
        for name in names:
            file = Path(above) / name
            if name.endswith(".py") and file.is_file() and _IMPORTS_US.search(_read(file)):
                yield file


def _read(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except OSError as error:
        raise PlanError(f"{_shown(file)}: it cannot be read: {error.strerror}") from error


def _shown(path: str | Path) -> str:
    return display(os.fsencode(path))
