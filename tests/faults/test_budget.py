"""A budget that holds while builds go on."""

from __future__ import annotations

import os
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

import pytest

from tests.support.cli import assert_nothing_is_left, finish
from tests.support.index import opened_index

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.support.cli import ReevalBuild
    from tests.support.projects import Project

MEGABYTE = 1024 * 1024
NODE = 10 * MEGABYTE
BUDGET = 100 * MEGABYTE
# Leases, and what is moved while it is looked at.
SLACK = MEGABYTE


def define(project: Project, *, count: int = 40, size: int = NODE, made: str = "large") -> None:
    project.define(
        f"""
        for number in range({count}):
            globals()[f"e{{number}}"] = define_environment(f"e{{number}}", {{
                "sandbox": fake_sandbox(), "rules": f"Be good, {{number}}.",
                "setup": ["head -c {size} /dev/urandom > {made}; wc -c < {made} > size"],
            }})
        """
    )


def files_below(directory: Path) -> dict[int, tuple[str, int]]:
    """The path and size of each file by its number: one that is moved meanwhile counts once."""
    found = {}
    for above, _directories, names in os.walk(directory):
        for name in names:
            with suppress(FileNotFoundError):
                status = os.lstat(f"{above}/{name}")
                found[status.st_ino] = os.path.relpath(f"{above}/{name}", directory), status.st_size
    return found


@contextmanager
def most_bytes(store: Path) -> Iterator[dict[str, int]]:
    """The most bytes that were seen at once: in the `whole` directory, and `kept` without what is temporary."""
    most = {"whole": 0, "kept": 0}
    stop = threading.Event()

    def watch() -> None:
        while not stop.is_set():
            files = files_below(store).values()
            sums = {
                "whole": sum(size for _path, size in files),
                "kept": sum(size for path, size in files if not path.startswith("tmp/")),
            }
            for what, total in sums.items():
                most[what] = max(most[what], total)

    with ThreadPoolExecutor(1) as pool:
        watching = pool.submit(watch)
        try:
            yield most
        finally:
            stop.set()
        watching.result()


@pytest.mark.conforms("fault 30")
def test_a_budget_is_never_exceeded_by_more_than_one_node(project: Project, reeval: ReevalBuild) -> None:
    define(project)

    with most_bytes(reeval.store) as most:
        built = reeval.build("--budget", "100m", "--jobs", "1")

    assert len(built.ran) > 80, "every node ran"
    assert most["whole"] > BUDGET - NODE * 3, "what was watched is what was built"
    assert most["whole"] <= BUDGET + NODE + SLACK
    assert built.messages == []
    assert reeval("cache verify").stdout.endswith(": all is well\n")
    assert reeval.build("env.py::e39", "--budget", "100m").ran == [], "what was made last is there"
    assert_nothing_is_left(reeval.store)


@pytest.mark.conforms("fault 30")
def test_several_processes_keep_to_one_budget(project: Project, reeval: ReevalBuild) -> None:
    processes = 3
    define(project, count=24)
    targets = [[f"env.py::e{number}" for number in range(first, 24, processes)] for first in range(processes)]

    with most_bytes(reeval.store) as most:
        started = [reeval.start("build", *some, "--budget", "100m", "--jobs", "1") for some in targets]
        ended = [finish(one) for one in started]

    assert [done.code for done in ended] == [0] * processes
    assert [message for done in ended for message in done.messages] == []
    assert most["kept"] <= BUDGET + NODE + SLACK
    # Each has a sandbox, and what is on its way out of it.
    assert most["whole"] <= BUDGET + 2 * processes * NODE + SLACK
    assert reeval("cache verify").stdout.endswith(": all is well\n")
    assert_nothing_is_left(reeval.store)


def test_what_does_not_fit_is_built_all_the_same_and_said_once(project: Project, reeval: ReevalBuild) -> None:
    steps = ", ".join(f'"head -c {MEGABYTE} /dev/urandom > large{number}"' for number in range(8))
    project.define(f'e = define_environment("e", {{"sandbox": fake_sandbox(), "setup": [{steps}]}})')

    built = reeval.build("--budget", "4m")

    (warning,) = built.messages
    assert warning.startswith("reeval: warning: the store has ")
    assert ", more than its budget of 4.0M, and what is in use stays: this build uses " in warning
    assert reeval("run", "e@fake", "--", "sh", "-c", "cat large* | wc -c").stdout.startswith(f"{8 * MEGABYTE}\n")


