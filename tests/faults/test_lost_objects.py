"""A store that lost or garbled something: the run repairs it, says so, and never gives a wrong tree."""

from __future__ import annotations

import os
import shutil
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest

from tests.support.cli import ReevalBuild, finish
from tests.support.index import Kept, flip_a_bit, forget, objects, opened_index
from tests.support.projects import Project

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from tests.support.cli import Done

LARGE = bytes(range(256)) * 2048
SHOW = "cat .gitignore a.txt AGENTS.md placed setup.txt two; wc -c < src/large.bin; wc -c < made-large; ls -A . src"
EXPECTED = (
    "*.log\na\nBe good.\nplaced\na\ntwo\n524288\n400000\n"
    ".:\n.gitignore\nAGENTS.md\na.txt\nmade-large\nplaced\nsetup.txt\nsrc\ntwo\n\nsrc:\nb.txt\nlarge.bin\n"
)


@pytest.fixture(scope="module")
def pristine(tmp_path_factory: pytest.TempPathFactory) -> ReevalBuild:
    """The command on a project whose store has everything."""
    directory = tmp_path_factory.mktemp("pristine")
    project = Project(directory / "project")
    files: dict[str, str | bytes] = {
        "a.txt": "a\n",
        ".gitignore": "*.log\n",
        "src/b.txt": "b\n",
        "src/large.bin": LARGE,
    }
    project.repository("app", files).git("tag", "v1.0.0")
    project.write("placed.txt", "placed\n")
    project.define(
        """
        one = define_environment("one", {
            "sandbox": fake_sandbox(), "workspace": git("app", ref="v1.0.0"), "rules": "Be good.\\n",
            "files": {"placed": file("placed.txt")},
            "setup": ["cat a.txt > setup.txt; head -c 400000 /dev/zero > made-large", "echo two > two"],
        })
        """
    )
    reeval = ReevalBuild(project.directory, directory / "store")
    reeval.build()
    return reeval


@pytest.fixture
def damaged(pristine: ReevalBuild, tmp_path: Path) -> ReevalBuild:
    """The command on a copy of the project and the store, to be damaged."""
    shutil.copytree(pristine.directory, tmp_path / "project")
    shutil.copytree(pristine.store, tmp_path / "store")
    return ReevalBuild(tmp_path / "project", tmp_path / "store")


def warnings(stderr: str) -> list[str]:
    return [line for line in stderr.splitlines() if line.startswith("reeval: warning: ")]


def run_on_copies(
    pristine: ReevalBuild, directory: Path, tmp_path: Path, damage: Callable[[Kept, Path], None]
) -> Iterator[tuple[Kept, Done]]:
    """For each object, what `SHOW` shows in the project at `directory` with a store in which it alone is damaged."""

    def run(kept: Kept) -> tuple[Kept, Done]:
        store = tmp_path / kept.digest.hex()[:12]
        shutil.copytree(pristine.store, store)
        damage(kept, store)
        return kept, ReevalBuild(directory, store)("run", "one@fake", "--", "sh", "-c", SHOW)

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        yield from pool.map(run, objects(pristine.store))


@pytest.mark.conforms("fault 22")
def test_any_object_may_be_garbled(pristine: ReevalBuild, tmp_path: Path) -> None:
    warned = 0
    for kept, done in run_on_copies(pristine, pristine.directory, tmp_path, flip_a_bit):
        assert done.stdout == EXPECTED + "one@fake: nothing changed since the snapshot\n", kept
        said = warnings(done.stderr)
        assert len(said) <= 1, kept
        assert all(line.endswith("is corrupt; what it belonged to is built again") for line in said), kept
        assert all(f"object {kept.digest.hex()[:12]} in {tmp_path}" in line for line in said), kept
        warned += len(said)
    assert warned > 5


