"""The program as a user has it: a wheel, installed with compiled modules into an environment of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import attrs

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

CHECKOUT = Path(__file__).parents[1]

# Some are tried and not there, as for other platforms.
_IMPORTING = """\
for name in {names!r}:
    try:
        __import__(name)
    except ImportError:
        pass
"""


@attrs.frozen
class Installation:
    """A virtual environment with the program in it."""

    directory: Path

    @property
    def python(self) -> str:
        """The interpreter."""
        return str(self.directory / "bin" / "python")

    @property
    def program(self) -> str:
        """The command."""
        return str(self.directory / "bin" / "reeval-build")

    def importing(self, arguments: Sequence[str], directory: Path, env: Mapping[str, str]) -> list[str]:
        """A command line that imports what the program does with these arguments, and nothing more."""
        command = [self.python, "-X", "importtime", "-m", "reeval_build", *arguments]
        done = subprocess.run(command, cwd=directory, env=dict(env), capture_output=True, text=True, check=True)
        lines = [line.split("|") for line in done.stderr.splitlines() if line.startswith("import time:")]
        names = [columns[-1].strip() for columns in lines[1:]]
        return [self.python, "-c", _IMPORTING.format(names=names)]


def install(directory: Path) -> Installation:
    """Build the wheel of this checkout and install it below `directory`; pip needs its index for that."""
    wheels, environment = directory / "wheels", directory / "environment"
    _pip(sys.executable, "wheel", "--no-deps", f"--wheel-dir={wheels}", str(CHECKOUT))
    subprocess.run([sys.executable, "-m", "venv", str(environment)], check=True, env=clean_environment())
    made = Installation(environment)
    _pip(made.python, "install", "--compile", *map(str, wheels.glob("*.whl")))
    return made


def clean_environment() -> dict[str, str]:
    """The environment without what changes how Python starts."""
    return {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}


def _pip(python: str, *arguments: str) -> None:
    command = [python, "-m", "pip", "-qq", "--disable-pip-version-check", *arguments]
    subprocess.run(command, check=True, env=clean_environment())
