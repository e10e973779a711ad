"""Projects with eval files, and the real runner that loads them."""

from __future__ import annotations

import sys
from textwrap import dedent
from typing import TYPE_CHECKING, Any, Final

import pytest

from reeval_build.loading.runner import collect
from reeval_build.loading.runner_errors import EvalFileError
from reeval_build.loading.runner_interpreters import Interpreter
from tests.loading.trees import declared_in
from tests.support.projects import Project

if TYPE_CHECKING:
    from pathlib import Path

    from reeval_build.loading.declarations import Declared

OWN: Final = Interpreter((sys.executable,), "install it")
# Without what is installed: no reeval-python.
BARE: Final = Interpreter((sys.executable, "-S"), "install it here")
FILE: Final = "evals/x.eval.py"
IMPORTS: Final = (
    "from reeval_python import define_environment, docker, evaluate, evaluate_each, fake_harness, group, plugin, todo\n"
)


class EvalProject(Project):
    """A project of a user's with eval files, as messages see it: its own directory is `~`."""

    def file(self, text: str, *, path: str = FILE) -> Path:
        """An eval file; line 1 of it is the imports."""
        return self.write(path, IMPORTS + dedent(text).lstrip("\n"))

    def collect(self, text: str, **options: Any) -> Any:
        """The declaration tree of an eval file of this text."""
        return self.collect_file(self.file(text), **options)

    def collect_file(self, file: Path, **options: Any) -> Any:
        """The declaration tree of an eval file."""
        return collect(file, **{"shown": FILE, "root": self.directory, "candidates": (OWN,), **options})

    def declared(self, text: str) -> tuple[Declared, ...]:
        """What an eval file of this text declares."""
        return declared_in(self.collect(text), file=FILE)

    def refusal(self, text: str, **options: Any) -> str:
        """The one message about an eval file of this text."""
        return self.refusal_of(self.file(text), **options)

    def refusal_of(self, file: Path, **options: Any) -> str:
        """The one message about an eval file."""
        with pytest.raises(EvalFileError) as caught:
            self.collect_file(file, **options)
        assert caught.value.file == FILE
        assert "\n" not in caught.value.message
        return caught.value.message.replace(str(self.directory), "~").replace(sys.executable, "PYTHON")


@pytest.fixture
def project(tmp_path: Path) -> EvalProject:
    return EvalProject(tmp_path / "project")
