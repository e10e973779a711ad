"""Files of the host that are not read again, and how they are all the same."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Final

import attrs
import pytest

from reeval_build import canon
from reeval_build.content.facts import Fact, question
from reeval_build.content.skill_file import HEAD
from reeval_build.digest import BLOB
from reeval_build.stores.local import LocalStore
from tests.cli.test_skills import skill_file

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.support.cli import ReevalBuild
    from tests.support.projects import Project

FILES: Final = 2000
FILE_BYTES: Final = 32 * 1024
ACCOUNT: Final = Path("/proc/self/io")


def define(project: Project) -> None:
    project.write("skills/one/SKILL.md", skill_file())
    project.write("settings", "1")
    project.define(
        """
        one = define_environment("one", {
            "sandbox": fake_sandbox(), "skills": [skill.local("./skills")], "files": {"settings": file("settings")},
        })
        """
    )


def bytes_read(work: Callable[[], object]) -> int:
    """How much `work` and the processes that end in it read, from files or from anything else."""

    def total() -> int:
        found = re.search(r"^rchar: (\d+)$", ACCOUNT.read_text(), re.MULTILINE)
        assert found is not None
        return int(found[1])

    before = total()
    work()
    return total() - before


@pytest.mark.skipif(not ACCOUNT.exists(), reason="only Linux counts what processes read")
@pytest.mark.conforms("fault 15")
def test_a_build_with_nothing_to_do_reads_no_file_of_a_skill(project: Project, reeval: ReevalBuild) -> None:
    define(project)
    for number in range(FILES):
        project.write(f"skills/one/{number % 20}/{number}", f"{number}".ljust(FILE_BYTES))
    project.settle()
    reeval.build()

    nothing = bytes_read(reeval.build)
    everything = bytes_read(lambda: reeval.build("--rehash"))

    assert everything - nothing > FILES * FILE_BYTES * 0.99


@pytest.mark.conforms("fault 9")
@pytest.mark.parametrize(("path", "node"), [("skills/one/SKILL.md", "skills"), ("settings", "files")])
def test_an_edit_that_keeps_size_and_time_is_seen(project: Project, reeval: ReevalBuild, path: str, node: str) -> None:
    define(project)
    project.settle()
    before = reeval.build()
    file = project.directory / path
    status = file.stat()

    file.write_bytes(file.read_bytes().replace(b"1", b"2").replace(b"Does", b"Says"))
    os.utime(file, ns=(status.st_atime_ns, status.st_mtime_ns))
    after = reeval.build()

    assert (file.stat().st_size, file.stat().st_mtime_ns) == (status.st_size, status.st_mtime_ns)
    assert node in after.phases("ran")
    assert reeval.build("--rehash").keys == after.keys != before.keys


def test_what_is_remembered_wrongly_is_put_right_by_rehash(project: Project, reeval: ReevalBuild) -> None:
    define(project)
    project.settle()
    right = reeval.build().keys
    root = b"file " + os.fsencode(project.directory)
    with LocalStore(reeval.store) as store, store.objects.batch() as batch:
        known = store.stats.load(root)[b""]
        store.stats.save(root, {b"": attrs.evolve(known, digests=batch.add(BLOB, b"2").raw)})

    wrong = reeval.build().keys

    assert wrong != right
    assert reeval.build("--rehash").keys == right
    assert reeval.build().keys == right


def test_a_fact_that_is_wrong_is_put_right_by_rehash(project: Project, reeval: ReevalBuild) -> None:
    define(project)
    project.settle()
    right = reeval("graph", "--format=json").stdout
    file = BLOB.digest(skill_file().encode())
    with LocalStore(reeval.store) as store:
        answer = canon.encode(["another", "Does it."])
        assert question(HEAD, file) in store.facts.known([question(HEAD, file)])
        store.facts.keep([Fact(question=question(HEAD, file), about=file, answer=answer)])

    wrong = reeval("graph", "--format=json").stdout

    assert wrong != right
    assert reeval("graph", "--format=json", "--rehash").stdout == right
    assert reeval("graph", "--format=json").stdout == right


@pytest.mark.conforms("fault 9")
def test_edits_around_what_exclude_leaves_out_are_seen(project: Project, reeval: ReevalBuild) -> None:
    define(project)
    for path in ("evals/x", "a/evals/x", "a/x", "b/c/x.eval.ts", "b/c/y"):
        project.write(f"skills/one/{path}", path)
    project.settle()
    files = project.directory / "skills/one"
    keys = [reeval.build().keys]

    for edit in (
        lambda: project.write("skills/one/b/c/y", "1"),
        lambda: (files / "a").rename(files / "evals/a"),
        lambda: (files / "evals/a").rename(files / "b/evals"),
        lambda: (files / "b/c/x.eval.ts").rename(files / "b/c/x.ts"),
        lambda: project.write("skills/one/SKILL.md", skill_file(description="Says it.")),
        lambda: project.write("skills/one/evals/x", "left out"),
    ):
        edit()
        keys.append(reeval.build().keys)
        assert reeval.build("--rehash").keys == keys[-1]

    skills = [next(key for name, key in one.items() if name.startswith("skills")) for one in keys]
    assert len(set(skills)) == len(skills) - 1
    assert skills[-1] == skills[-2]


@pytest.mark.parametrize("command", [["graph"], ["run", "one@fake"]])
def test_every_command_that_plans_can_rehash(project: Project, reeval: ReevalBuild, command: list[str]) -> None:
    define(project)
    name, *arguments = command

    assert reeval(name, "--rehash", *arguments, *(["--", "true"] if name == "run" else [])).code == 0
