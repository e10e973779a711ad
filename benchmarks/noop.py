"""How long does a build take that has nothing to do?"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from builders import ALL_TARGETS, BuildKit, Ours
from installed import clean_environment
from measuring import Command, Comparison, take_turns
from workload import Workload

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from builders import Docker
    from installed import Installation

_GOAL_S = 0.5


def compare_on_fake(installation: Installation, directory: Path, *, rounds: int) -> Comparison:
    """On the fake sandbox, beside `git status` in the same repository."""
    workload = Workload(directory / "noop-fake", None, "noop").make()
    ours = Ours(installation, engine=None)
    ours.build(workload)
    status = Command(["git", "status", "--porcelain"], workload.directory / "project", clean_environment())
    times = take_turns({ours.name: partial(_build_nothing, ours, workload), "git status": status.run}, rounds=rounds)
    return Comparison(question="no-op build, fake sandbox", ours=times[0], peers=times[1:], goal_s=_GOAL_S)


def compare_on_docker(installation: Installation, docker: Docker, directory: Path, *, rounds: int) -> Comparison:
    """On Docker, beside builds with BuildKit that have nothing to do: of all four images, and of one."""
    workload = Workload(directory / "noop-docker", docker.image, "noop").make()
    ours = Ours(installation, docker.url)
    peers = [BuildKit(docker, targets) for targets in (ALL_TARGETS, ALL_TARGETS[-1:])]
    ours.build(workload)
    peers[0].build(workload)
    things: dict[str, Callable[[], object]] = {ours.name: partial(_build_nothing, ours, workload)}
    things |= {peer.name: partial(peer.build, workload) for peer in peers}
    times = take_turns(things, rounds=rounds)
    return Comparison(question="no-op build, docker", ours=times[0], peers=times[1:], goal_s=_GOAL_S)


def _build_nothing(ours: Ours, workload: Workload) -> None:
    summary = ours.build(workload)
    if summary["ran"]:
        raise RuntimeError(f"a build with nothing to do ran {summary['ran']} nodes")
