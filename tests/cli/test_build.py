"""`build`: what is said, what runs, and what does not run again."""

from __future__ import annotations

import os
import re
from collections import Counter
from typing import TYPE_CHECKING

import pytest

from tests.support.cli import Built, ReevalBuild

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.projects import Project, Repository

HARNESSES = ("--harness", "fake", "--harness", "claude-code", "--harness", "codex")


@pytest.fixture
def app(project: Project) -> Repository:
    """A repository with two environments on it, one of which extends the other; each step leaves a trace outside."""
    project.write("rules.md", "Be good.\n")
    trace = project.directory.parent / "trace"
    project.define(
        f"""
        base = define_environment("base", {{
            "sandbox": fake_sandbox(),
            "workspace": git("app", ref="v1.0.0"),
            "env": {{"GREETING": "hello"}},
            "files": {{"notes/todo.txt": "nothing\\n", "~/.tool": "on\\n"}},
            "rules": file("rules.md"),
            "setup": ["echo first >> {trace}; echo $GREETING > greeting.txt"],
        }})
        more = base.extend("more", {{"setup": ["echo second >> {trace}; cat greeting.txt main.txt > both.txt"]}})
        """
    )
    app = project.repository("app", {"main.txt": "main\n", ".gitignore": "*.log\n"})
    app.git("tag", "v1.0.0")
    return app


def traces(project: Project) -> Counter[str]:
    """How often each step ran."""
    trace = project.directory.parent / "trace"
    return Counter(trace.read_text().split() if trace.exists() else [])


def without_times(text: str) -> str:
    return re.sub(r"\d+\.\d\d s", "N s", text)


def test_a_line_a_node_goes_to_standard_error_and_the_summary_to_standard_output(
    app: Repository, reeval: ReevalBuild
) -> None:
    done = reeval("build")

    snapshots = reeval.build().snapshots
    assert without_times(done.stdout) == (
        f"base@fake  ran     {snapshots['base@fake']}\n"
        f"more@fake  ran     {snapshots['more@fake']}\n"
        "0 hit, 9 ran, 0 failed, 0 skipped in N s\n"
    )
    lines = without_times(done.stderr).splitlines()
    assert sorted(lines) == sorted(
        [
            "ran     base      fake sandbox  [base@fake, more@fake]  N s",
            "ran     workspace app@v1.0.0  [base@fake, more@fake]  N s",
            "ran     files     notes/todo.txt, ~/.tool  [base@fake, more@fake]  N s",
            "ran     rules     AGENTS.md  [base@fake, more@fake]  N s",
            "ran     root      workspace + files + rules  [base@fake, more@fake]  N s",
            *(line for line in lines if line.startswith("ran     setup     echo first")),
            "ran     snapshot  base  [base@fake]  N s",
            *(line for line in lines if line.startswith("ran     setup     echo second")),
            "ran     snapshot  more  [more@fake]  N s",
        ]
    )
    assert len(lines) == 9


def test_json_is_one_object_of_the_documented_shape(app: Repository, reeval: ReevalBuild) -> None:
    built = reeval.build(*HARNESSES)

    value = built.value
    assert list(value) == ["cells", "nodes", "summary"]
    assert {tuple(cell) for cell in value["cells"]} == {
        ("name", "environment", "harness", "sandbox", "key", "snapshot", "status", "kept"),
    }
    assert {tuple(node) for node in value["nodes"]} == {
        ("key", "phase", "label", "status", "kept", "seconds", "failure", "cells")
    }
    assert list(value["summary"]) == ["hit", "ran", "failed", "skipped", "seconds"]
    names = [f"{environment}@{harness}" for environment in ("base", "more") for harness in HARNESSES[1::2]]
    assert [cell["name"] for cell in value["cells"]] == names
    assert {name for node in value["nodes"] for name in node["cells"]} == set(names)
    digests = [cell[field] for cell in value["cells"] for field in ("key", "snapshot")]
    digests += [node["key"] for node in value["nodes"]]
    assert all(re.fullmatch("[0-9a-f]{64}", digest) for digest in digests)
    assert len({node["key"] for node in value["nodes"]}) == len(value["nodes"])
    counts = Counter(node["status"] for node in value["nodes"])
    assert {status: counts[status] for status in ("hit", "ran", "failed", "skipped")} == {
        status: count for status, count in value["summary"].items() if status != "seconds"
    }


def test_json_is_the_same_when_everything_is_there_but_for_statuses_and_times(
    app: Repository, reeval: ReevalBuild
) -> None:
    def lasting(built: Built) -> object:
        fields = ("name", "environment", "harness", "snapshot", "key", "phase", "label", "cells")
        return [[item.get(field) for field in fields] for item in built.value["cells"] + built.value["nodes"]]

    first, second = reeval.build(), reeval.build()

    assert lasting(first) == lasting(second)
    assert {node["status"] for node in second.nodes} == {"hit"}
    assert [cell["status"] for cell in second.value["cells"]] == ["hit", "hit"]


