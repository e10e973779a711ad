"""`build` when the world does not do its part: exit code 3, the reason, and the other cells finished."""

from __future__ import annotations

import os
import re
import socket
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.support.cli import ReevalBuild, assert_nothing_is_left
from tests.support.users import checked_by_permissions
from tests.support.waiting import wait_until

if TYPE_CHECKING:
    from tests.support.cli import Built
    from tests.support.projects import Project


def define(project: Project, fields: str, *, extended: str = "{}") -> None:
    """An environment `bad` with these fields, one that extends it, and a `good` one that has nothing to do with it."""
    project.define(
        f"""
        bad = define_environment("bad", {{"sandbox": fake_sandbox(), {fields}}})
        on_bad = bad.extend("on-bad", {extended})
        good = define_environment("good", {{"sandbox": fake_sandbox(), "setup": ["echo good > good"]}})
        """
    )


def the_failure(built: Built) -> str:
    """The one sentence that is said; the good cell must have been built all the same."""
    statuses = {cell["name"]: cell["status"] for cell in built.value["cells"]}
    assert statuses["good@fake"] == "ran"
    assert built.snapshots["good@fake"] is not None
    assert built.snapshots["bad@fake"] is None
    (message,) = built.messages
    return message


@pytest.mark.conforms("85", "exit 3", "fault 35")
def test_a_failing_step_is_named_with_its_file_cells_code_and_log(project: Project, reeval: ReevalBuild) -> None:
    define(project, '"setup": ["echo before", "echo to stdout; echo to stderr >&2; exit 7", "echo never"]')

    built = reeval.build("--jobs", "1", code=3)

    found = re.fullmatch(
        r'reeval: env\.py: bad@fake, on-bad@fake: setup step "echo to stdout; echo to stderr >&2; exit 7" '
        r"failed with exit code 7 \(its output is in (.*)\)",
        the_failure(built),
    )
    assert found
    log = Path(found[1])
    assert log.parent == reeval.store / "logs"
    assert sorted(log.read_text().splitlines()) == ["to stderr", "to stdout"]
    assert built.labels("failed") == ["setup echo to stdout; echo to stderr >&2; exit 7"]
    assert built.labels("skipped") == ["setup echo never", "snapshot bad"]
    assert [cell["status"] for cell in built.value["cells"]] == ["failed", "failed", "ran"]


def test_the_summary_counts_what_failed(project: Project, reeval: ReevalBuild) -> None:
    define(project, '"setup": ["exit 1"]')

    done = reeval("build", code=3)

    *cells, summary = done.stdout.splitlines()
    assert re.match("0 hit, 4 ran, 1 failed, 1 skipped in ", summary)
    assert [re.split(" +", line)[:2] for line in cells] == [
        ["bad@fake", "failed"],
        ["on-bad@fake", "failed"],
        ["good@fake", "ran"],
    ]
    assert [line for line in done.stderr.splitlines() if re.match("failed +setup +exit 1", line)]


@pytest.mark.conforms("85")
def test_nothing_of_a_failed_step_is_recorded(project: Project, reeval: ReevalBuild, tmp_path: Path) -> None:
    define(project, f'"setup": ["echo ran >> {tmp_path}/trace; echo leftover > leftover; test -e {tmp_path}/allowed"]')
    reeval.build(code=3)
    reeval.build(code=3)
    (tmp_path / "allowed").touch()

    built = reeval.build()

    assert (tmp_path / "trace").read_text() == "ran\n" * 3
    assert sorted(built.phases("ran")) == ["setup", "snapshot"]
    assert reeval.build().ran == []
    assert_nothing_is_left(reeval.store)


@pytest.mark.conforms("85")
def test_steps_before_a_failed_one_are_kept(project: Project, reeval: ReevalBuild, tmp_path: Path) -> None:
    define(project, f'"setup": ["echo ran >> {tmp_path}/trace", "exit 1"]')
    reeval.build(code=3)
    project.edit("env.py", "exit 1", "exit 0")

    built = reeval.build()

    assert (tmp_path / "trace").read_text() == "ran\n"
    assert built.ran == ["setup exit 0", "snapshot bad"]


@pytest.mark.parametrize(("signal", "code"), [("KILL", 137), ("SEGV", 139), ("TERM", 143)])
def test_a_step_that_a_signal_ends_has_failed(project: Project, reeval: ReevalBuild, signal: str, code: int) -> None:
    define(project, f'"setup": ["echo before; kill -{signal} $$"]')

    assert f"failed with exit code {code} (its output is in " in the_failure(reeval.build(code=3))