@pytest.mark.conforms("fault 22")
def test_any_object_may_be_missing_when_what_needs_it_is_edited(pristine: ReevalBuild, tmp_path: Path) -> None:
    edited = Project(tmp_path / "edited")
    shutil.copytree(pristine.directory, edited.directory, dirs_exist_ok=True)
    edited.edit("env.py", "Be good.", "Be better.")
    edited.edit("env.py", '"echo two > two"', '"echo two > two", "cat AGENTS.md"')
    expected = EXPECTED.replace("Be good.", "Be better.") + "one@fake: nothing changed since the snapshot\n"
    warned = 0
    for kept, done in run_on_copies(pristine, edited.directory, tmp_path, forget):
        assert done.stdout == expected, kept
        said = warnings(done.stderr)
        assert len(said) <= 1, kept
        assert all(line.endswith("is missing; what it belonged to is built again") for line in said), kept
        warned += len(said)
    assert warned > 3


@pytest.mark.conforms("fault 22")
@pytest.mark.parametrize("damage", ["remove", "truncate", "empty", "garble"])
def test_all_packs_at_once_may_be_damaged(damaged: ReevalBuild, damage: str) -> None:
    for pack in (damaged.store / "packs").iterdir():
        data = pack.read_bytes()
        if damage == "remove":
            pack.unlink()
        elif damage == "truncate":
            pack.write_bytes(data[: len(data) // 2])
        else:
            pack.write_bytes(b"" if damage == "empty" else bytes(byte ^ 0xFF for byte in data))

    done = damaged("run", "one@fake", "--", "sh", "-c", SHOW)

    assert done.stdout == EXPECTED + "one@fake: nothing changed since the snapshot\n"
    assert warnings(done.stderr)
    assert damaged.build().ran == []


def test_what_a_harness_is_given_when_it_starts_may_be_lost_with_all_the_rest(
    project: Project, reeval: ReevalBuild
) -> None:
    project.write("review/.claude-plugin/plugin.json", '{"name": "review"}')
    project.write("review/commands/look.md", "Look.\n")
    project.define(
        """
        one = define_environment("one", {
            "sandbox": fake_sandbox(), "files": {"~/own": "own"}, "plugins": [plugin.local("review")],
            "skills": [skill.inline(name="note", description="Notes.", content="Note.")],
            "mcp": {"docs": mcp.stdio("docs-server")}, "setup": ["echo made > made"],
        })
        """
    )
    command = ("run", "one@claude-code", "--", "sh", "-c", "cat made; cd; find . -type f | sort | xargs cat")
    reeval.build("--harness", "claude-code")
    before = reeval(*command)
    for pack in (reeval.store / "packs").iterdir():
        pack.unlink()

    after = reeval(*command)

    assert "docs-server" in before.stdout
    assert after.stdout == before.stdout
    assert reeval.build("--harness", "claude-code").ran == []
    assert warnings(reeval(*command).stderr) == []


@pytest.mark.conforms("fault 22")
@pytest.mark.parametrize("damage", ["remove", "garble", "both"])
def test_everything_at_once_may_be_damaged_and_a_build_after_an_edit_is_right(
    damaged: ReevalBuild, damage: str, tmp_path: Path
) -> None:
    for at, kept in enumerate(objects(damaged.store)):
        if damage == "remove" or (damage == "both" and at % 2):
            forget(kept, damaged.store)
        else:
            flip_a_bit(kept, damaged.store)
    Project(damaged.directory).edit("env.py", '"echo two > two"', '"echo two > two", "cat AGENTS.md"')

    built = damaged.build()

    assert built.summary["failed"] == 0
    assert built.snapshots == ReevalBuild(damaged.directory, tmp_path / "fresh").build().snapshots
    assert damaged("run", "one@fake", "--", "sh", "-c", SHOW).stdout.startswith(EXPECTED)


def test_what_stands_on_nothing_lost_does_not_run_again(damaged: ReevalBuild) -> None:
    store = damaged.store
    with opened_index(store) as database:
        (output,) = database.execute("SELECT output FROM records WHERE phase = 'rules'").fetchone()
        rules = next(kept for kept in objects(store) if kept.digest.hex() in output)
    forget(rules, store)
    Project(damaged.directory).edit("env.py", '"echo two > two"', '"echo two > two", "cat AGENTS.md"')

    built = damaged.build()

    assert "workspace app@v1.0.0" not in built.ran
    assert "files placed" not in built.ran


def test_a_step_whose_command_does_not_leave_the_same_again_is_still_consistent(
    project: Project, reeval: ReevalBuild
) -> None:
    project.define(
        """
        one = define_environment("one", {
            "sandbox": fake_sandbox(), "setup": ["date +%s%N > time", "cp time copy", "cmp time copy"],
        })
        """
    )
    reeval.build()
    for kept in objects(reeval.store):
        flip_a_bit(kept, reeval.store)

    done = reeval("run", "one@fake", "--", "cmp", "time", "copy")

    assert done.stdout == "one@fake: nothing changed since the snapshot\n"


def test_processes_that_repair_one_store_at_once_do_not_get_in_each_others_way(damaged: ReevalBuild) -> None:
    for at, kept in enumerate(objects(damaged.store)):
        forget(kept, damaged.store) if at % 3 == 0 else flip_a_bit(kept, damaged.store)
    runs = [damaged.start("run", "one@fake", "--", "sh", "-c", SHOW) for _ in range(4)]

    for done in map(finish, runs):
        assert done.code == 0, done.stderr
        assert done.stdout == EXPECTED + "one@fake: nothing changed since the snapshot\n"

    again = damaged("run", "one@fake", "--", "sh", "-c", SHOW)
    assert warnings(again.stderr) == []


def test_the_command_runs_once_even_when_the_baseline_is_lost(damaged: ReevalBuild, tmp_path: Path) -> None:
    with opened_index(damaged.store) as database:
        (output,) = database.execute("SELECT output FROM records WHERE phase = 'snapshot'").fetchone()
    for kept in objects(damaged.store):
        if kept.digest.hex() in output:
            flip_a_bit(kept, damaged.store)

    done = damaged("run", "one@fake", "--", "sh", "-c", f"echo ran >> {tmp_path}/trace; echo x > new")

    assert (tmp_path / "trace").read_text() == "ran\n"
    assert done.stdout == "one@fake: 1 changed since the snapshot\n  added    new\n"


SKILLS = {
    "one/SKILL.md": "---\ndescription: Does not change.\n---\n",
    "one/d/a.txt": "a\n",
    "two/SKILL.md": "---\ndescription: Changes.\n---\n",
    "two/d/b.txt": "b\n",
    "two/edited.txt": "before\n",
}


@pytest.mark.conforms("fault 22")
@pytest.mark.parametrize("damage", [forget, flip_a_bit])
def test_any_object_of_skills_may_be_lost_when_a_file_of_one_is_edited(
    project: Project, reeval: ReevalBuild, tmp_path: Path, damage: Callable[[Kept, Path], None]
) -> None:
    for path, content in SKILLS.items():
        project.write(f"skills/{path}", content)
    project.define('one = define_environment("one", {"sandbox": fake_sandbox(), "skills": [skill.local("./skills")]})')
    # What is below a directory that did not change is not asked for, once its files are known.
    project.settle()
    reeval("graph")
    project.write("skills/two/edited.txt", "after\n")

    for kept in objects(reeval.store):
        store = tmp_path / kept.digest.hex()[:12]
        shutil.copytree(reeval.store, store)
        damage(kept, store)
        shown = ("sh", "-c", "cd .agents/skills && cat one/d/a.txt two/d/b.txt two/edited.txt && wc -l < one/SKILL.md")
        done = ReevalBuild(project.directory, store)("run", "one@fake", "--", *shown)
        assert done.stdout == "a\nb\nafter\n3\none@fake: nothing changed since the snapshot\n", kept