def test_nobody_is_said_to_use_nothing(project: Project, reeval: ReevalBuild) -> None:
    project.define('e = define_environment("e", {"sandbox": fake_sandbox(), "setup": ["echo hi > f"]})')
    reeval.build()

    (warning,) = reeval.build("--budget", "0").messages

    assert ", more than its budget of 0B, and nothing in it is in use: " in warning


def test_the_budget_holds_once_what_was_in_use_is_not_any_more(project: Project, reeval: ReevalBuild) -> None:
    steps = ", ".join(f'"head -c {MEGABYTE} /dev/urandom > large{number}"' for number in range(8))
    project.define(f'e = define_environment("e", {{"sandbox": fake_sandbox(), "setup": [{steps}]}})')

    reeval.build("--budget", "4m")

    assert sum(size for _path, size in files_below(reeval.store).values()) <= 4 * MEGABYTE


def test_without_a_budget_nothing_goes(project: Project, reeval: ReevalBuild) -> None:
    define(project, count=6, size=MEGABYTE)

    reeval.build()

    assert reeval.build().ran == []


def test_it_is_written_down_by_which_rule_results_went(project: Project, reeval: ReevalBuild) -> None:
    define(project, count=6, size=MEGABYTE)

    reeval.build("--budget", "4m")

    with opened_index(reeval.store) as database:
        rules = database.execute("SELECT DISTINCT rule FROM evictions").fetchall()
    assert rules == [("budget 4m of a build",)]


OPTION, VARIABLE, FILE = ("--budget", "100m"), {"REEVAL_BUILD_BUDGET": "100m"}, '[tool.reeval-build]\nbudget = "100m"\n'


@pytest.mark.parametrize(
    ("option", "variable", "file", "holds"),
    [
        ((), {}, "", False),
        (("--budget", "4m"), {}, "", True),
        ((), {"REEVAL_BUILD_BUDGET": "4m"}, "", True),
        ((), {}, '[tool.reeval-build]\nbudget = "4m"\n', True),
        ((), {"REEVAL_BUILD_BUDGET": "4m"}, FILE, True),
        ((), VARIABLE, '[tool.reeval-build]\nbudget = "4m"\n', False),
        (("--budget", "4m"), VARIABLE, FILE, True),
        (OPTION, {"REEVAL_BUILD_BUDGET": "4m"}, '[tool.reeval-build]\nbudget = "4m"\n', False),
    ],
)
def test_the_option_comes_before_the_variable_and_that_before_the_file(
    project: Project, reeval: ReevalBuild, option, variable, file, *, holds: bool
) -> None:
    define(project, count=6, size=MEGABYTE, made="large")
    project.write("pyproject.toml", file)

    reeval("build", *option, env=variable)

    assert (reeval.build().ran == []) is not holds


@pytest.mark.parametrize(
    ("variable", "file", "problem"),
    [
        ("lots", "", "reeval: $REEVAL_BUILD_BUDGET is 'lots', which is not a size such as 512m or 20G"),
        ("", "[tool.reeval-build]\nbudgets = 1\n", 'has an unknown key "budgets" (did you mean "budget"?)'),
        ("", '[tool.reeval-build]\nbudget = "lots"\n', "which is not a size such as"),
        ("", "[tool.reeval-build\n", "it is not TOML: "),
        ("", "tool.reeval-build = 1\n", "tool.reeval-build is not a table"),
    ],
)
def test_a_budget_that_is_none_is_refused(project: Project, reeval: ReevalBuild, variable, file, problem) -> None:
    define(project, count=1, size=1)
    project.write("pyproject.toml", file)

    done = reeval("build", code=2, env={"REEVAL_BUILD_BUDGET": variable})

    assert problem in done.stderr
    assert file == "" or f"reeval: {project.directory}/pyproject.toml: " in done.stderr
