"""Eval files of a project, and the Python that loads them."""

from __future__ import annotations

import sys
from textwrap import dedent
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.projects import Project

FILE: Final = "evals/x.eval.py"
PYTHON: Final = {"REEVAL_PYTHON": sys.executable}
FAKE: Final = {"kind": "fake"}
_IMPORTS: Final = (
    "from reeval_python import define_environment, docker, evaluate, evaluate_each, fake_harness, group, plugin, todo\n"
)


def write_evals(project: Project, text: str, *, path: str = FILE) -> Path:
    """An eval file: `text` after the imports that every one needs."""
    return project.write(path, _IMPORTS + dedent(text))


def environment(name: str = "base", **spec: Any) -> dict[str, Any]:
    """An environment of one layer on a fake sandbox, in wire form."""
    return {"kind": "environment", "name": name, "layers": [{"name": name, "spec": {"sandbox": FAKE, **spec}}]}


def evaluation(name: str = "x", /, **options: Any) -> dict[str, Any]:
    """An eval, in wire form."""
    return {"type": "eval", "name": name, "mode": "run", "options": options, "body": "b1"}
