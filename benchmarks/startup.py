"""How long does the program take to start, beside the interpreter it runs on?"""

from __future__ import annotations

from typing import TYPE_CHECKING

from installed import clean_environment
from measuring import Command, Comparison, take_turns

if TYPE_CHECKING:
    from pathlib import Path

    from installed import Installation

_GOAL_S = 0.150


def compare(installation: Installation, directory: Path, *, rounds: int) -> Comparison:
    """`reeval-build --help` beside `python -c pass`."""
    env = clean_environment()
    ours, *peers = take_turns(
        {
            "reeval-build --help": Command([installation.program, "--help"], directory, env).run,
            "python -c pass": Command([installation.python, "-c", "pass"], directory, env).run,
            "python -c 'import click'": Command([installation.python, "-c", "import click"], directory, env).run,
        },
        rounds=rounds,
    )
    return Comparison(question="start-up", ours=ours, peers=peers, goal_s=_GOAL_S)