@pytest.mark.conforms("86")
def test_a_step_that_takes_too_long_is_ended_and_what_it_wrote_is_in_the_log(
    project: Project, reeval: ReevalBuild, tmp_path: Path
) -> None:
    run = f"sleep 1000 & echo $! > {tmp_path}/pid; echo begun; wait"
    define(project, f'"setup": [{{"run": "{run}", "timeout": 1}}]')

    message = the_failure(reeval.build(code=3))

    assert "timed out after 1 s (its output is in " in message
    log = Path(message.rpartition("output is in ")[2].removesuffix(")"))
    assert log.read_text() == "begun\n"
    pid = (tmp_path / "pid").read_text().strip()
    wait_until(lambda: not Path(f"/proc/{pid}").exists())
    assert_nothing_is_left(reeval.store)


@pytest.mark.conforms("86", "fault 34")
def test_a_child_in_a_session_of_its_own_writes_nothing_after_the_time_limit(
    project: Project, reeval: ReevalBuild, tmp_path: Path
) -> None:
    late = (
        f"trap : HUP TERM INT; until [ -e {tmp_path}/go ]; do sleep 0.01; done; echo late | tee late > {tmp_path}/late"
    )
    define(
        project,
        f'"setup": [{{"run": "setsid sh -c \\"{late}\\" & wait", "timeout": 0.5}}]',
    )

    reeval.build(code=3)
    (tmp_path / "go").touch()

    assert_nothing_is_left(reeval.store)
    assert not (tmp_path / "late").exists()


@pytest.mark.conforms("fault 34")
def test_a_child_in_a_session_of_its_own_does_not_outlive_its_step(
    project: Project, reeval: ReevalBuild, tmp_path: Path
) -> None:
    late = f"until [ -e {tmp_path}/go ]; do sleep 0.01; done; echo late > late"
    project.define(
        f"""
        one = define_environment("one", {{
            "sandbox": fake_sandbox(), "setup": ["setsid sh -c '{late}' & true", "touch {tmp_path}/go; sleep 0.1"],
        }})
        """
    )

    reeval.build()

    assert reeval("run", "one@fake", "--", "ls").stdout == "one@fake: nothing changed since the snapshot\n"


def test_a_step_of_many_lines_is_named_in_one(project: Project, reeval: ReevalBuild) -> None:
    define(project, '"setup": ["echo one\\n" + "echo two\\n" * 50 + "exit 3\\n"]')

    message = the_failure(reeval.build(code=3))

    assert 'setup step "echo one echo two echo two' in message
    assert "failed with exit code 3" in message


def test_a_step_in_a_directory_that_is_not_there_fails(project: Project, reeval: ReevalBuild) -> None:
    define(project, '"setup": [{"run": "true", "cwd": "no/such"}]')

    message = the_failure(reeval.build(code=3))

    log = Path(message.rpartition("output is in ")[2].removesuffix(")"))
    assert "No such file or directory" in log.read_text()


@pytest.mark.conforms("40")
def test_a_missing_file_fails_what_needs_it(project: Project, reeval: ReevalBuild) -> None:
    define(project, '"rules": file("gone.md")', extended='{"rules": "others"}')

    built = reeval.build(code=3)

    assert the_failure(built) == (
        f'reeval: env.py: bad@fake: file("{project.directory}/gone.md") does not exist (check its spelling)'
    )
    assert [cell["status"] for cell in built.value["cells"]] == ["failed", "ran", "ran"]
    assert built.phases("failed") == ["rules"]
    assert built.phases("skipped") == ["root", "snapshot"]


def test_a_file_that_may_not_be_read_fails_what_needs_it(project: Project, tmp_path: Path) -> None:
    reeval = ReevalBuild(project.directory, tmp_path / "store", prefix=checked_by_permissions())
    project.write("secret.txt", "secret\n").chmod(0)
    define(project, '"files": {"a": file("secret.txt")}')

    message = the_failure(reeval.build(code=3))

    assert f'file("{project.directory}/secret.txt") cannot be read: permission denied' in message


@pytest.mark.parametrize("kind", ["directory", "pipe", "loop"])
def test_a_file_that_is_none_fails_what_needs_it(project: Project, reeval: ReevalBuild, kind: str) -> None:
    place = project.directory / "it"
    if kind == "directory":
        place.mkdir()
    elif kind == "pipe":
        os.mkfifo(place)
    else:
        place.symlink_to("it")
    define(project, '"files": {"a": file("it")}')

    assert f'file("{place}") ' in the_failure(reeval.build(code=3))


