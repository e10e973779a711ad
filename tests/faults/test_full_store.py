"""A store whose file system is full, or another than the temporary directory's."""

from __future__ import annotations

import shutil
import subprocess
from typing import TYPE_CHECKING

import pytest

from tests.support.cli import ReevalBuild, assert_nothing_is_left
from tests.support.index import assert_index_is_sound, opened_index
from tests.support.projects import listing
from tests.support.torture import TIMES

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.support.projects import Project

MEGABYTE = 1024 * 1024


@pytest.fixture
def small(tmp_path: Path) -> Iterator[Path]:
    """A file system of 4 MB, and nothing in it."""
    place = tmp_path / "small"
    place.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", place], capture_output=True, text=True, check=False
    )
    if mounted.returncode != 0:
        pytest.skip(f"a small file system cannot be mounted here: {mounted.stderr.strip()}")
    yield place
    subprocess.run(["umount", "--lazy", place], check=True)


def define(project: Project) -> None:
    """An environment whose second step leaves 8 MB that do not compress, and one that leaves next to nothing."""
    project.define(
        """
        big = define_environment("big", {
            "sandbox": fake_sandbox(), "setup": ["echo first > first", "head -c 8000000 /dev/urandom > big"],
        })
        small = define_environment("small", {"sandbox": fake_sandbox(), "setup": ["echo small > small"]})
        """
    )


def assert_store_is_sound(store: Path) -> None:
    assert_index_is_sound(store)
    with opened_index(store) as database:
        packs = [name for (name,) in database.execute("SELECT name FROM packs")]
        large = [digest.hex() for (digest,) in database.execute("SELECT digest FROM objects WHERE pack IS NULL")]
    assert listing(store / "packs") == sorted(packs), "every pack is named by the index"
    assert sorted(path.name for path in (store / "objects").glob("*/*")) == sorted(large), "and every large object"


def objects_and_packs(store: Path) -> list[str]:
    return listing(store / "objects") + listing(store / "packs")


@pytest.mark.conforms("fault 29")
def test_a_step_that_fills_the_store_fails_and_leaves_nothing_and_the_next_run_with_room_succeeds(
    project: Project, small: Path, tmp_path: Path
) -> None:
    define(project)
    reeval = ReevalBuild(project.directory, small / "store")

    failed = reeval.build("--jobs", "1", code=3)

    assert {cell["name"]: cell["status"] for cell in failed.value["cells"]} == {
        "big@fake": "failed",
        "small@fake": "ran",
    }
    assert len(failed.messages) == 1
    assert_nothing_is_left(reeval.store)
    assert_store_is_sound(reeval.store)

    subprocess.run(["mount", "-o", "remount,size=40m", small], check=True)
    built = reeval.build()

    assert built.ran == ["setup head -c 8000000 /dev/urandom > big", "snapshot big"]
    assert reeval("run", "big@fake", "--", "sh", "-c", "wc -c < big; cat first").stdout.startswith("8000000\nfirst\n")


@pytest.mark.conforms("fault 29")
@pytest.mark.torture
@pytest.mark.parametrize("free_kb", sorted({0, 48, 72, 96, 160, 240, *range(0, 400, 400 // min(TIMES, 100))}))
def test_a_store_with_little_room_fails_in_a_sentence_wherever_it_ends(
    project: Project, small: Path, free_kb: int
) -> None:
    project.define(
        """
        for number in range(3):
            globals()[f"e{number}"] = define_environment(f"e{number}", {
                "sandbox": fake_sandbox(), "env": {"NUMBER": str(number)}, "files": {"f": "x" * 3000},
                "setup": ["echo $NUMBER > number; head -c 12000 /dev/urandom > made"],
            })
        """
    )
    reeval = ReevalBuild(project.directory, small / "store")
    reeval("graph")
    ballast = small / "ballast"
    fill(ballast, leave=free_kb * 1024)

    failed = reeval("build", code=3)

    assert failed.messages
    for message in failed.messages:
        assert any(reason in message for reason in ("make room", "its output is in")), message
    ballast.unlink()
    assert_store_is_sound(reeval.store)
    assert reeval("run", "e1@fake", "--", "cat", "number").stdout.startswith("1\n")
    assert_nothing_is_left(reeval.store)


def fill(file: Path, *, leave: int) -> None:
    """Take all room there is but so many bytes."""
    free = shutil.disk_usage(file.parent).free
    with file.open("wb") as stream:
        stream.write(bytes(max(0, free - leave)))


def test_a_command_that_fills_the_store_is_run_and_compared(project: Project, small: Path) -> None:
    define(project)
    reeval = ReevalBuild(project.directory, small / "store")
    reeval.build("env.py::small")

    done = reeval("run", "small@fake", "--", "sh", "-c", "head -c 8000000 /dev/zero > big 2>/dev/null; echo done")

    assert done.stdout.startswith("done\n")
    assert "  added    big\n" in done.stdout
    assert_nothing_is_left(reeval.store)


def test_a_full_store_can_still_be_read(project: Project, small: Path) -> None:
    define(project)
    reeval = ReevalBuild(project.directory, small / "store")
    reeval.build("env.py::small")
    fill(small / "ballast", leave=64 * 1024)

    assert reeval.build("env.py::small").ran == []
    assert reeval("run", "small@fake", "--", "cat", "small").stdout.startswith("small\n")


def test_failing_again_and_again_takes_no_more_room(project: Project, small: Path) -> None:
    define(project)
    reeval = ReevalBuild(project.directory, small / "store")
    reeval.build(code=3)
    before = objects_and_packs(reeval.store)

    for _ in range(3):
        reeval.build(code=3)

    assert objects_and_packs(reeval.store) == before


@pytest.mark.conforms("fault 44")
def test_a_store_on_another_file_system_than_temporary_files_works(
    project: Project, small: Path, tmp_path: Path
) -> None:
    project.define(
        """
        one = define_environment("one", {
            "sandbox": fake_sandbox(), "setup": ["echo $TMPDIR > place; head -c 500000 /dev/urandom > large"],
        })
        """
    )
    for store, temporary in ((small / "store", tmp_path / "temporary"), (tmp_path / "store", small / "temporary")):
        temporary.mkdir()
        reeval = ReevalBuild(project.directory, store, env={"TMPDIR": str(temporary)})

        assert reeval.build().summary["failed"] == 0
        assert reeval("run", "one@fake", "--", "sh", "-c", "wc -c < large; echo x > new").stdout == (
            "500000\none@fake: 1 changed since the snapshot\n  added    new\n"
        )
        assert_nothing_is_left(store)
        assert listing(temporary) == []


@pytest.mark.conforms("fault 44")
@pytest.mark.parametrize("temporary", ["/no/such/directory", "/dev/full", ""])
def test_a_temporary_directory_that_is_none_does_no_harm(project: Project, reeval: ReevalBuild, temporary: str) -> None:
    project.define('one = define_environment("one", {"sandbox": fake_sandbox(), "setup": ["echo a > a"]})')

    done = reeval("run", "one@fake", "--", "sh", "-c", "echo x > new", env={"TMPDIR": temporary})

    assert done.stdout == "one@fake: 1 changed since the snapshot\n  added    new\n"
