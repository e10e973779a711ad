"""Measures reeval-build beside something known: `make bench`, or `python benchmarks/run.py --help`.

Each benchmark answers one question, and prints its times, those of a peer in the same rounds, and their ratio. The
program is measured as a wheel installs it. Benchmarks of Docker start a private engine, as root on Linux, and are
skipped where there can be none.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

sys.path.insert(0, str(Path(__file__).parents[1]))

import builds
import cells
import collecting
import freshness
import machine
import noop
import report
import startup
import states
import steps
import storing
from engines import NoDockerError, docker
from installed import install

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from builders import Docker
    from installed import Installation
    from measuring import Comparison

# What each benchmark measures, and in how many rounds when nobody says: many of what is quick, few of what builds.
ALONE: dict[str, Callable[[Installation, Path, int | None], Iterable[Comparison]]] = {
    "startup": lambda program, at, rounds: [startup.compare(program, at, rounds=rounds or 20)],
    "noop-fake": lambda program, at, rounds: [noop.compare_on_fake(program, at, rounds=rounds or 20)],
    "freshness": lambda program, at, rounds: freshness.compare(program, at, rounds=rounds or 10),
    "plan": lambda program, at, rounds: [cells.compare_plans(program, at, rounds=rounds or 5)],
    "large-file": lambda program, at, rounds: storing.compare_large(program, at, rounds=rounds or 10),
    "restoring": lambda _program, at, rounds: storing.compare_restoring(at, rounds=rounds or 5),
    "bytes": lambda _program, at, _rounds: storing.compare_bytes(at),
    "collecting": lambda program, at, rounds: collecting.compare(program, at, rounds=rounds or 3),
    "steps": lambda program, at, rounds: [steps.compare(program, at, rounds=rounds or 5)],
}
ON_DOCKER: dict[str, Callable[[Installation, Docker, Path, int | None], Iterable[Comparison]]] = {
    "noop-docker": lambda program, engine, at, rounds: [
        noop.compare_on_docker(program, engine, at, rounds=rounds or 20)
    ],
    "cells": lambda program, engine, at, rounds: cells.compare_builds(program, engine, at, rounds=rounds or 10),
    "states": lambda program, engine, at, rounds: states.compare(program, engine, at, rounds=rounds or 3),
    "builds": lambda program, engine, at, rounds: builds.compare(program, engine, at, rounds=rounds or 3),
}
BASELINE = Path(__file__).with_name("baseline.json")


def main() -> None:
    """Run what was chosen."""
    options = _parser().parse_args()
    print(f"{machine.describe()}; load {machine.load():.1f}")
    with tempfile.TemporaryDirectory(prefix="reeval-build-benchmarks-", ignore_cleanup_errors=True) as name:
        directory = Path(name)
        installation = install(directory)
        accepted = _accepted()
        for comparison in _compare(options, installation, directory):
            print(f"\n{report.as_text(comparison, accepted.get(comparison.question))}", flush=True)
            if options.accept:
                _accept(comparison)


def _compare(options: argparse.Namespace, installation: Installation, directory: Path) -> Iterator[Comparison]:
    for name in options.chosen:
        if name in ALONE:
            yield from ALONE[name](installation, directory, options.rounds)
    on_docker = [name for name in options.chosen if name in ON_DOCKER]
    if not on_docker:
        return
    try:
        with docker() as engine:
            for name in on_docker:
                yield from ON_DOCKER[name](installation, engine, directory, options.rounds)
    except NoDockerError as error:
        print(f"\nskipped {', '.join(on_docker)}: {error}")


def _accepted() -> dict[str, Any]:
    """The results of the last run that was accepted, by question."""
    return dict(json.loads(BASELINE.read_text(encoding="utf-8"))) if BASELINE.exists() else {}


def _accept(comparison: Comparison) -> None:
    accepted = {**_accepted(), comparison.question: report.as_json(comparison)}
    BASELINE.write_text(f"{json.dumps(accepted, indent=2)}\n", encoding="utf-8")


def _parser() -> argparse.ArgumentParser:
    every = [*ALONE, *ON_DOCKER]
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("chosen", nargs="*", default=every, metavar="BENCHMARK", help=f"of {', '.join(every)}")
    parser.add_argument("--rounds", type=int, help="how often (default: 20 for what is quick, 3 for what builds)")
    parser.add_argument("--accept", action="store_true", help="keep the results in benchmarks/baseline.json")
    return parser


if __name__ == "__main__":
    main()
