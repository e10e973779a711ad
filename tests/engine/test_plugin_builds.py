"""A plugin's `build` on a real engine: what it sees, what is taken out of it, and when it runs again."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

import attrs
import pytest

from tests.sources.npm_world import NEEDS_NPM, needs_public_registry, own_environment
from tests.sources.servers import git_over_http
from tests.support.cli import ReevalBuild
from tests.support.projects import Project, Repository

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.support.cli import Built
    from tests.support.engine import PrivateEngine

HARNESSES: Final = ("--harness", "claude-code", "--harness", "codex")
PLACE: Final = "~/.reeval/plugins/greeter"
# Comments go, and so does the difference between sources that differ in their comments only.
COMPILE: Final = (
    "mkdir -p plugin/dist && sed -e '/^# /d' src/serve.in > plugin/dist/serve && chmod 755 plugin/dist/serve"
)
SOURCE: Final = {
    "README.md": "About the greeter.\n",
    "src/serve.in": "#!/bin/sh\n# Says hello.\necho hello\n",
    "plugin/.claude-plugin/plugin.json": '{"name": "greeter"}\n',
    "plugin/.mcp.json": '{"greet": {"command": "${CLAUDE_PLUGIN_ROOT}/dist/serve"}}\n',
    "plugin/skills/greet/SKILL.md": "---\nname: greet\ndescription: Greets.\n---\nGreet.\n",
}


@attrs.define
class Job:
    """A definition with one plugin that is built, out of a repository that is served."""

    project: Project
    source: Repository
    url: str
    image: str
    reeval: ReevalBuild

    def define(
        self,
        *,
        run: list[str] | None = None,
        cwd: str | None = ".",
        options: str = "",
        install: str = "true",
        more: str = "",
    ) -> None:
        """The definition; `options` are more of the plugin's, `more` fields of the environment's."""
        commands = json.dumps([COMPILE] if run is None else run)
        build = f'{{"run": {commands}' + ("}" if cwd is None else f', "cwd": "{cwd}"}}')
        self.project.define(
            f"""
            base = define_environment("base", {{
                "sandbox": docker(from_="{self.image}", install=["{install}"]),
                "plugins": [plugin.git("{self.url}/greeter", path="plugin", build={build}{options})],
                {more}
            }})
            """
        )

    def build(self, *, code: int = 0) -> Built:
        return self.reeval.build(*HARNESSES, code=code)

    def see(self, script: str, *, cell: str = "base@codex") -> str:
        """What a command prints in a sandbox that starts from the snapshot."""
        return self.reeval("run", cell, "--", "sh", "-c", script).stdout.removesuffix(
            f"{cell}: nothing changed since the snapshot\n"
        )


@pytest.fixture
def job(engine: PrivateEngine, tmp_path: Path) -> Iterator[Job]:
    project = Project(tmp_path / "project")
    source = project.repository("served/greeter", SOURCE)
    reeval = ReevalBuild(
        project.directory, tmp_path / "store", env={"DOCKER_HOST": engine.url, "HOST_SECRET": "value of the host"}
    )
    with git_over_http(project.directory / "served") as server:
        made = Job(project, source, server.url, engine.busybox, reeval)
        made.define()
        yield made


@pytest.mark.conforms("109", "102", "103")
def test_what_a_build_leaves_at_its_path_is_the_plugin(job):
    job.define(run=[COMPILE, "echo left > /etc/left; echo left > left.txt; rm README.md"])

    built = job.build()

    assert built.phases("ran").count("plugin-build") == 1
    assert job.see(
        f"cd {PLACE} && find . -type f | sort && dist/serve && ls /etc/left ~/left.txt left.txt 2>&1; true"
    ) == (
        "./.claude-plugin/plugin.json\n./.mcp.json\n./dist/serve\n./skills/greet/SKILL.md\n"
        "hello\n"
        "ls: /etc/left: No such file or directory\n"
        "ls: /root/left.txt: No such file or directory\n"
        "ls: left.txt: No such file or directory\n"
    )
    assert '"/root/.reeval/plugins/greeter/dist/serve"' in job.see("cat ~/.claude.json", cell="base@claude-code")


@pytest.mark.conforms("109")
def test_a_build_is_root_on_the_machine_with_the_whole_source_and_nothing_of_the_environment(job):
    job.define(
        run=["{ id -u; pwd; ls -A ..; cat /etc/machine; env; } > seen.txt"],
        cwd="plugin",
        install="echo a machine > /etc/machine",
        more='"env": {"OF_THE_ENVIRONMENT": "x"}, "files": {"of-the-workspace.txt": "x"}, "setup": ["true"],',
    )

    job.build()

    seen = job.see(f"cat {PLACE}/seen.txt").splitlines()
    assert seen[:2] == ["0", "/workspace/plugin"]
    assert seen[2:6] == ["README.md", "plugin", "src", "a machine"]
    assert {line.partition("=")[0] for line in seen[6:]} <= {"PATH", "HOME", "HOSTNAME", "PWD", "SHLVL", "OLDPWD"}


@pytest.mark.conforms("109")
def test_without_a_cwd_it_runs_in_the_plugin_s_directory(job):
    job.define(run=["pwd > where.txt"], cwd=None)

    job.build()

    assert job.see(f"cat {PLACE}/where.txt") == "/workspace/plugin\n"


@pytest.mark.conforms("109", "fault 15")
def test_a_build_runs_once_for_every_cell_and_every_run(job):
    first = job.build()
    second = job.build()

    assert first.phases("ran").count("plugin-build") == 1
    assert second.ran == []


@pytest.mark.conforms("109")
@pytest.mark.parametrize(
    "changed",
    [
        {"options": ', only=["skills"]'},
        {"more": '"setup": ["true"], "rules": "Be brief.", "env": {"A": "b"}, "files": {"a": "b"},'},
    ],
    ids=["only", "the environment"],
)
def test_what_a_build_does_not_see_does_not_run_it_again(job, changed):
    job.build()
    job.define(**changed)

    again = job.build()

    assert "plugin-build" in again.phases("hit")
    assert again.ran != []


@pytest.mark.conforms("fault 17")
def test_another_workspace_runs_neither_the_machine_nor_the_build_again(job):
    app = job.project.repository("app", {"main.txt": "1"})
    job.define(install="echo a machine > /etc/machine", more='"workspace": git("app"), "setup": ["cat main.txt"],')
    job.build()
    app.commit({"main.txt": "2"})

    again = job.build()

    assert again.phases("ran") == ["root", "setup", "snapshot", "workspace"]
    assert {"base", "install", "plugin", "plugin-build", "source"} <= set(again.phases("hit"))


@pytest.mark.conforms("109", "59", "60")
def test_the_same_source_elsewhere_does_not_run_it_again(job):
    job.build()
    clone = Repository(job.project.directory / "served/elsewhere")
    clone.git("clone", "--quiet", "../greeter", ".")
    clone.commit()
    job.project.edit("env.py", "/greeter", "/elsewhere")

    assert job.build().ran == []


@pytest.mark.conforms("109")
@pytest.mark.parametrize(
    ("files", "above"),
    [
        ({"README.md": "About something else.\n"}, []),
        ({"src/serve.in": "#!/bin/sh\n# Says hello again.\necho hello\n"}, []),
        ({"src/serve.in": "#!/bin/sh\necho good day\n"}, ["plugin", "root", "snapshot"]),
        ({"plugin/notes.txt": "Kept.\n"}, ["plugin", "root", "snapshot"]),
    ],
    ids=["what it does not use", "a comment", "what it uses", "what it keeps"],
)  # fmt: skip
def test_an_edit_of_the_source_runs_it_again_and_disturbs_what_stands_on_other_bytes_only(job, files, above):
    job.build()
    job.source.commit(files)

    again = job.build()

    assert again.phases("ran") == sorted(["source", "plugin-build", *above])


@pytest.mark.conforms("109")
@pytest.mark.parametrize(
    "changed",
    [
        {"run": [COMPILE, "true"]},
        {"run": [COMPILE.replace("plugin/dist", "dist").replace("src/", "../src/")], "cwd": "plugin"},
    ],
    ids=["commands", "cwd"],
)
def test_other_commands_that_leave_the_same_bytes_are_all_that_runs(job, changed):
    job.build()
    job.define(**changed)

    assert job.build().phases("ran") == ["plugin-build"]


@pytest.mark.conforms("109")
def test_another_machine_runs_it_again(job):
    job.build()
    job.define(install="echo another > /etc/machine")

    again = job.build()

    assert again.phases("ran") == ["install", "plugin-build", "root", "snapshot"]


def test_a_build_that_fails_fails_its_cells_alone_and_is_not_kept(job):
    job.define(run=["echo what went wrong; exit 7"])
    text = (job.project.directory / "env.py").read_text()
    job.project.write(
        "env.py", text + f'\nother = define_environment("other", {{"sandbox": docker(from_="{job.image}")}})\n'
    )

    first = job.build(code=3)
    second = job.build(code=3)

    for built in (first, second):
        message = built.messages[-1]
        assert message.startswith("reeval: env.py: base@claude-code, base@codex: ")
        assert 'plugin-build step "echo what went wrong; exit 7" failed with exit code 7' in message
        assert built.labels("failed") == ["plugin-build greeter: echo what went wrong; exit 7"]
    assert first.snapshots["other@codex"] is not None
    log = first.messages[-1].rpartition("its output is in ")[2].removesuffix(")")
    assert job.reeval.store.joinpath(log).read_text() == "what went wrong\n"


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("rm -r plugin", 'left no directory at "plugin"'),
        ("cd / && rm -r /workspace && ln -s /etc /workspace", "left no directory where the source was"),
        ("rm -r plugin && ln -s /etc plugin", 'left no directory at "plugin"'),
        ("ln -s /etc/passwd plugin/link", "is a symbolic link out of its tree"),
        ("rm plugin/.claude-plugin/plugin.json", "is not there, and a plugin needs it"),
        ("rm plugin/.mcp.json", "differs after its build in its parts and its MCP servers"),
        ("mkdir plugin/agents && echo x > plugin/agents/x.md", "differs after its build in its parts"),
    ],
)
def test_what_a_build_must_not_leave_is_refused(job, command, said):
    job.define(run=[command])

    assert said in job.build(code=3).messages[-1]


@NEEDS_NPM
@pytest.mark.conforms("109")
def test_a_published_plugin_is_built(engine: PrivateEngine, tmp_path: Path) -> None:
    needs_public_registry(tmp_path)
    project = Project(tmp_path / "project")
    project.define(
        f"""
        base = define_environment("base", {{
            "sandbox": docker(from_="{engine.busybox}"),
            "plugins": [plugin.npm(
                "agent-reviews@0.7.0", build="sed '/^---$/,/^---$/!d' skills/*/SKILL.md > front-matter.txt"
            )],
        }})
        """
    )
    reeval = ReevalBuild(project.directory, tmp_path / "store", env={**own_environment(), "DOCKER_HOST": engine.url})
    reeval("lock update")

    first, second = (reeval.build(*HARNESSES) for _ in range(2))
    done = reeval("run", "base@codex", "--", "sh", "-c", "cat ~/.reeval/plugins/agent-reviews/front-matter.txt")

    assert first.messages == []
    assert first.phases("ran").count("plugin-build") == 1
    assert second.ran == []
    assert "\nname: agent-reviews\n" in done.stdout
