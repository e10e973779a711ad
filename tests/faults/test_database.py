"""An index that is gone, garbled, of another version or locked: a clear sentence, or a new start."""

from __future__ import annotations

import os
import random
import shutil
import sqlite3
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest

from tests.support.cli import ReevalBuild, finish
from tests.support.index import opened_index
from tests.support.projects import Project, listing
from tests.support.torture import seeds
from tests.support.users import checked_by_permissions

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.cli import Done


@pytest.fixture(scope="module")
def pristine(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with a project, and a store in which its environment is built."""
    directory = tmp_path_factory.mktemp("pristine")
    project = Project(directory / "project")
    project.repository("app", {f"{number}.txt": f"{number}\n" for number in range(30)}).git("tag", "v1.0.0")
    project.define(
        """
        one = define_environment("one", {
            "sandbox": fake_sandbox(), "workspace": git("app", ref="v1.0.0"), "rules": "Be good.\\n",
            "setup": ["cat *.txt > all"],
        })
        """
    )
    ReevalBuild(project.directory, directory / "store").build()
    return directory


@pytest.fixture
def built(pristine: Path, project: Project, tmp_path: Path) -> ReevalBuild:
    """The command on a copy of them."""
    shutil.copytree(pristine / "project", project.directory, dirs_exist_ok=True)
    shutil.copytree(pristine / "store", tmp_path / "store")
    return ReevalBuild(project.directory, tmp_path / "store")


def index(reeval: ReevalBuild) -> Path:
    return reeval.store / "store.sqlite"


def test_a_deleted_index_is_made_anew(built: ReevalBuild) -> None:
    before = built.build().snapshots
    index(built).unlink()

    again = built.build()

    assert again.summary["hit"] == 0
    assert again.snapshots == before
    assert built.build().ran == []


def test_an_empty_index_is_made_anew(built: ReevalBuild) -> None:
    index(built).write_bytes(b"")

    assert built.build().summary["hit"] == 0
    assert built.build().ran == []


@pytest.mark.parametrize("command", [["build"], ["graph"], ["run", "one@fake", "--", "true"]])
def test_an_index_that_is_no_database_is_said(built: ReevalBuild, command: list[str]) -> None:
    index(built).write_bytes(b"this is not a database, and long enough to be looked at" * 100)

    (message,) = built(*command, code=3).messages

    assert message == (
        f"reeval: the index of the store at {built.store} is damaged: file is not a database "
        "(remove store.sqlite* in it: everything is built again when it is next needed)"
    )


def test_a_store_of_another_version_is_said(built: ReevalBuild) -> None:
    with opened_index(built.store) as database:
        database.execute("PRAGMA user_version = 99")

    (message,) = built("build", code=3).messages

    assert message.startswith(f"reeval: the store at {built.store} has format 99; this version of reeval-build reads ")


@pytest.mark.parametrize("table", ["objects", "packs", "records", "recipes"])
def test_an_index_without_a_table_is_said(built: ReevalBuild, project: Project, table: str) -> None:
    with opened_index(built.store) as database:
        database.execute(f"DROP TABLE {table}")
    project.edit("env.py", "Be good.", "Be better.")

    messages = built("build", code=3).messages

    assert messages
    assert all(f"no such table: {table}" in message for message in messages)


@pytest.mark.parametrize("table", ["objects", "packs", "records", "recipes", "cells"])
def test_a_table_that_lost_its_rows_costs_work_and_nothing_else(
    built: ReevalBuild, project: Project, table: str
) -> None:
    before = built.build().snapshots
    with opened_index(built.store) as database:
        database.execute(f"DELETE FROM {table}")  # noqa: S608 - the table is ours

    again = built("run", "one@fake", "--", "cat", "all")
    assert again.stdout.startswith("0\n")
    settled = built.build()
    assert settled.snapshots == before
    assert settled.ran == []


@pytest.mark.parametrize(
    "garbled", ["{}", "not json", '{"_type": "Unheard"}', '{"_type": "TreeOutput", "workspace": "zz"}', "[]"]
)
def test_a_record_that_cannot_be_read_is_a_miss(built: ReevalBuild, garbled: str) -> None:
    before = built.build().snapshots
    with opened_index(built.store) as database:
        database.execute("UPDATE records SET output = ?", (garbled,))

    again = built.build()

    assert again.snapshots == before
    assert again.summary["hit"] == 0
    assert built.build().ran == []


@pytest.mark.torture
def test_a_garbled_index_is_said_or_rebuilt_and_never_gives_a_wrong_tree(built: ReevalBuild, tmp_path: Path) -> None:
    pristine = index(built).read_bytes()
    content = "".join(f"{name}\n" for name in sorted(map(str, range(30)), key=lambda name: f"{name}.txt"))

    def run(seed: int) -> Done:
        data = bytearray(pristine)
        chance = random.Random(seed)  # noqa: S311 - what is garbled is no secret
        for _ in range(1 if seed % 2 else 40):
            data[chance.randrange(100, len(data))] ^= 1 << chance.randrange(8)
        store = tmp_path / f"garbled-{seed}"
        shutil.copytree(built.store, store)
        (store / "store.sqlite").write_bytes(data)
        return finish(ReevalBuild(built.directory, store).start("run", "one@fake", "--", "cat", "all"))

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        results = list(pool.map(run, seeds(12)))

    for seed, done in enumerate(results):
        if done.code == 0:
            assert done.stdout == f"{content}one@fake: nothing changed since the snapshot\n", seed
        else:
            assert done.code == 3, seed
            assert done.messages, seed
    assert any(done.code == 0 for done in results)


def test_an_index_that_is_locked_for_a_while_is_waited_for(built: ReevalBuild, project: Project) -> None:
    project.edit("env.py", "Be good.", "Be better.")
    locker = sqlite3.connect(index(built), isolation_level=None)
    locker.execute("BEGIN IMMEDIATE")
    process = built.start("build", "--json")
    assert process.stderr is not None
    process.stderr.readline()

    locker.execute("COMMIT")
    locker.close()

    assert finish(process).code == 0


def test_a_store_that_may_not_be_written_is_said_and_not_touched(
    built: ReevalBuild, project: Project, tmp_path: Path
) -> None:
    reeval = ReevalBuild(built.directory, built.store, prefix=checked_by_permissions())
    for path in [*built.store.rglob("*"), built.store]:
        path.chmod(0o500 if path.is_dir() else 0o400)
    before = listing(built.store)
    try:
        messages = reeval("build", code=3).messages
    finally:
        for path in [built.store, *built.store.rglob("*")]:
            path.chmod(0o700 if path.is_dir() else 0o600)

    assert len(messages) == 1
    assert messages[0].startswith(f"reeval: the store at {built.store} cannot be used: ")
    assert listing(built.store) == before


def test_a_store_below_a_place_that_may_not_be_written_is_said(project: Project, tmp_path: Path) -> None:
    project.define('one = define_environment("one", {"sandbox": fake_sandbox()})')
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o500)
    reeval = ReevalBuild(project.directory, closed / "deep" / "store", prefix=checked_by_permissions())

    (message,) = reeval("build", code=3).messages

    assert message.startswith(f"reeval: the store at {closed}/deep/store cannot be used: ")


def test_a_part_of_the_store_that_is_a_file_is_said(built: ReevalBuild) -> None:
    (built.store / "locks").rmdir()
    (built.store / "locks").write_text("a file")

    (message,) = built("build", code=3).messages

    assert message.startswith(f"reeval: the store at {built.store} cannot be used: ")
