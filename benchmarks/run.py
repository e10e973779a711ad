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
from typing import TYPE_CHECKING

sys.path.insert(0, str(Path(__file__).parents[1]))

import builds
import cells
import freshness
import machine
import noop
import report
import startup
from engines import NoDockerError, docker
from installed import install

if TYPE_CHECKING:
    from collections.abc import Iterator

    from installed import Installation
    from measuring import Comparison

RESULTS = Path(__file__).with_name("results")


def main() -> None:
    """Run what was chosen."""
    options = _parser().parse_args()
    print(f"{machine.describe()}; load {machine.load():.1f}")
    with tempfile.TemporaryDirectory(prefix="reeval-build-benchmarks-", ignore_cleanup_errors=True) as name:
        directory = Path(name)
        installation = install(directory)
        for comparison in _compare(options, installation, directory):
            print(f"\n{report.as_text(comparison)}", flush=True)
            if options.save:
                _save(comparison)


def _compare(options: argparse.Namespace, installation: Installation, directory: Path) -> Iterator[Comparison]:
    quick, slow = options.rounds or 20, options.rounds or 3
    if "startup" in options.chosen:
        yield startup.compare(installation, directory, rounds=quick)
    if "noop-fake" in options.chosen:
        yield noop.compare_on_fake(installation, directory, rounds=quick)
    if "freshness" in options.chosen:
        yield from freshness.compare(installation, directory, rounds=options.rounds or 10)
    if "plan" in options.chosen:
        yield cells.compare_plans(installation, directory, rounds=options.rounds or 5)
    on_docker = {"noop-docker", "cells", "builds"} & set(options.chosen)
    if not on_docker:
        return
    try:
        with docker() as engine:
            if "noop-docker" in on_docker:
                yield noop.compare_on_docker(installation, engine, directory, rounds=quick)
            if "cells" in on_docker:
                yield from cells.compare_builds(installation, engine, directory, rounds=options.rounds or 10)
            if "builds" in on_docker:
                yield from builds.compare(installation, engine, directory, rounds=slow)
    except NoDockerError as error:
        print(f"\nskipped {', '.join(sorted(on_docker))}: {error}")


def _save(comparison: Comparison) -> None:
    RESULTS.mkdir(exist_ok=True)
    name = comparison.question.replace(",", "").replace(" ", "-")
    text = json.dumps(report.as_json(comparison), indent=2)
    (RESULTS / f"{name}.json").write_text(f"{text}\n", encoding="utf-8")


def _parser() -> argparse.ArgumentParser:
    every = ["startup", "noop-fake", "freshness", "plan", "noop-docker", "cells", "builds"]
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("chosen", nargs="*", default=every, metavar="BENCHMARK", help=f"of {', '.join(every)}")
    parser.add_argument("--rounds", type=int, help="how often (default: 20 for what is quick, 3 for what builds)")
    parser.add_argument("--save", action="store_true", help="write the results to benchmarks/results/*.json")
    return parser


if __name__ == "__main__":
    main()
