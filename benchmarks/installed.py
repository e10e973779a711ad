"""The program as a user has it: a wheel, installed with compiled modules into an environment of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import attrs

CHECKOUT = Path(__file__).parents[1]


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
