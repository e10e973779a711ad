"""Setup steps that declare what they read: when they run, and what they leave."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.support.cli import ReevalBuild

if TYPE_CHECKING:
    from tests.support.projects import Project, Repository

INSTALL = 'step("mkdir -p deps; cp package.json deps/; ls -A > deps/seen", inputs=["package.json", "lock"])'


@pytest.fixture
def code(project: Project) -> Repository:
    """A project whose one environment installs what two files say, then builds everything."""
    code = project.repository(
        "code", {"package.json": "{}\n", "lock": "1\n", "src/main.py": "main\n", ".gitignore": "deps/\n"}
    )
    project.write("env.py", "from reeval_build import define_environment, fake_sandbox, file, git, step\n" + f"""
base = define_environment("base", {{
    "sandbox": fake_sandbox(),
    "workspace": git("./code"),
    "rules": "Be brief.\\n",
    "setup": [{INSTALL}, "cat src/main.py deps/package.json > built"],
}})
""")  # fmt: skip
    return code


def ran(reeval: ReevalBuild, *arguments: str) -> list[str]:
    return [what for what in reeval.build(*arguments).phases("ran") if what in {"setup", "root"}]


def test_a_step_sees_only_what_it_declares_and_leaves_it_in_the_whole(
    project: Project, reeval: ReevalBuild, code: Repository
) -> None:
    done = reeval("run", "base@fake", "--", "sh", "-c", "cat deps/seen built; echo new > src/new.py")

    assert done.stdout.splitlines() == [
        *("deps", "lock", "package.json", "main", "{}"),
        "base@fake: 1 changed since the snapshot",
        "  added    src/new.py",
    ]


def test_an_edit_of_what_a_step_does_not_declare_does_not_run_it_again(
    project: Project, reeval: ReevalBuild, code: Repository
) -> None:
    assert ran(reeval) == ["root", "setup", "setup"]
    code.commit({"src/main.py": "edited\n", "src/more.py": "more\n"})

    assert ran(reeval) == ["root", "setup"]
    assert reeval("run", "base@fake", "--", "cat", "built").stdout.startswith("edited\n{}\n")


@pytest.mark.parametrize("path", ["package.json", "lock"])
def test_an_edit_of_what_a_step_declares_runs_it_again(
    project: Project, reeval: ReevalBuild, code: Repository, path: str
) -> None:
    reeval.build()
    code.commit({path: "[]\n"})

    assert ran(reeval) == ["root", "setup", "setup"]


def test_harnesses_with_different_rules_share_a_step_that_does_not_declare_them(
    project: Project, reeval: ReevalBuild, code: Repository
) -> None:
    built = reeval.build("--harness", "claude-code", "--harness", "codex")

    assert built.phases("ran").count("root") == 2
    assert sorted(node["status"] for node in built.nodes if node["label"].startswith("mkdir")) == [
        *("hit", "ran", "ran", "ran"),
    ]


def test_a_step_that_writes_what_the_whole_has_wins(project: Project, reeval: ReevalBuild, code: Repository) -> None:
    project.edit("env.py", "mkdir -p deps;", "mkdir -p deps; echo mine > AGENTS.md; echo mine > src;")
    project.edit("env.py", "cat src/main.py", "cat src AGENTS.md")

    assert reeval("run", "base@fake", "--", "cat", "built").stdout.startswith("mine\nmine\n{}\n")


def test_a_step_without_any_input_sees_an_empty_workspace(
    project: Project, reeval: ReevalBuild, code: Repository
) -> None:
    project.edit("env.py", INSTALL, 'step("ls -A > empty; mkdir deps; touch deps/package.json", inputs=[])')

    assert reeval("run", "base@fake", "--", "sh", "-c", "cat empty; test -e src").stdout.startswith("empty\nbase@fake")


def test_what_an_earlier_step_made_can_be_declared(project: Project, reeval: ReevalBuild, code: Repository) -> None:
    project.edit("env.py", '"cat src/main.py deps/package.json > built"', 'step("ls deps > built", inputs=["deps"])')

    assert reeval("run", "base@fake", "--", "cat", "built").stdout.startswith("package.json\nseen\n")


def test_an_input_that_is_not_there_fails_the_cells_that_need_it_by_its_name(
    project: Project, reeval: ReevalBuild, code: Repository
) -> None:
    project.edit("env.py", '"lock"]', '"yarn.lock"]')
    project.define('good = define_environment("good", {"sandbox": fake_sandbox()})', path="good.py")

    built = reeval.build(code=3)

    message = built.messages[-1]
    assert message == (
        'reeval: env.py: base@fake: the input "yarn.lock" of the setup step "mkdir -p deps; cp package.json deps/; '
        'ls -A > deps/seen" is not in the workspace (what steps before it make is there, and so are files and rules)'
    )
    assert built.snapshots["good@fake"] is not None


def test_a_step_that_fails_on_what_it_cannot_see_fails(project: Project, reeval: ReevalBuild, code: Repository) -> None:
    project.edit("env.py", "mkdir -p deps;", "cat src/main.py || exit 5; mkdir -p deps;")

    assert "failed with exit code 5" in reeval.build(code=3).messages[-1]


def test_a_definition_with_inputs_that_is_written_as_json_is_built_alike(
    project: Project, reeval: ReevalBuild, code: Repository
) -> None:
    first = reeval.build("env.py")
    exporting = ReevalBuild(project.directory, reeval.store, names_store=False)
    project.write("env.json", exporting("export", "env.py").stdout)

    second = reeval.build("env.json")

    assert second.ran == []
    assert second.snapshots == first.snapshots
