"""Finds the environments that a command's targets mean."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Final

import attrs

from reeval_build.errors import DefinitionError, PlanError
from reeval_build.loading.found import Found
from reeval_build.loading.modules import load_environments
from reeval_build.paths import display

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


_IMPORTS_US: Final = re.compile(rb"^[ \t]*(?:from|import)[ \t]+reeval_build\b", re.MULTILINE)
_IMPORTS_REEVAL: Final = re.compile(rb"^[ \t]*(?:from|import)[ \t]+reeval_python\b", re.MULTILINE)
_EVAL_FILE: Final = ".eval.py"
_STANDARD_INPUT: Final = "-"
_SKIPPED_DIRECTORIES: Final = frozenset({"node_modules", "site-packages", "__pycache__"})


def find_environments(targets: Iterable[str]) -> tuple[Found, ...]:
    """The environments that `targets` mean, by name and in order, each once on each harness it was declared for.

    A target is a Python file, a JSON file, `-` for JSON on standard input, a directory, or `FILE::NAME` for one
    environment. A Python file whose name ends in `.eval.py` and that imports reeval_python is an eval file; others are
    modules of ours. Of a directory it is every eval file below it, and every `.py` file that imports reeval_build,
    apart from those in hidden directories, virtual environments and the like.

    Raises:
        PlanError: for a target that is not there or has no environment in it.
        DefinitionError: for a mistake in a file, and for two different environments of one name.
    """
    return _each_once(one for target in targets for one in _of_target(target))


def find_in_file(target: str) -> tuple[Found, ...]:
    """What is in one file; in standard input when `target` is `-`.

    Raises:
        PlanError: when it is not there, or nothing is in it.
        DefinitionError: for a mistake in it, and for two different environments of one name.
    """
    return _each_once(_in_file(target))


def _each_once(every: Iterable[Found]) -> tuple[Found, ...]:
    found: dict[str, list[Found]] = {}
    for one in every:
        alike = found.setdefault(one.environment.name, [])
        if alike and alike[0].environment != one.environment:
            problem = f'environment "{one.environment.name}" is also defined, differently, in {alike[0].file}'
            raise DefinitionError(problem, file=one.file)
        if one in alike:
            at = alike.index(one)
            alike[at] = attrs.evolve(alike[at], evals=tuple(dict.fromkeys((*alike[at].evals, *one.evals))))
        else:
            alike.append(one)
    return tuple(one for alike in found.values() for one in alike)


def _in_file(target: str) -> tuple[Found, ...]:
    path, shown = Path(target), shown_target(target)
    if target != _STANDARD_INPUT:
        if not path.exists():
            raise PlanError(f"{shown}: there is no such file or directory")
        if path.is_dir():
            raise PlanError(f"{shown}: is a directory; FILE::NAME names an environment of one file")
        if not path.is_file() or path.suffix not in {".py", ".json"}:
            raise PlanError(f"{shown}: a target is a .py or .json file, a directory, FILE::NAME, or - for JSON")
    found = _of_file(path, shown)
    if not found:
        is_module = path.suffix == ".py" and not _is_eval_file(path)
        raise PlanError(f"{shown}: " + ("there is no environment at its top level" if is_module else "it has no evals"))
    return found


def shown_target(target: str) -> str:
    """How messages name a file that is a target."""
    return "standard input" if target == _STANDARD_INPUT else _shown(target)


def _of_target(target: str) -> tuple[Found, ...]:
    text, separator, name = target.rpartition("::") if "::" in target else (target, "", "")
    if not separator and Path(text).is_dir():
        return _of_directory(Path(text))
    found = _in_file(text)
    if separator:
        names = dict.fromkeys(one.environment.name for one in found)
        found = tuple(one for one in found if one.environment.name == name)
        if not found:
            raise PlanError(f'{shown_target(text)}: there is no environment "{name}"; it has {", ".join(names)}')
    return found


def _of_directory(directory: Path) -> tuple[Found, ...]:
    files = sorted(_files_below(directory))
    found = tuple(one for file in files for one in _of_file(file, _shown(file)))
    if not found:
        raise PlanError(
            f"{_shown(directory)}: no .py file below it defines an environment with reeval_build, "
            "or an eval with reeval_python"
        )
    return found


def _of_file(file: Path, shown: str) -> tuple[Found, ...]:
    if file.suffix == ".py" and not _is_eval_file(file):
        environments = load_environments(file.absolute(), shown=shown)
        return tuple(Found(environment=environment, file=shown) for environment in environments)
    from reeval_build.loading.declared import load_eval_file, load_json

    if file.suffix == ".py":
        return load_eval_file(file, shown=shown)
    return load_json(None if str(file) == _STANDARD_INPUT else file, shown=shown)


def _is_eval_file(file: Path) -> bool:
    return file.name.endswith(_EVAL_FILE) and _IMPORTS_REEVAL.search(_read(file)) is not None


def _files_below(directory: Path) -> Iterator[Path]:
    for above, directories, names in os.walk(directory):
        directories[:] = [
            name
            for name in directories
            if not name.startswith(".")
            and name not in _SKIPPED_DIRECTORIES
            and not os.path.exists(os.path.join(above, name, "pyvenv.cfg"))  # noqa: PTH110, PTH118 - of many
        ]
        for name in [name for name in names if name.endswith(".py")]:
            file = Path(above) / name
            if file.is_file() and (_IMPORTS_US.search(_read(file)) or _is_eval_file(file)):
                yield file


def _read(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except OSError as error:
        raise PlanError(f"{_shown(file)}: it cannot be read: {error.strerror}") from error


def _shown(path: str | Path) -> str:
    return display(os.fsencode(path))