@pytest.mark.conforms("62", "71")
@pytest.mark.parametrize(
    ("workspace", "said"),
    [
        ('git("nowhere", ref="v1.0.0")', 'git("nowhere") '),
        ('git("plain", ref="v1.0.0")', 'git("plain") '),
        ('git("app", ref="v9.9.9")', 'git("app") has no branch, tag or commit "v9.9.9"'),
        ('git("app", ref="0123456789012345678901234567890123456789")', 'git("app") '),
        ('git("app", ref="v1.0.0", path="no/such")', 'git("app") at "v1.0.0" '),
        ('git("http://127.0.0.1:9/app.git", ref="v1.0.0")', 'git("http://127.0.0.1:9/app.git") cannot be reached'),
    ],
)
def test_a_workspace_that_cannot_be_had_fails_what_needs_it(
    project: Project, reeval: ReevalBuild, workspace: str, said: str
) -> None:
    project.repository("app", {"main.txt": "main\n"}).git("tag", "v1.0.0")
    (project.directory / "plain").mkdir()
    define(project, f'"workspace": {workspace}')

    built = reeval.build(code=3)

    assert said in the_failure(built)
    assert built.phases("failed") == ["workspace"]


@pytest.mark.parametrize("address", ["unix:///no/such/docker.sock", "tcp://127.0.0.1:9", "unix://{dead}", "nonsense"])
def test_an_engine_that_is_away_fails_what_needs_it(
    project: Project, reeval: ReevalBuild, tmp_path: Path, address: str
) -> None:
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(tmp_path / "dead.sock"))
    project.define(
        """
        bad = define_environment("bad", {"sandbox": docker(from_="debian:12"), "setup": ["true"]})
        other = define_environment("other", {"rules": "of the default sandbox"})
        good = define_environment("good", {"sandbox": fake_sandbox(), "setup": ["echo good > good"]})
        """
    )

    built = reeval.build(
        "--sandbox", "docker", env={"DOCKER_HOST": address.format(dead=tmp_path / "dead.sock")}, code=3
    )

    statuses = {cell["name"]: cell["status"] for cell in built.value["cells"]}
    assert statuses == {"bad@fake": "failed", "other@fake": "failed", "good@fake": "ran"}
    assert all(message.startswith("reeval: env.py: ") for message in built.messages)
    assert {name for message in built.messages for name in ("bad@fake", "other@fake") if name in message} == {
        "bad@fake",
        "other@fake",
    }


def test_a_file_where_the_workspace_has_a_directory_fails_its_cell(project: Project, reeval: ReevalBuild) -> None:
    project.repository("app", {"src/main.txt": "main\n"}).git("tag", "v1.0.0")
    define(project, '"workspace": git("app", ref="v1.0.0"), "files": {"src": "a file"}')

    assert "src" in the_failure(reeval.build(code=3))


def test_failures_of_two_files_name_both(project: Project, reeval: ReevalBuild) -> None:
    for name in ("a", "b"):
        project.define(
            f'{name} = define_environment("{name}", {{"sandbox": fake_sandbox(), "setup": ["exit 1"]}})',
            path=f"{name}.py",
        )

    (message,) = reeval.build(code=3).messages

    assert message.startswith('reeval: a.py, b.py: a@fake, b@fake: setup step "exit 1" failed with exit code 1 (')


def test_a_step_that_leaves_what_cannot_be_kept_fails_and_names_the_path(project: Project, reeval: ReevalBuild) -> None:
    define(project, '"setup": ["mkdir deep; touch deep/.wh.file"]')

    assert "workspace/deep/.wh.file" in the_failure(reeval.build(code=3))


def test_a_step_that_makes_things_unreadable_fails_and_names_the_path(project: Project, tmp_path: Path) -> None:
    reeval = ReevalBuild(project.directory, tmp_path / "store", prefix=checked_by_permissions())
    define(project, '"setup": ["mkdir -p shut/in; touch shut/in/file; chmod 0 shut/in shut"]')

    message = the_failure(reeval.build(code=3))

    assert "workspace/shut" in message
    assert "ermission denied" in message
    assert_nothing_is_left(reeval.store)


def test_a_step_that_removes_its_workspace_is_told_so_or_leaves_an_empty_one(
    project: Project, reeval: ReevalBuild
) -> None:
    project.define(
        """
        one = define_environment("one", {
            "sandbox": fake_sandbox(), "rules": "x", "setup": ["cd ..; rm -rf workspace"],
        })
        """
    )

    built = reeval("build", code=3)

    assert any("workspace" in message for message in built.messages)
    assert_nothing_is_left(reeval.store)
