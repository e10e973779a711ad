"""Loads a Python file and finds the environments at its top level."""

from __future__ import annotations

import importlib.util
import os
import sys
import traceback
from contextlib import contextmanager, redirect_stdout, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

from reeval_build.errors import DefinitionError, StopRequest
from reeval_build.loading.imports import FreshLoader, importing_from
from reeval_build.loading.python_errors import in_words_of_author
from reeval_build.model.environment import Environment
from reeval_build.model.problems import collecting_problems

if TYPE_CHECKING:
    from collections.abc import Iterator

_MODULE: Final = "reeval_build_definition"
_STANDARD_OUTPUT, _STANDARD_ERROR = 1, 2
_NEVER_A_CONSEQUENCE: Final = (DefinitionError, ImportError, NameError, SyntaxError)


def load_environments(file: Path, *, shown: str) -> tuple[Environment, ...]:
    """The environments at the top level of `file`, in the order of their names there; each once.

    The file can import what is beside it and what is in the working directory, as a script can. What it prints goes
    to standard error, for standard output is for results.

    A mistake in a definition does not end the file: it goes on with something that stands in for what was refused,
    so that every mistake is found, in the order of the file. When it then fails, that may only be a consequence of
    what stood in, and is not said until the mistakes are corrected. What never is one is said after them: a name that
    is not known, an import that fails, and source that cannot be read.

    Raises:
        DefinitionError: when the file cannot be read, fails while it runs, or has mistakes: all of them; names it as
            `shown`.
    """
    with (
        importing_from(file.parent, *_working_directory()),
        _printing_to_standard_error(),
        collecting_problems() as mistakes,
    ):
        namespace, failure = _run(file)
        if failure is not None and (not mistakes or isinstance(failure, _NEVER_A_CONSEQUENCE)):
            mistakes += [mistake for mistake in _said(failure, file) if mistake not in mistakes]
    if mistakes:
        raise DefinitionError(*mistakes, file=shown) from failure
    found = {id(value): value for value in namespace.values() if isinstance(value, Environment)}
    return tuple(dict.fromkeys(found.values()))


def _working_directory() -> Iterator[Path]:
    # It may have been removed.
    with suppress(FileNotFoundError):
        yield Path.cwd()


def _run(file: Path) -> tuple[dict[str, object], BaseException | None]:
    """What the file defines, and what it was ended by before its end."""
    spec = importlib.util.spec_from_file_location(_MODULE, file, loader=FreshLoader(_MODULE, str(file)))
    assert spec is not None, "a loader is given"
    assert spec.loader is not None, "a loader is given"
    module = importlib.util.module_from_spec(spec)
    sys.modules[_MODULE] = module
    failure: BaseException | None = None
    try:
        spec.loader.exec_module(module)
    except (KeyboardInterrupt, StopRequest):
        raise
    except BaseException as error:  # noqa: BLE001 - whatever it is, it becomes a message
        failure = error
    finally:
        sys.modules.pop(_MODULE, None)
    return vars(module), failure


def _said(failure: BaseException, file: Path) -> tuple[str, ...]:
    """What a message says of how a file failed. Mistakes are raised where they are not collected: in threads of its."""
    return failure.problems if isinstance(failure, DefinitionError) else (_describe(failure, file),)


def _describe(error: BaseException, file: Path) -> str:
    """One clause: what was raised, and in which line of the file when it was there."""
    if isinstance(error, SystemExit):
        return f"it called sys.exit({error.code!r}) while it was loaded"
    if isinstance(error, FileNotFoundError) and error.filename == str(file):
        return "there is no such file"
    if isinstance(error, SyntaxError):
        there = "" if error.filename in {str(file), None} else f" of {error.filename}"
        return f"{type(error).__name__}: {error.msg}" + (f" (line {error.lineno}{there})" if error.lineno else there)
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == str(file)]
    return f"{type(error).__name__}: {in_words_of_author(error)}" + (f" (line {lines[-1]})" if lines else "")


@contextmanager
def _printing_to_standard_error() -> Iterator[None]:
    """Send there what is printed by Python code and, for they have only the descriptor, by programs that it runs."""
    with redirect_stdout(sys.stderr):
        try:
            kept = os.dup(_STANDARD_OUTPUT)
            os.dup2(_STANDARD_ERROR, _STANDARD_OUTPUT)
        except OSError:
            yield
            return
        try:
            yield
        finally:
            os.dup2(kept, _STANDARD_OUTPUT)
            os.close(kept)
