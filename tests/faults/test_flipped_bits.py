"""One bit that is another, anywhere in a store: the next build is right in the same run, and says what was lost."""

from __future__ import annotations

import os
import shutil
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, Final

import attrs
import pytest

from reeval_build.stores.local import LocalStore
from reeval_build.stores.local.verify import verify
from tests.sources.npm_registry import npm_registry
from tests.sources.npm_world import NEEDS_NPM
from tests.sources.servers import git_over_http
from tests.sources.tars import package
from tests.support.cli import ReevalBuild, assert_nothing_is_left, finish
from tests.support.index import assert_index_is_sound, file_of, flip_a_bit, objects, opened_index
from tests.support.projects import Project
from tests.support.torture import TIMES

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from tests.support.cli import Done

ROWS_IN_CI: Final = 20
CACHED_IN_CI: Final = 16
SETTLED_S: Final = 2.1
SKILL: Final = "---\nname: {name}\ndescription: Does it.\n---\nDo it.\n"
SHOW: Final = "cat main.txt AGENTS.md placed two .agents/skills/*/text; wc -c < large"
EXPECTED: Final = "main\nBe good.\nplaced\ntwo\nfetched\nlocal\npacked\n400000\n"
UNCHANGED: Final = "one@fake: nothing changed since the snapshot\n"


@pytest.fixture(scope="module")
def pristine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ReevalBuild]:
    """The command on a project that has something of everything that a store keeps, and a store that has all of it."""
    directory = tmp_path_factory.mktemp("pristine")
    project = Project(directory / "project")
    project.repository("app", {"main.txt": "main\n", "d/other": "other\n"}).git("tag", "v1.0.0")
    fetched = project.repository("served/fetched", {"SKILL.md": SKILL.format(name="fetched"), "text": "fetched\n"})
    fetched.git("tag", "v1.0.0")
    project.write("skills/local/SKILL.md", SKILL.format(name="local"))
    project.write("skills/local/text", "local\n")
    project.write("placed.txt", "placed\n")
    files = {"skills/packed/SKILL.md": SKILL.format(name="packed").encode(), "skills/packed/text": b"packed\n"}
    # What changed a moment ago is not remembered.
    time.sleep(SETTLED_S)
    with npm_registry() as registry, git_over_http(project.directory / "served") as server:
        registry.publish("packed", "1.0.0", package("packed", "1.0.0", files=files))
        project.write(".npmrc", f"registry={registry.url}/public/\n")
        project.define(
            f"""
            one = define_environment("one", {{
                "sandbox": fake_sandbox(), "workspace": git("app", ref="v1.0.0"), "rules": "Be good.\\n",
                "files": {{"placed": file("placed.txt")}},
                "skills": [
                    skill.local("skills", placement="workspace"),
                    skill.git("{server.url}/fetched", ref="v1.0.0", placement="workspace"),
                    skill.npm("packed@1.0.0", placement="workspace"),
                ],
                "setup": ["head -c 400000 /dev/zero > large", "echo two > two"],
            }})
            """
        )
        reeval = ReevalBuild(project.directory, directory / "store")
        reeval.build()
        yield reeval


