"""Images are what they are locked as, and the lock file says so."""

from __future__ import annotations

import json
import os
import shlex
from typing import TYPE_CHECKING

import pytest

from tests.support.cli import ReevalBuild, finish
from tests.support.quiet_engine import QuietEngine, quiet_engine

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path
    from typing import Any

    from tests.support.projects import Project

ONE, TWO = "sha256:" + "1" * 64, "sha256:" + "2" * 64
LOCK = "reeval-build.lock"


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[QuietEngine]:
    with quiet_engine(tmp_path) as made:
        yield made


@pytest.fixture
def reeval(tmp_path: Path, project: Project, engine: QuietEngine) -> ReevalBuild:
    return ReevalBuild(project.directory, tmp_path / "store", env={"DOCKER_HOST": engine.url})


def define(project: Project, *images: str) -> None:
    lines = [
        f'e{at} = define_environment("e{at}", {{"sandbox": docker(from_="{one}")}})' for at, one in enumerate(images)
    ]
    project.define("\n".join(lines))


def locked(project: Project) -> dict[str, dict[str, Any]]:
    value = json.loads((project.directory / LOCK).read_text())
    assert value["format"] == 1
    images: dict[str, dict[str, Any]] = value["images"]
    return images


def check(reeval: ReevalBuild, *arguments: str, code: int) -> str:
    """What `lock check` says, which has no store."""
    reeval.names_store = False
    try:
        return reeval("lock check", *arguments, code=code).stdout
    finally:
        reeval.names_store = True


def test_a_build_locks_what_is_not_locked(project, reeval, engine):
    engine.tag("known:1", "one", digest=ONE)
    engine.tag("own:1", "two")
    define(project, "known:1", "own:1")

    built = reeval.build()

    images = locked(project)
    assert images["known:1"]["linux/amd64"].keys() == {"content", "digest"}
    assert images["known:1"]["linux/amd64"]["digest"] == ONE
    assert images["own:1"]["linux/amd64"].keys() == {"content", "image"}
    (warning,) = built.messages
    assert "env.py: image 'own:1' is locked as this engine has it: no registry is known to have it" in warning
    before = (project.directory / LOCK).stat()
    assert reeval.build().messages == []
    assert (project.directory / LOCK).stat() == before


@pytest.mark.conforms("fault 7")
def test_a_name_that_moved_is_what_it_is_locked_as_until_it_is_locked_anew(project, reeval, engine):
    engine.tag("moving:1", "one", digest=ONE)
    define(project, "moving:1")
    first = reeval.build()
    engine.tag("moving:1", "two", digest=None)

    moved = reeval.build()

    assert moved.ran == []
    assert moved.keys == first.keys
    (warning,) = moved.messages
    assert "image 'moving:1' is used as reeval-build.lock has it, and the engine has another one" in warning
    command = warning.partition("`")[2].partition("`")[0]
    assert command == "reeval-build lock update moving:1"

    reeval(" ".join(shlex.split(command)[1:3]), *shlex.split(command)[3:])

    after = reeval.build()
    assert after.messages == []
    assert after.phases("ran")[0] == "base"


def test_nothing_is_asked_of_the_engine_but_one_question_for_an_image_that_is_locked(project, reeval, engine):
    engine.tag("known:1", "one", digest=ONE)
    define(project, "known:1")
    reeval.build()
    engine.asked.clear()

    reeval.build()

    assert engine.asked == ["/images/known:1/json"]


def test_an_image_that_is_locked_need_not_be_there_when_nothing_runs(project, reeval, engine):
    engine.tag("known:1", "one", digest=ONE)
    define(project, "known:1")
    reeval.build()
    engine.images.clear()

    again = reeval.build()

    assert (again.ran, again.messages) == ([], [])
    assert not any("create" in question for question in engine.asked)


def test_two_spellings_of_one_name_are_one_image(project, reeval, engine):
    engine.tag("node:latest", "one", digest=ONE)
    engine.images["node"] = engine.images["docker.io/library/node"] = engine.images["node:latest"]
    define(project, "node", "docker.io/library/node", "node:latest")

    reeval.build()

    assert list(locked(project)) == ["node:latest"]
    check(reeval, code=0)


def test_names_with_a_digest_need_no_lock(project, reeval, engine):
    engine.tag(f"a@{ONE}", "one")
    define(project, f"a@{ONE}")

    reeval.build("--frozen")

    assert not (project.directory / LOCK).exists()
    check(reeval, code=0)


def test_the_fake_sandbox_reads_and_writes_no_lock(project, reeval):
    project.write(LOCK, "broken")
    project.define('e = define_environment("e", {"sandbox": fake_sandbox()})')

    reeval.build()

    assert (project.directory / LOCK).read_text() == "broken"