@pytest.mark.conforms("56")
def test_nodes_that_cells_share_run_once(app: Repository, project: Project, reeval: ReevalBuild) -> None:
    built = reeval.build(*HARNESSES)

    # claude-code has rules of its own, the other two harnesses share theirs.
    assert Counter(built.phases("ran")) == Counter(
        base=1, workspace=1, files=1, rules=2, root=2, setup=2 + 2, snapshot=2 + 2
    )
    assert built.summary["ran"] == len(built.nodes)
    assert traces(project) == {"first": 2, "second": 2}
    workspace = next(node for node in built.nodes if node["phase"] == "workspace")
    assert len(workspace["cells"]) == 6
    assert built.snapshots["base@fake"] == built.snapshots["base@codex"] != built.snapshots["base@claude-code"]


@pytest.mark.conforms("exit 0", "fault 15")
def test_a_second_build_runs_nothing(app: Repository, project: Project, reeval: ReevalBuild) -> None:
    reeval.build(*HARNESSES)

    built = reeval.build(*HARNESSES)

    assert built.ran == []
    assert built.summary["hit"] == len(built.nodes)
    assert traces(project) == {"first": 2, "second": 2}


def test_a_changed_rules_file_runs_rules_root_setup_and_snapshot_of_its_cells_only(
    app: Repository, project: Project, reeval: ReevalBuild
) -> None:
    project.write("other.md", "Other rules.\n")
    with (project.directory / "env.py").open("a") as file:
        file.write('other = base.extend("other", {"rules": file("other.md")})\n')
    reeval.build(*HARNESSES)
    project.write("other.md", "Other rules, changed.\n")

    built = reeval.build(*HARNESSES)

    assert Counter(built.phases("ran")) == Counter(rules=2, root=2, setup=2, snapshot=2)
    assert {name for node in built.nodes if node["status"] == "ran" for name in node["cells"]} == {
        "other@fake",
        "other@claude-code",
        "other@codex",
    }
    assert [cell["status"] for cell in built.value["cells"] if cell["environment"] == "other"] == ["ran"] * 3
    assert {cell["status"] for cell in built.value["cells"] if cell["environment"] != "other"} == {"hit"}


def test_an_edit_that_is_taken_back_runs_nothing(app: Repository, project: Project, reeval: ReevalBuild) -> None:
    before = reeval.build()
    project.write("rules.md", "Be better.\n")
    assert reeval.build().ran != []
    project.write("rules.md", "Be good.\n")

    built = reeval.build()

    assert built.ran == []
    assert built.snapshots == before.snapshots


@pytest.mark.conforms("87")
def test_an_appended_step_runs_that_step_and_its_snapshot_only(
    app: Repository, project: Project, reeval: ReevalBuild
) -> None:
    reeval.build()
    project.edit("env.py", "> both.txt", '> both.txt", "echo third > third.txt')

    built = reeval.build()

    assert built.ran == ["setup echo third > third.txt", "snapshot more"]
    assert traces(project) == {"first": 1, "second": 1}


@pytest.mark.conforms("59")
def test_a_new_commit_of_the_same_files_runs_nothing(app: Repository, project: Project, reeval: ReevalBuild) -> None:
    reeval.build()
    app.commit()
    app.git("tag", "--force", "v1.0.0")

    assert reeval.build().ran == []


def test_a_new_tree_runs_the_workspace_and_what_stands_on_it(
    app: Repository, project: Project, reeval: ReevalBuild
) -> None:
    reeval.build()
    app.commit({"main.txt": "changed\n"})
    app.git("tag", "--force", "v1.0.0")

    built = reeval.build()

    assert built.phases("hit") == ["base", "files", "rules"]
    assert reeval("run", "more@fake", "--", "cat", "both.txt").stdout.startswith("hello\nchanged\n")


@pytest.mark.conforms("89", "fault 18")
def test_a_changed_time_limit_runs_nothing(app: Repository, project: Project, reeval: ReevalBuild) -> None:
    reeval.build()
    project.edit("env.py", '["echo second', '[{"timeout": "1h", "run": "echo second')
    project.edit("env.py", 'both.txt"]', 'both.txt"}]')

    assert reeval.build().ran == []


@pytest.mark.conforms("124", "fault 18")
def test_a_renamed_environment_runs_nothing(app: Repository, project: Project, reeval: ReevalBuild) -> None:
    before = reeval.build()
    project.edit("env.py", '"base"', '"groundwork"')
    project.edit("env.py", '"more"', '"most"')

    built = reeval.build()

    assert built.ran == []
    assert list(built.snapshots) == ["groundwork@fake", "most@fake"]
    assert list(built.snapshots.values()) == list(before.snapshots.values())


