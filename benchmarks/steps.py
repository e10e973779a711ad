"""What does it cost to run a step and keep what it did?"""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING

from installed import clean_environment
from measuring import Command, Comparison, Times, take_turns

if TYPE_CHECKING:
    from pathlib import Path

    from installed import Installation

_STEPS = 5
_GOAL_RATIO = 1.05


def compare(installation: Installation, directory: Path, *, rounds: int) -> Comparison:
    """Five steps of a second each on the fake sandbox: what they add to a build, beside sleeping for five seconds."""
    below = directory / "steps"
    below.mkdir()
    env = {**clean_environment(), "REEVAL_BUILD_HOME": str(below / "store")}
    build = Command([installation.program, "build", "--sandbox", "fake", "environments.py"], below, env)
    numbers = count()

    def build_with(steps: int) -> None:
        number = next(numbers)
        setup = [f"sleep 1; echo {number}-{step} > file" for step in range(steps)]
        (below / "environments.py").write_text(
            "from reeval_build import define_environment, fake_sandbox\n\n"
            f'one = define_environment("one", {{"sandbox": fake_sandbox(), "setup": {setup!r}}})\n'
        )
        build.run()

    more, none, alone = take_turns(
        {
            "with the steps": lambda: build_with(_STEPS),
            "without": lambda: build_with(0),
            "sleep": Command(["sleep", str(_STEPS)], below, clean_environment()).run,
        },
        rounds=rounds,
    )
    added = [with_them - without for with_them, without in zip(more.seconds, none.seconds, strict=True)]
    return Comparison(
        question="five steps of a second on the fake sandbox",
        ours=Times("what they add to a build", added),
        peers=[alone],
        goal_ratio=_GOAL_RATIO,
    )