def test_only_builds_write(project, reeval, engine):
    engine.tag("known:1", "one", digest=ONE)
    define(project, "known:1")

    reeval("graph")

    assert not (project.directory / LOCK).exists()


def test_frozen_refuses_what_is_not_locked_and_writes_nothing(project, reeval, engine):
    for name in "abc":
        engine.tag(f"{name}:1", name, digest=ONE)
    define(project, "a:1")
    reeval.build()
    before = (project.directory / LOCK).read_text()
    define(project, "a:1", "b:1", "c:1")

    for command in ("build", "graph"):
        done = reeval(command, "--frozen", code=2)
        assert [message.partition(" (")[0] for message in done.messages] == [
            "reeval: image 'b:1' is not in reeval-build.lock",
            "reeval: image 'c:1' is not in reeval-build.lock",
        ]
    assert "image 'b:1' is not in" in reeval("run", "e1@fake", "--frozen", "--", "true", code=2).stderr
    assert reeval.build("env.py::e0", "--frozen").ran == []
    assert (project.directory / LOCK).read_text() == before


def test_frozen_refuses_another_platform(project, reeval, engine):
    engine.tag("a:1", "one", digest=ONE)
    define(project, "a:1")
    reeval.build()

    done = reeval("build", "--frozen", "--platform", "linux/arm64", code=2)

    assert "image 'a:1' is not in reeval-build.lock for linux/arm64" in done.stderr


def test_each_platform_is_locked_for_itself(project, reeval, engine):
    define(project, "a:1")
    engine.tag("a:1", "one", digest=ONE, platform="linux/arm64/v8")
    first = reeval.build()
    engine.tag("a:1", "two", digest=ONE, platform="linux/amd64")

    second = reeval.build("--platform", "linux/amd64")

    assert locked(project)["a:1"].keys() == {"linux/amd64", "linux/arm64/v8"}
    assert first.keys.keys() == second.keys.keys()
    assert set(first.keys.values()) & set(second.keys.values()) == set()
    assert reeval.build("--platform", "linux/arm64").ran == []
    assert reeval.build().ran == []


@pytest.mark.parametrize(
    ("option", "variable", "file", "platform"),
    [
        (None, "", "", "linux/amd64"),
        ("linux/arm64", "", "", "linux/arm64"),
        (None, "linux/arm64", "", "linux/arm64"),
        (None, "", "linux/arm64", "linux/arm64"),
        (None, "linux/arm64", "linux/amd64", "linux/arm64"),
        ("linux/arm64", "linux/amd64", "linux/amd64", "linux/arm64"),
    ],
)
def test_the_platform_is_that_of_the_option_else_the_variable_else_the_file(
    project, reeval, engine, option, variable, file, platform
):
    define(project, "a:1")
    for one in ("linux/arm64", "linux/amd64"):
        engine.tag("a:1", one, digest=ONE, platform=one)
        reeval.build("--platform", one)
    project.write("pyproject.toml", f'[tool.reeval-build]\nplatform = "{file}"\n' if file else "")
    arguments = ["--platform", option] if option else []
    expected = locked(project)["a:1"][platform]["content"]
    records = project.directory / "records"

    reeval("build", "--frozen", *arguments, "--record-dir", records, env={"DOCKER_DEFAULT_PLATFORM": variable})

    (record,) = records.rglob("record.json")
    assert json.loads(record.read_text())["sandbox"]["resolved"] == expected


@pytest.mark.parametrize(
    ("arguments", "variable", "problem"),
    [
        (["--platform", "arm64"], "", "'arm64' is not a platform such as"),
        ([], "arm 64", "$DOCKER_DEFAULT_PLATFORM is 'arm 64', which is not a platform such as linux/arm64"),
    ],
)
def test_a_platform_that_is_none_is_refused(project, reeval, arguments, variable, problem):
    define(project, "a:1")

    done = reeval("build", *arguments, code=2, env={"DOCKER_DEFAULT_PLATFORM": variable})

    assert problem in done.stderr


def test_a_lock_that_cannot_be_written_is_said_and_stops_nothing(project, reeval, engine):
    engine.tag("a:1", "one", digest=ONE)
    define(project, "a:1")
    # A link into nowhere, for who runs the tests may write everywhere.
    (project.directory / LOCK).symlink_to("no/where.lock")

    built = reeval.build()

    assert built.messages == [
        "reeval: warning: what images and harnesses are now could not be locked: no such file or directory"
    ]


def test_a_broken_lock_stops_the_plan(project, reeval, engine):
    engine.tag("a:1", "one", digest=ONE)
    define(project, "a:1")
    project.write(LOCK, "<<<<<<< HEAD\n{}\n=======\n{}\n>>>>>>> other\n")

    for command in ("build", "graph", "lock update"):
        done = reeval(command, code=2)
        assert f"{LOCK}: it has the marks of a merge conflict in line 1" in done.stderr


