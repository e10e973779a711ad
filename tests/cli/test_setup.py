"""Setup steps: where and in which order they run, and which run again."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.support.records import cell_records

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.cli import Built, ReevalBuild
    from tests.support.projects import Project


@pytest.mark.conforms("83")
def test_steps_run_in_order_the_parent_s_first_each_where_it_says(
    project: Project, reeval: ReevalBuild, tmp_path: Path
) -> None:
    trace = tmp_path / "trace"
    step = f'echo "$(pwd -P)" >> {trace}'
    project.define(
        f"""
        parent = define_environment("parent", {{
            "sandbox": fake_sandbox(),
            "files": {{"packages/app/a": ""}},
            "setup": ['{step}', {{"run": '{step}', "cwd": "packages/app"}}],
        }})
        child = parent.extend("child", {{"setup": [{{"run": '{step}', "cwd": "{tmp_path}"}}, '{step}']}})
        """
    )

    reeval("run", "child@fake", "--", "true")

    first, second, third, fourth = trace.read_text().splitlines()
    assert first.endswith("/workspace")
    assert second.endswith("/workspace/packages/app")
    assert third == str(tmp_path)
    assert fourth.endswith("/workspace")


@pytest.fixture
def three(project: Project, reeval: ReevalBuild) -> Built:
    """What is built of an environment with three steps, a file, rules, a variable and a workspace."""
    app = project.repository("app", {"main.txt": "main\n"})
    app.git("tag", "v1.0.0")
    project.write("a.txt", "a\n")
    project.define(
        """
        one = define_environment("one", {
            "sandbox": fake_sandbox(),
            "workspace": git("app", ref="v1.0.0"),
            "files": {"a": file("a.txt")},
            "rules": "Be good.",
            "env": {"NAME": "value"},
            "setup": ["echo 1 > one", {"run": "echo 2 > two", "timeout": "1m"}, "echo 3 > three"],
        })
        """
    )
    return reeval.build()


STEPS = ["setup echo 1 > one", "setup echo 2 > two", "setup echo 3 > three"]


@pytest.mark.conforms("87", "88", "89")
@pytest.mark.parametrize(
    ("old", "new", "steps"),
    [
        ('echo 2 > two"', 'echo II > two"', ["setup echo II > two", STEPS[2]]),
        ('"echo 3 > three"', '"echo 3 > three", "echo 4"', ["setup echo 4"]),
        ('"value"', '"other"', STEPS),
        ('"env": {', '"egress": "deny-all", "env": {', STEPS),
        ('"a.txt"', '"env.py"', STEPS),
        ('"Be good."', '"Be better."', STEPS),
        ('ref="v1.0.0"', 'ref="v1.0.0", init=True', STEPS),
        ('"1m"', '"2m"', []),
    ],
    ids=["edited step", "appended step", "variable", "egress", "file", "rules", "workspace", "time limit"],
)
def test_what_is_changed_runs_again_what_can_see_it(
    project: Project, reeval: ReevalBuild, three: Built, old: str, new: str, steps: list[str]
) -> None:
    assert {label for label in three.ran if label.startswith("setup")} == set(STEPS)
    project.edit("env.py", old, new)

    again = reeval.build()

    assert {label for label in again.ran if label.startswith("setup")} == set(steps)


@pytest.mark.conforms("91")
def test_nothing_of_what_an_environment_places_or_sets_up_is_a_change(reeval: ReevalBuild, three: Built) -> None:
    done = reeval("run", "one@fake", "--", "ls")

    listed = "AGENTS.md\na\nmain.txt\none\nthree\ntwo\n"
    assert done.stdout == f"{listed}one@fake: nothing changed since the snapshot\n"


@pytest.mark.conforms("85", "86")
@pytest.mark.parametrize("step", ["exit 3", {"run": "sleep 1000", "timeout": "100ms"}], ids=["exit code", "time limit"])
def test_of_steps_that_fail_nothing_is_kept_and_nothing_after_them_runs(
    project: Project, reeval: ReevalBuild, tmp_path: Path, step: object
) -> None:
    project.define(
        f"""
        one = define_environment("one", {{
            "sandbox": fake_sandbox(),
            "setup": ["echo first >> {tmp_path}/trace", {step!r}, "echo last >> {tmp_path}/trace"],
        }})
        """
    )

    for _ in range(2):
        failed = reeval.build(code=3)
        assert failed.phases("failed") == ["setup"]
        assert cell_records(failed, reeval.store) == {}

    assert (tmp_path / "trace").read_text() == "first\n"


@pytest.mark.conforms("123", "121", "122", "124")
def test_the_record_of_each_cell_says_what_it_is_of_and_layers_of_one_content_are_one_state(
    project: Project, reeval: ReevalBuild
) -> None:
    app = project.repository("app", {"main.txt": "main\n"})
    project.define(
        """
        workspace = git("app", ref="main")
        whole = define_environment("whole", {
            "sandbox": fake_sandbox(), "workspace": workspace, "env": {"A": "3", "B": "1"}, "rules": "new",
            "setup": ["echo 1", "echo 2"],
        })
        first = define_environment("first", {
            "sandbox": fake_sandbox(), "env": {"A": "1"}, "rules": "old", "setup": ["echo 1"],
        })
        second = first.extend("second", {"env": {"A": "2", "B": "1"}, "setup": ["echo 2"]})
        third = second.extend("third", {"workspace": workspace, "env": {"A": "3"}, "rules": "new"})
        """
    )

    built = reeval.build()

    records = cell_records(built, reeval.store)
    whole, third = records["whole@fake"], records["third@fake"]
    assert (third.environment, third.layers) == ("third", ("first", "second", "third"))
    assert third.overrides == ("env.A", "rules")
    assert whole.overrides == ()
    assert third.env.literals == {"A": "3", "B": "1"}
    assert [step.run for step in third.setup] == ["echo 1", "echo 2"]
    assert third.snapshot == whole.snapshot == built.snapshots["third@fake"]
    assert third.digest == whole.digest
    assert third.key != whole.key
    assert third.workspace is not None
    commit = app.git("rev-parse", "HEAD").strip()
    assert (third.workspace.commit, third.workspace.tree) == (commit, app.git("rev-parse", "HEAD^{tree}").strip())
    (warning,) = third.warnings
    assert "results are not comparable over time" in warning