def test_a_step_that_leaves_what_it_left_before_stops_the_rebuild(
    app: Repository, project: Project, reeval: ReevalBuild
) -> None:
    before = reeval.build()
    project.edit("env.py", "echo $GREETING > greeting.txt", "echo hello > greeting.txt")

    built = reeval.build()

    assert [label[:16] for label in built.ran] == ["setup echo first"]
    assert traces(project) == {"first": 2, "second": 1}
    assert built.snapshots == before.snapshots


@pytest.mark.conforms("89")
def test_a_changed_variable_runs_the_steps_that_see_it(app: Repository, project: Project, reeval: ReevalBuild) -> None:
    reeval.build()
    project.edit("env.py", '"hello"', '"hi"')

    built = reeval.build()

    assert Counter(built.phases("ran")) == Counter(setup=2, snapshot=2)
    assert reeval("run", "more@fake", "--", "cat", "both.txt").stdout.startswith("hi\nmain\n")


@pytest.mark.conforms("89")
def test_a_variable_that_no_step_sees_changes_the_cell_and_runs_nothing(project: Project, reeval: ReevalBuild) -> None:
    project.define('one = define_environment("one", {"sandbox": fake_sandbox(), "env": {"A": "1"}})')
    before = reeval.build()
    project.edit("env.py", '"1"', '"2"')

    built = reeval.build()

    assert built.ran == []
    assert built.snapshots == before.snapshots
    assert built.keys["cell one@fake"] != before.keys["cell one@fake"]
    assert reeval("run", "one@fake", "--", "sh", "-c", "echo $A").stdout.startswith("2\n")


def test_a_file_is_read_again_whatever_its_time_and_size_say(project: Project, reeval: ReevalBuild) -> None:
    project.define('one = define_environment("one", {"sandbox": fake_sandbox(), "files": {"a": file("a.txt")}})')
    file = project.write("a.txt", "one\n")
    before = file.stat()
    reeval.build()
    file.write_text("two\n")
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))

    assert reeval.build().phases("ran") == ["files", "root", "snapshot"]
    assert reeval("run", "one@fake", "--", "cat", "a").stdout.startswith("two\n")


@pytest.mark.conforms("34", "fault 19")
def test_a_touched_file_runs_nothing(app: Repository, project: Project, reeval: ReevalBuild) -> None:
    reeval.build()
    (project.directory / "rules.md").touch()
    (project.directory / "env.py").touch()

    assert reeval.build().ran == []


@pytest.mark.conforms("36")
def test_a_file_that_becomes_executable_is_placed_again(project: Project, reeval: ReevalBuild) -> None:
    project.define('one = define_environment("one", {"sandbox": fake_sandbox(), "files": {"a": file("a.sh")}})')
    file = project.write("a.sh", "#!/bin/sh\necho ran\n")
    reeval.build()
    file.chmod(0o755)

    assert reeval.build().phases("ran") == ["files", "root", "snapshot"]
    assert reeval("run", "one@fake", "--", "./a").stdout.startswith("ran\n")


def test_any_number_of_jobs_gives_the_same(app: Repository, project: Project, tmp_path: Path) -> None:
    one, eight = (ReevalBuild(project.directory, tmp_path / f"store-{jobs}") for jobs in (1, 8))

    built, built_by_eight = one.build(*HARNESSES, "--jobs", "1"), eight.build(*HARNESSES, "--jobs", "8")

    assert built.keys == built_by_eight.keys
    assert built.snapshots == built_by_eight.snapshots


@pytest.mark.conforms("83")
def test_steps_run_in_order_each_on_what_the_one_before_left(project: Project, reeval: ReevalBuild) -> None:
    steps = [f"echo {number} >> steps; mv last next 2>/dev/null; touch last" for number in range(5)]
    project.define(f'one = define_environment("one", {{"sandbox": fake_sandbox(), "setup": {steps!r}}})')

    reeval.build("--jobs", "8")

    assert reeval("run", "one@fake", "--", "cat", "steps").stdout.startswith("0\n1\n2\n3\n4\n")
    assert reeval("run", "one@fake", "--", "ls").stdout.startswith("last\nnext\nsteps\n")


def test_steps_of_independent_cells_run_at_once(project: Project, reeval: ReevalBuild, tmp_path: Path) -> None:
    for mine, others in (("one", "two"), ("two", "one")):
        step = f"touch {tmp_path}/{mine}; until [ -e {tmp_path}/{others} ]; do sleep 0.01; done"
        project.define(
            f"""
            it = define_environment("{mine}", {{
                "sandbox": fake_sandbox(), "setup": [{{"run": "{step}", "timeout": "30s"}}],
            }})
            """,
            path=f"{mine}.py",
        )

    assert reeval.build("one.py", "two.py", "--jobs", "2").phases("failed") == []


