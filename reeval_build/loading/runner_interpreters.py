"""Which Python loads a project's eval files."""

from __future__ import annotations

import os
import shutil
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Final

import attrs

from reeval_build.paths import display

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

VARIABLE: Final = "REEVAL_PYTHON"
REQUIREMENT: Final = "'reeval-python==0.14.*'"


@attrs.frozen
class Interpreter:
    """A command that is a Python. `install` is how a reader gets reeval-python into it."""

    command: tuple[str, ...]
    install: str

    @property
    def shown(self) -> str:
        """The command in messages."""
        return " ".join(display(os.fsencode(word)) for word in self.command)


def project_root(file: Path) -> Path:
    """The directory that imports of an eval file resolve from.

    The nearest one above it with a `pyproject.toml` or a `.git`; without any, the file's own.
    """
    above = file.absolute().parents
    marked = (one for one in above if (one / "pyproject.toml").is_file() or (one / ".git").exists())
    return next(marked, above[0])


def interpreters(root: Path, environ: Mapping[str, str]) -> tuple[Interpreter, ...]:
    """The Pythons that may load the eval files of a project; each only if those before it have no reeval-python.

    What somebody named, or the project's own, is the only one. A project without a Python of its own is loaded with
    the `python3` on the PATH, else with the one that runs this.
    """
    path = environ.get("PATH", os.defpath)
    if named := environ.get(VARIABLE):
        # As a shell would find it; it is not there for the runner, which starts in the project's root.
        found = shutil.which(named, path=path) or named
        return (_with_pip(str(Path(found).absolute()) if "/" in found else found),)
    uv = shutil.which("uv", path=path)
    if uv is not None and ((root / "pyproject.toml").is_file() or (root / "uv.lock").is_file()):
        command = (str(Path(uv).absolute()), "run", "--project", str(root), "python")
        return (Interpreter(command, f"uv add --dev {REQUIREMENT}"),)
    own = root / ".venv" / "bin" / "python"
    # A link to a Python that is gone is still the project's.
    if os.path.lexists(own):
        return (_with_pip(str(own)),)
    return tuple(_of_the_host(path))


def _of_the_host(path: str) -> Iterator[Interpreter]:
    if python := shutil.which("python3", path=path):
        yield _with_pip(str(Path(python).absolute()))
    if sys.executable and find_spec("reeval_python") is not None:
        yield _with_pip(sys.executable)


def _with_pip(python: str) -> Interpreter:
    return Interpreter((python,), f"{display(os.fsencode(python))} -m pip install {REQUIREMENT}")
