"""Loads a Python file and finds the environments at its top level."""

from __future__ import annotations

import importlib.util
import sys
import traceback
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

from reeval_build.errors import DefinitionError
from reeval_build.model.environment import Environment

if TYPE_CHECKING:
    from collections.abc import Iterator

_MODULE: Final = "reeval_build_definition"


def load_environments(file: Path, *, shown: str) -> tuple[Environment, ...]:
    """The environments at the top level of `file`, in the order of their names there; each once.

    The file can import what is beside it and what is in the working directory, as a script can. Modules it brought
    in are forgotten afterwards, so that files of one name in two directories do not get in each other's way.

    Raises:
        DefinitionError: when the file cannot be read, fails while it runs, or has a mistake; names it as `shown`.
    """
    with _importing_from(file.parent):
        namespace = _run(file, shown)
    found = {id(value): value for value in namespace.values() if isinstance(value, Environment)}
    return tuple(dict.fromkeys(found.values()))


def _run(file: Path, shown: str) -> dict[str, object]:
    spec = importlib.util.spec_from_file_location(_MODULE, file)
    assert spec is not None, "a .py file has a loader"
    assert spec.loader is not None, "a .py file has a loader"
    module = importlib.util.module_from_spec(spec)
    sys.modules[_MODULE] = module
    try:
        spec.loader.exec_module(module)
    except DefinitionError as error:
        raise DefinitionError(*error.problems, file=shown) from error
    except FileNotFoundError as error:
        if error.filename == str(file):
            raise DefinitionError("there is no such file", file=shown) from error
        raise DefinitionError(_describe(error, file), file=shown) from error
    except SystemExit as error:
        problem = f"it called sys.exit({error.code!r}) while it was loaded"
        raise DefinitionError(problem, file=shown) from error
    except Exception as error:
        raise DefinitionError(_describe(error, file), file=shown) from error
    finally:
        sys.modules.pop(_MODULE, None)
    return vars(module)


def _describe(error: BaseException, file: Path) -> str:
    """One clause: what was raised, and in which line of the file when it was there."""
    text = " ".join(str(error).split()) or "no message"
    if isinstance(error, SyntaxError):
        return f"{type(error).__name__}: {error.msg}" + (f" (line {error.lineno})" if error.lineno else "")
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == str(file)]
    return f"{type(error).__name__}: {text}" + (f" (line {lines[-1]})" if lines else "")


@contextmanager
def _importing_from(directory: Path) -> Iterator[None]:
    path, modules = list(sys.path), set(sys.modules)
    sys.path[:0] = list(dict.fromkeys((str(directory), str(Path.cwd()))))
    try:
        yield
    finally:
        sys.path[:] = path
        for name in set(sys.modules) - modules:
            if _is_of_a_project(sys.modules[name]):
                del sys.modules[name]


def _is_of_a_project(module: object) -> bool:
    """Whether a module came from neither an installation of Python nor this package."""
    origin = getattr(module, "__file__", None)
    return isinstance(origin, str) and not origin.startswith((sys.prefix, sys.base_prefix, _PACKAGE))


_PACKAGE: Final = str(Path(__file__).parent.parent)