def some(found: Sequence[Any], in_ci: int) -> list[Any]:
    """All of them, when there is time; else some, as far apart as can be."""
    count = min(len(found), in_ci * TIMES)
    return [found[(2 * at + 1) * len(found) // (2 * count)] for at in range(count)]


def shown_in(store: Path, pristine: ReevalBuild, *, again: bool = True) -> Done:
    """What `SHOW` shows in a project with a store, which then has nothing more to build."""
    reeval = ReevalBuild(pristine.directory, store)
    done = finish(reeval.start("run", "one@fake", "--", "sh", "-c", SHOW))
    assert done.code == 0, done.stderr
    if again:
        assert reeval.build().ran == []
    assert_nothing_is_left(store)
    assert_index_is_sound(store)
    return done


@attrs.frozen
class Value:
    """A value in the index."""

    table: str
    column: str
    row: int

    def __str__(self) -> str:
        return f"{self.table}-{self.column}-{self.row}"

    def flip(self, store: Path) -> None:
        """Have one bit in the middle of it be another."""
        with opened_index(store) as database:
            place = f"FROM {self.table} WHERE rowid = ?"
            value, kind = database.execute(
                f'SELECT CAST("{self.column}" AS BLOB), typeof("{self.column}") {place}',
                (self.row,),
            ).fetchone()
            data = bytearray(value)
            data[len(data) // 2] ^= 0b1
            database.execute(
                f'UPDATE OR REPLACE {self.table} SET "{self.column}" = CAST(? AS {kind}) WHERE rowid = ?',  # noqa: S608 - ours
                (bytes(data), self.row),
            )


def values(store: Path) -> list[Value]:
    """Every value of every table that has a byte."""
    with opened_index(store) as database:
        tables = [
            name
            for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name")
            if not name.startswith("sqlite_")
        ]
        return [
            Value(table, column, row)
            for table in tables
            for _, column, *_ in database.execute(f"PRAGMA table_info({table})").fetchall()
            for (row,) in database.execute(
                f'SELECT rowid FROM {table} WHERE length(CAST("{column}" AS BLOB)) > 0 ORDER BY rowid'  # noqa: S608 - ours
            ).fetchall()
        ]


@NEEDS_NPM
@pytest.mark.torture
@pytest.mark.conforms("fault 22")
def test_any_value_of_the_index_may_be_another(pristine: ReevalBuild, tmp_path: Path) -> None:
    def run(value: Value) -> tuple[Value, Done]:
        store = tmp_path / str(value)
        shutil.copytree(pristine.store, store)
        value.flip(store)
        done = shown_in(store, pristine)
        shutil.rmtree(store)
        return value, done

    found = values(pristine.store)
    assert {value.table for value in found} >= {"cells", "objects", "packs", "recipes", "records", "stat_directories"}
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for value, done in pool.map(run, some(found, ROWS_IN_CI)):
            assert done.stdout == EXPECTED + UNCHANGED, value
            assert all(line.endswith("; what it belonged to is built again") for line in done.messages), value


@NEEDS_NPM
@pytest.mark.torture
@pytest.mark.conforms("fault 22")
@pytest.mark.parametrize("cache", ["git", "npm"])
@pytest.mark.parametrize("damage", ["flip", "cut", "remove"])
def test_any_file_of_a_cache_may_be_damaged(pristine: ReevalBuild, tmp_path: Path, cache: str, damage: str) -> None:
    def run(file: Path) -> tuple[Path, Done]:
        store = tmp_path / file.name / "store"
        for name in ("git", "npm"):
            shutil.copytree(pristine.store / name, store / name, symlinks=True)
        shutil.copy(pristine.store / "CACHEDIR.TAG", store)
        damaged = store / file
        data = bytearray(damaged.read_bytes())
        if damage == "remove":
            damaged.unlink()
        elif damage == "cut":
            damaged.write_bytes(data[: len(data) // 2])
        else:
            data[len(data) // 2] ^= 0b100
            damaged.write_bytes(data)
        return file, shown_in(store, pristine)

    found = sorted(
        path.relative_to(pristine.store)
        for path in (pristine.store / cache).rglob("*")
        if path.is_file() and path.stat().st_size
    )
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for file, done in pool.map(run, some(found, CACHED_IN_CI // 6 + 1)):
            assert done.stdout == EXPECTED + UNCHANGED, file


@pytest.mark.conforms("fault 22")
def test_verify_names_each_object_and_record_of_which_a_bit_is_another(pristine: ReevalBuild, tmp_path: Path) -> None:
    store = tmp_path / "store"
    shutil.copytree(pristine.store, store)
    never = threading.Event()

    def findings() -> tuple[set[bytes], set[bytes]]:
        with LocalStore(store) as opened:
            found = verify(opened, repair=False, cancel=never, waiting=lambda _owner: None)
        return {one.digest.raw for one in found.lost}, {one.key.raw for one in found.broken if not one.lost}

    assert findings() == (set(), set())
    for kept in objects(store):
        file = file_of(kept, store)
        before = file.read_bytes()
        flip_a_bit(kept, store)
        assert findings()[0] == ({kept.digest} if kept.size else set())
        file.write_bytes(before)
        file.unlink()
        assert kept.digest in findings()[0]
        file.write_bytes(before)
    index = (store / "store.sqlite").read_bytes()
    with opened_index(store) as database:
        records = database.execute("SELECT rowid, key FROM records").fetchall()
    checked = ("phase", "output", "material", "seconds", "log", "check")
    for row, key in records:
        for value in values(store):
            if (value.table, value.row) == ("records", row) and value.column in checked:
                value.flip(store)
                assert findings()[1] == {key}, value
                (store / "store.sqlite").write_bytes(index)
