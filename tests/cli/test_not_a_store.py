"""A directory with something else in it is not taken for a store, whatever is asked of it."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from tests.support.index import opened_index

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.cli import ReevalBuild
    from tests.support.projects import Project

COMMANDS = ["build", "graph", "doctor --sandbox fake --fix", "cache du", "cache gc --budget 0", "cache verify --repair"]
# Each has names that are a store's too.
OTHERS = {
    "a project": ["README", "tmp/cache/page", "logs/server.log", "locks/mine"],
    "a git repository": ["HEAD", "objects/ab/cdef", "packs/old.pack"],
    "one directory": ["quarantine/sample"],
    "a file in the place of a directory": ["tmp"],
    "another program's cache": ["CACHEDIR.TAG", "objects/ab/cdef"],
}


@pytest.fixture(autouse=True)
def defined(project: Project) -> None:
    project.define('one = define_environment("one", {"sandbox": fake_sandbox(), "setup": ["echo hi > f"]})')


def contents(directory: Path) -> dict[str, bytes | None]:
    return {
        str(path.relative_to(directory)): path.read_bytes() if path.is_file() else None for path in directory.rglob("*")
    }


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("names", OTHERS.values(), ids=OTHERS)
def test_what_somebody_else_has_in_a_directory_stays(
    reeval: ReevalBuild, tmp_path: Path, command: str, names: list[str]
) -> None:
    directory = tmp_path / "theirs"
    for name in names:
        (directory / name).parent.mkdir(parents=True, exist_ok=True)
        (directory / name).write_text("precious")
    before = contents(directory)

    done = reeval(command, "--store", directory, code=3)

    assert f"the directory {directory} is not a store of reeval-build: it has " in done.stdout + done.stderr
    assert contents(directory) == before


@pytest.mark.parametrize("command", COMMANDS)
def test_the_database_of_another_program_is_not_written_to(reeval: ReevalBuild, tmp_path: Path, command: str) -> None:
    directory = tmp_path / "theirs"
    directory.mkdir()
    with closing(sqlite3.connect(directory / "store.sqlite")) as database:
        database.execute("CREATE TABLE theirs (name TEXT)")

    done = reeval(command, "--store", directory, code=3)

    assert f"the store at {directory} has format 0; this version" in done.stdout + done.stderr
    with closing(sqlite3.connect(directory / "store.sqlite")) as database:
        assert database.execute("SELECT name FROM sqlite_master").fetchall() == [("theirs",)]


@pytest.mark.parametrize("names", [[], ["lost+found"], ["objects", "packs"], ["tmp", "locks", "lost+found"]])
def test_an_empty_directory_and_one_that_was_begun_become_a_store(
    reeval: ReevalBuild, tmp_path: Path, names: list[str]
) -> None:
    directory = tmp_path / "new"
    directory.mkdir()
    for name in names:
        (directory / name).mkdir()

    reeval("build", "--store", directory)

    assert (directory / "CACHEDIR.TAG").read_text().startswith("Signature: 8a477f597d28d172789f06886806bc55\n")


@pytest.mark.parametrize("was", ["of before", "half written", "of today"])
def test_a_store_is_known_by_its_marker_when_its_index_is_gone(reeval: ReevalBuild, was: str) -> None:
    reeval("build")
    marker = reeval.store / "CACHEDIR.TAG"
    if was != "of today":
        marker.write_bytes(marker.read_bytes()[:20])
    if was == "of before":
        marker.unlink()
    reeval("build")
    with opened_index(reeval.store) as database:
        database.execute("DROP TABLE objects")

    for path in reeval.store.glob("store.sqlite*"):
        path.unlink()

    assert reeval.build().summary["failed"] == 0