def test_with_one_job_steps_do_not_overlap(project: Project, reeval: ReevalBuild, tmp_path: Path) -> None:
    step = f"mkdir {tmp_path}/alone && sleep 0.05 && rmdir {tmp_path}/alone"
    project.define(
        f"""
        for number in range(4):
            globals()[f"e{{number}}"] = define_environment(f"e{{number}}", {{
                "sandbox": fake_sandbox(), "env": {{"NUMBER": str(number)}}, "setup": ["{step}"],
            }})
        """
    )

    assert reeval.build("--jobs", "1").phases("ran").count("setup") == 4


@pytest.mark.conforms("82")
def test_an_environment_without_a_sandbox_takes_the_default_one(project: Project, reeval: ReevalBuild) -> None:
    project.define('one = define_environment("one", {"rules": "Be good."})')

    assert reeval.build("--sandbox", "fake").phases("ran") == ["base", "root", "rules", "snapshot"]


def test_an_environment_of_nothing_is_an_empty_workspace(project: Project, reeval: ReevalBuild) -> None:
    project.define('one = define_environment("one", {"sandbox": fake_sandbox()})')

    assert reeval.build().ran == ["base fake sandbox", "root empty workspace", "snapshot one"]
    assert reeval("run", "one@fake", "--", "ls", "-A").stdout == "one@fake: nothing changed since the snapshot\n"


@pytest.mark.conforms("43", "55")
def test_files_go_over_the_workspace_and_rules_over_files(project: Project, reeval: ReevalBuild) -> None:
    project.repository("app", {"a": "repository\n", "b": "repository\n", "AGENTS.md": "repository\n"})
    project.define(
        """
        one = define_environment("one", {
            "sandbox": fake_sandbox(), "workspace": git("app"), "rules": "rules\\n",
            "files": {"b": "files\\n", "AGENTS.md": "files\\n"},
        })
        """
    )

    built = reeval.build()

    assert reeval("run", "one@fake", "--", "cat", "a", "b", "AGENTS.md").stdout.startswith("repository\nfiles\nrules\n")
    assert any('files["AGENTS.md"] of one@fake is replaced by its rules' in line for line in built.messages)


def test_each_harness_gets_its_rules_file(project: Project, reeval: ReevalBuild) -> None:
    project.define('one = define_environment("one", {"sandbox": fake_sandbox(), "rules": "rules\\n"})')

    names = {
        harness: reeval("run", f"one@{harness}", "--", "ls").stdout.splitlines()[0]
        for harness in ("fake", "claude-code", "codex")
    }

    assert names == {"fake": "AGENTS.md", "claude-code": "CLAUDE.md", "codex": "AGENTS.md"}


def test_what_a_step_leaves_running_is_ended_and_does_not_hold_it_up(
    project: Project, reeval: ReevalBuild, tmp_path: Path
) -> None:
    project.define(
        """
        one = define_environment("one", {
            "sandbox": fake_sandbox(),
            "setup": ["yes & setsid yes & (sleep 1000; echo late > late) & echo made > made"],
        })
        """
    )

    built = reeval.build()

    assert built.phases("ran") == ["base", "root", "setup", "snapshot"]
    assert reeval("run", "one@fake", "--", "ls").stdout.startswith("made\n")


def test_the_option_for_the_store_goes_before_the_variable(project: Project, tmp_path: Path) -> None:
    project.define('one = define_environment("one", {"sandbox": fake_sandbox()})')
    variable = {"REEVAL_BUILD_HOME": str(tmp_path / "variable")}
    by_variable = ReevalBuild(project.directory, tmp_path / "variable", env=variable, names_store=False)
    by_option = ReevalBuild(project.directory, tmp_path / "option", env=variable)

    assert by_variable.build().ran != []
    assert (tmp_path / "variable" / "store.sqlite").exists()
    assert by_variable.build().ran == []
    assert by_option.build().ran != []
    assert (tmp_path / "option" / "store.sqlite").exists()


def test_the_store_is_in_the_users_cache_directory_when_nothing_says_otherwise(
    project: Project, tmp_path: Path
) -> None:
    project.define('one = define_environment("one", {"sandbox": fake_sandbox()})')

    store = tmp_path / "cache" / "reeval-build"

    ReevalBuild(project.directory, store, env={"XDG_CACHE_HOME": str(tmp_path / "cache")}, names_store=False).build()

    assert (store / "store.sqlite").exists()


def test_output_into_a_closed_pipe_ends_quietly(app: Repository, reeval: ReevalBuild) -> None:
    process = reeval.start("build", "--json")
    assert process.stdout is not None
    process.stdout.close()
    process.stdout = None
    _out, err = process.communicate()

    assert process.returncode == 141
    assert b"Traceback" not in err
