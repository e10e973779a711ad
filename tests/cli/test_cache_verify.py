"""`reeval-build cache verify`."""

from __future__ import annotations

import json
import shutil
from typing import TYPE_CHECKING, Any

import pytest

from tests.support.cli import ReevalBuild
from tests.support.index import file_of, flip_a_bit, forget, objects, opened_index
from tests.support.projects import Project

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.support.index import Kept


@pytest.fixture(scope="module")
def pristine(tmp_path_factory: pytest.TempPathFactory) -> ReevalBuild:
    directory = tmp_path_factory.mktemp("pristine")
    project = Project(directory / "project")
    project.define(
        """
        one = define_environment("one", {
            "sandbox": fake_sandbox(), "rules": "Be good.", "files": {"a/b/c": "c"},
            "setup": ["echo step > step; head -c 400000 /dev/zero > large"],
        })
        """
    )
    reeval = ReevalBuild(project.directory, directory / "store")
    reeval.build()
    return reeval


@pytest.fixture
def reeval(pristine: ReevalBuild, tmp_path: Path) -> ReevalBuild:
    """The command on a copy of a store, to be damaged."""
    shutil.copytree(pristine.store, tmp_path / "store")
    return ReevalBuild(pristine.directory, tmp_path / "store")


def verify(reeval: ReevalBuild, *arguments: str, code: int = 0) -> Any:
    return json.loads(reeval("cache verify", "--json", *arguments, code=code).stdout)


def lose_bytes(kept: Kept, store: Path) -> None:
    file_of(kept, store).unlink()


def test_a_store_that_is_well_is_said_to_be(reeval: ReevalBuild) -> None:
    done = reeval("cache verify")

    assert done.stdout == f"{len(objects(reeval.store))} objects and 6 records: all is well\n"


@pytest.mark.parametrize(("damage", "problem"), [(flip_a_bit, "is corrupt"), (lose_bytes, "is missing")])
def test_an_object_that_is_lost_is_named_with_the_records_that_need_it(
    reeval: ReevalBuild, damage: Callable[[Kept, Path], None], problem: str
) -> None:
    (large,) = [kept for kept in objects(reeval.store) if kept.pack is None]
    damage(large, reeval.store)

    found = verify(reeval, code=3)

    assert found["lost"] == [{"digest": large.digest.hex(), "problem": problem}]
    assert sorted((one["phase"], one["lost"], *one["cells"]) for one in found["broken"]) == [
        ("setup", 1, "one@fake"),
        ("snapshot", 1, "one@fake"),
    ]
    assert verify(reeval, code=3) == found, "looking changes nothing"


def test_what_is_wrong_is_said_for_people(reeval: ReevalBuild) -> None:
    (large,) = [kept for kept in objects(reeval.store) if kept.pack is None]
    flip_a_bit(large, reeval.store)

    lines = reeval("cache verify", code=3).stdout.splitlines()

    assert lines[0] == f"object {large.digest.hex()[:12]} is corrupt"
    assert any(line.endswith(" of setup lacks 1 objects  [one@fake]") for line in lines)
    assert lines[-1].endswith("1 objects lost, 2 records broken (add --repair to drop them)")


@pytest.mark.conforms("fault 22")
@pytest.mark.parametrize("damage", [flip_a_bit, lose_bytes, forget])
def test_what_was_repaired_is_built_again_without_a_warning(
    reeval: ReevalBuild, damage: Callable[[Kept, Path], None]
) -> None:
    for kept in objects(reeval.store)[::2]:
        if file_of(kept, reeval.store).exists():
            damage(kept, reeval.store)

    repaired = verify(reeval, "--repair")

    assert repaired["broken"]
    assert repaired["repaired"]
    assert verify(reeval)["broken"] == []
    done = reeval("run", "one@fake", "--", "sh", "-c", "cat AGENTS.md a/b/c step; wc -c < large")
    assert done.stdout == "Be good.cstep\n400000\none@fake: nothing changed since the snapshot\n"
    assert done.messages == []
    assert verify(reeval)["lost"] == []


def test_a_record_that_is_not_as_it_was_written_is_named_and_dropped(reeval: ReevalBuild) -> None:
    with opened_index(reeval.store) as database:
        database.execute("UPDATE records SET seconds = 99 WHERE phase = 'rules'")

    (broken,) = verify(reeval, code=3)["broken"]

    assert (broken["phase"], broken["lost"]) == ("rules", 0)
    assert "record " in reeval("cache verify", code=3).stdout
    verify(reeval, "--repair")
    assert verify(reeval)["records"] == 5


def test_a_damaged_index_is_said_to_be(reeval: ReevalBuild) -> None:
    index = reeval.store / "store.sqlite"
    index.write_bytes(index.read_bytes()[:8192])

    done = reeval("cache verify", code=3)

    assert f"the index of the store at {reeval.store} is damaged" in done.stderr


@pytest.mark.parametrize("value", [-1, 0, 1, 2**33, 2**40, 2**62])
@pytest.mark.parametrize("column", ["offset", "size", "full_size"])
@pytest.mark.parametrize("command", ["build", "cache verify --repair", "cache gc --budget 1G"])
def test_what_the_index_says_of_the_places_of_objects_may_be_anything(
    reeval: ReevalBuild, column: str, value: int, command: str
) -> None:
    with opened_index(reeval.store) as database:
        database.execute(f'UPDATE objects SET "{column}" = ?', (value,))  # noqa: S608 - the column is ours

    reeval(command)

    started = reeval("run", "one@fake", "--", "sh", "-c", "cat a/b/c step && wc -c <large")
    assert started.stdout.split()[:3] == ["cstep", "400000", "one@fake:"]
    reeval("cache verify", "--repair")
    assert verify(reeval)["lost"] == []
