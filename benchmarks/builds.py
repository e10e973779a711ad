"""How long do a first build, an edit of the rules and one more step take, beside BuildKit doing the same?"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from builders import ALL_TARGETS, BuildKit, Ours
from measuring import Comparison, Times, seconds_of
from workload import Workload

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from builders import Builder, Docker
    from installed import Installation

_EDITS: dict[str, Callable[[Workload], None]] = {
    "first build": lambda _workload: None,
    "build after an edit of the rules": lambda workload: workload.write_rules("Be very brief.\n"),
    "build after one more step": lambda workload: workload.write_definitions("echo more >more.txt"),
}


def compare(installation: Installation, docker: Docker, directory: Path, *, rounds: int) -> list[Comparison]:
    """A comparison for each edit. Every round has a workload, a store and an install step that nobody has seen."""
    builders: list[Builder] = [Ours(installation, docker.url), BuildKit(docker, ALL_TARGETS)]
    taken = {(question, builder.name): list[float]() for question in _EDITS for builder in builders}
    for number in range(rounds):
        workload = Workload(directory / f"builds-{number}", docker.image, f"round-{number}").make()
        for question, edit in _EDITS.items():
            edit(workload)
            # Each goes first in every other round.
            for builder in builders if number % 2 else reversed(builders):
                taken[question, builder.name].append(seconds_of(partial(builder.build, workload)))
        _check_equal(*(builder.list_files(workload) for builder in builders))
    return [
        Comparison(
            question=question,
            ours=Times(builders[0].name, taken[question, builders[0].name]),
            peers=[Times(builders[1].name, taken[question, builders[1].name])],
        )
        for question in _EDITS
    ]


def _check_equal(ours: set[str], theirs: set[str]) -> None:
    """The comparison is fair only when both made the same files."""
    if ours != theirs:
        raise RuntimeError(f"the two builds made different files: {sorted(ours ^ theirs)[:10]}")