def test_builds_at_once_lock_what_each_of_them_needs(project, reeval, engine):
    names = [f"image{number}:1" for number in range(4)]
    for name in names:
        engine.tag(name, name, digest=ONE)
    define(project, *names)

    started = [reeval.start("build", f"env.py::e{number}") for number in range(4)]

    assert [finish(one).code for one in started] == [0] * 4
    assert sorted(locked(project)) == names


def test_check_compares_what_is_named_with_what_is_locked(project, reeval, engine):
    for name in ("a:1", "b:1"):
        engine.tag(name, name, digest=ONE)
    define(project, "a:1", "b:1")
    reeval.build()
    assert check(reeval, code=0) == "reeval-build.lock is up to date\n"

    define(project, "a:1", "c:1")

    assert check(reeval, code=2).splitlines() == [
        "c:1 is not locked",
        "b:1 is locked, and nothing names it",
        "reeval-build.lock is not up to date: `reeval-build lock update`",
    ]
    value = json.loads(check(reeval, "--json", code=2))
    assert value == {
        "current": False,
        "missing": ["c:1"],
        "unused": ["b:1"],
        "unfetchable": [],
        "moved": None,
        "harnesses": {"missing": [], "unused": [], "moved": None},
    }
    assert "a:1 is not locked\n" in check(reeval, "--platform", "linux/s390x", code=2)


def test_check_needs_no_engine(project, reeval, engine):
    engine.tag("own:1", "one")
    define(project, "own:1")
    reeval.build()
    reeval.env["DOCKER_HOST"] = "unix:///no/engine.sock"

    said = check(reeval, code=0)

    assert "own:1 linux/amd64 is locked as an engine had it, so no other machine can fetch it\n" in said


def test_update_locks_what_is_named_and_nothing_else(project, reeval, engine):
    for name in ("a:1", "b:1"):
        engine.tag(name, name)
    define(project, "a:1")
    reeval.build()
    define(project, "b:1")

    said = reeval("lock update").stdout

    assert list(locked(project)) == ["b:1"]
    assert [line.split("  ")[0] for line in said.splitlines()] == ["a:1 linux/amd64", "b:1 linux/amd64"]
    assert "removed, was sha256:" in said
    assert "(only in this engine)" in said
    check(reeval, code=0)


def test_update_of_a_name_leaves_the_others(project, reeval, engine):
    for name in ("a:1", "b:1"):
        engine.tag(name, "one")
    define(project, "a:1", "b:1")
    reeval.build()
    before = locked(project)
    for name in ("a:1", "b:1"):
        engine.tag(name, "two")

    value = json.loads(reeval("lock update", "docker.io/library/a:1", "--json").stdout)

    assert locked(project)["b:1"] == before["b:1"]
    assert locked(project)["a:1"] != before["a:1"]
    (change,) = value["images"]
    assert (change["name"], change["platform"]) == ("a:1", "linux/amd64")
    assert change["before"] == before["a:1"]["linux/amd64"] | {"digest": None}
    assert change["after"] == locked(project)["a:1"]["linux/amd64"] | {"digest": None}
    assert reeval("lock update", "a:1").stdout.endswith(", unchanged\n")


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["a:2"], "image 'a:2' is not in reeval-build.lock (did you mean 'a:1'?)"),
        (["a:1", "--target", "env.py"], "Give NAMEs or --target, not both."),
    ],
)
def test_update_says_what_it_cannot_do(project, reeval, engine, arguments, problem):
    engine.tag("a:1", "one")
    define(project, "a:1")
    reeval.build()

    assert problem in reeval("lock update", *arguments, code=2).stderr


def test_update_writes_nothing_unless_all_was_found(project, reeval, engine):
    for name in ("a:1", "b:1"):
        engine.tag(name, "one")
    define(project, "a:1", "b:1")
    reeval.build()
    before = (project.directory / LOCK).read_text()
    engine.tag("a:1", "two")
    del engine.images["b:1"]

    done = reeval("lock update", code=3)

    assert "image 'b:1' is not in the engine and could not be pulled: this engine is quiet" in done.stderr
    assert (project.directory / LOCK).read_text() == before


def test_a_dockerfile_that_is_no_file_or_too_large_is_refused_and_not_waited_for(project, reeval):
    project.define('e = define_environment("e", {"sandbox": docker(dockerfile="Dockerfile")})')
    path = project.directory / "Dockerfile"
    reeval.names_store = False

    os.mkfifo(path)
    fifo = reeval("lock check", code=3).stderr
    path.unlink()
    path.write_text(f"FROM a\n#{'x' * 4 * 1024 * 1024}\n")
    large = reeval("lock check", code=3).stderr

    assert fifo == f'reeval: "{path}" cannot be built: it is not a regular file\n'
    assert large == f'reeval: "{path}" cannot be built: it has 4,194,313 bytes, more than the 4,194,304 that are read\n'
