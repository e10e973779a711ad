"""Wall times of commands over several rounds, and their percentiles."""

from __future__ import annotations

import statistics
import subprocess
import time
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import attrs

if TYPE_CHECKING:
    from collections.abc import Callable

_LONG_S = 900.0
_TWENTY = 20


@attrs.frozen
class Command:
    """A command line, where it runs, and in which environment."""

    arguments: Sequence[str]
    directory: Path
    env: Mapping[str, str]

    def run(self) -> str:
        """What it prints. Raises RuntimeError, with what it said, when it fails."""
        done = subprocess.run(
            list(self.arguments),
            cwd=self.directory,
            env=dict(self.env),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
            timeout=_LONG_S,
        )
        if done.returncode != 0:
            raise RuntimeError(f"{' '.join(self.arguments)} ended with {done.returncode}:\n{done.stdout}{done.stderr}")
        return done.stdout


@attrs.frozen
class Times:
    """The wall times of one thing, in seconds, a round each; where a comparison says so, bytes."""

    name: str
    seconds: Sequence[float]

    @property
    def p50_s(self) -> float:
        """The median."""
        return statistics.median(self.seconds)

    @property
    def p95_s(self) -> float:
        """What nineteen of twenty rounds do not exceed; the slowest where there are fewer."""
        rounds = len(self.seconds)
        return (
            max(self.seconds) if rounds < _ENOUGH else statistics.quantiles(self.seconds, n=20, method="inclusive")[18]
        )


_ENOUGH = 20


@attrs.frozen(kw_only=True)
class Comparison:
    """A question, our times, and those of peers measured in the same rounds.

    `goal_s` is for our median, `goal_ratio` for what it is of the first peer's.
    """

    question: str
    ours: Times
    peers: Sequence[Times]
    goal_s: float | None = None
    goal_ratio: float | None = None
    unit: Literal["s", "bytes"] = "s"


def seconds_of(work: Callable[[], object]) -> float:
    """How long `work` takes."""
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def times_of(things: Mapping[str, Callable[[], float]], *, rounds: int) -> list[Times]:
    """What several things say that they took, one after the other in each round."""
    seconds: dict[str, list[float]] = {name: [] for name in things}
    for _ in range(rounds):
        for name, work in things.items():
            seconds[name].append(work())
    return [Times(name, taken) for name, taken in seconds.items()]


def take_turns(things: Mapping[str, Callable[[], object]], *, rounds: int) -> list[Times]:
    """The times of several things, one after the other in each round, so that all see the same machine."""
    for work in things.values():
        work()
    return times_of({name: partial(seconds_of, work) for name, work in things.items()}, rounds=rounds)
