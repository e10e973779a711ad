"""The programs of harnesses on a real engine: what installs them sees, who shares them, and that they must work.

Those of npm are real packages of the public registry, the smallest versions that there are: about 12 and 36 MB.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

import pytest

from tests.engine.test_plugin_builds import SOURCE
from tests.sources.npm_world import NEEDS_NPM, needs_public_registry, own_environment
from tests.support.cli import ReevalBuild
from tests.support.engine import node

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    import docker

    from tests.support.engine import PrivateEngine
    from tests.support.projects import Project

BOTH: Final = ("--harness", "codex", "--harness", "goose")
LOCK: Final = "reeval-build.lock"
PROGRAM: Final = "printf '#!/bin/sh\\necho 7\\n' > /bin/agent && chmod 755 /bin/agent"


@pytest.fixture
def reeval(engine: PrivateEngine, project: Project, tmp_path: Path) -> ReevalBuild:
    return ReevalBuild(
        project.directory, tmp_path / "store", env={**own_environment(), "DOCKER_HOST": engine.url, "HOST_SECRET": "s3"}
    )


def install(project: Project, kind: str = "codex", *, smoke: str = "agent", command: str = PROGRAM, more: str = ""):
    """Have a harness be installed by a command."""
    text = f"[tool.reeval-build.harness.{kind}]\ninstall = {json.dumps(command)}\nsmoke = {json.dumps(smoke)}\n{more}\n"
    with (project.directory / "pyproject.toml").open("a") as file:
        file.write(text)


def again(project: Project, **options: str) -> None:
    """Have nothing but this be installed."""
    (project.directory / "pyproject.toml").unlink(missing_ok=True)
    install(project, **options)


def define(project: Project, engine: PrivateEngine, more: str = "") -> None:
    project.define(
        f"""
        e = define_environment("e", {{
            "sandbox": docker(from_="{engine.busybox}", install=["echo installed > /installed"]), {more}
        }})
        """
    )


def see(reeval: ReevalBuild, script: str, *, cell: str = "e@codex") -> str:
    """What a command prints in a sandbox that starts from the snapshot."""
    done = reeval("run", cell, "--", "sh", "-c", script)
    return done.stdout.removesuffix(f"{cell}: nothing changed since the snapshot\n")


@pytest.mark.conforms("109")
def test_it_is_installed_as_root_without_env_on_the_machine_and_setup_has_it(project, reeval, engine):
    define(
        project,
        engine,
        '"setup": ["agent > seen.txt"], "env": {"SEEN": "x", "A": secret.from_env("HOST_SECRET")},',
    )
    install(project, command=f"{{ id -u; pwd; cat /installed; env; }} > /etc/seen; {PROGRAM}")

    built = reeval.build(*BOTH, code=3)

    assert [label for label in built.ran if label.startswith("harness")] == ["harness codex"]
    (of,) = (found["cells"] for found in built.nodes if found["phase"] == "harness")
    assert of == ["e@codex"]
    assert built.snapshots["e@goose"] is None, "nothing installed what its setup calls"
    seen = see(reeval, "cat seen.txt /etc/seen").splitlines()
    assert seen[:4] == ["7", "0", "/", "installed"]
    assert {line.partition("=")[0] for line in seen[4:]} <= {"PATH", "HOME", "HOSTNAME", "PWD", "SHLVL", "OLDPWD"}


@pytest.mark.conforms("fault 15")
def test_cells_share_it_and_so_do_runs(project, reeval, engine):
    define(project, engine)
    with (project.directory / "env.py").open("a") as file:
        file.write('f = e.extend("f", {"rules": "Be brief.", "setup": ["agent"]})\n')
    install(project)

    first, second = reeval.build("--harness", "codex"), reeval.build("--harness", "codex")

    assert first.phases("ran").count("harness") == 1
    assert second.ran == []


@pytest.mark.parametrize(
    "changed",
    [
        {"command": f"{PROGRAM} && true"},
        {"smoke": "agent --version"},
        {"more": 'version = "8"'},
    ],
    ids=["install", "smoke", "version"],
)
def test_what_is_installed_otherwise_runs_again_and_disturbs_nothing_when_it_is_the_same(
    project, reeval, engine, changed
):
    define(project, engine, '"setup": ["agent"],')
    install(project)
    reeval.build("--harness", "codex")
    again(project, **changed)

    assert reeval.build("--harness", "codex").phases("ran") == ["harness"]


@pytest.mark.conforms("fault 17", "fault 18")
def test_other_limits_and_another_workspace_do_not_run_it_again(project, reeval, engine):
    app = project.repository("app", {"main.txt": "1"})
    define(project, engine, '"workspace": git("app"),')
    install(project)
    reeval.build("--harness", "codex")
    app.commit({"main.txt": "2"})
    again(project, more='timeout = "1h"')

    assert reeval.build("--harness", "codex").phases("ran") == ["root", "snapshot", "workspace"]


def test_one_that_does_not_work_fails_its_cells_each_time_and_is_kept_nowhere(project, reeval, engine):
    define(project, engine)
    install(project, smoke="agent && echo it is broken >&2 && exit 9", more='version = "7"')

    for _ in range(2):
        built = reeval.build(*BOTH, code=3)
        message = built.messages[-1]
        assert message.startswith(
            'reeval: env.py: e@codex: harness step "agent && echo it is broken >&2 && exit 9" failed with exit code 9: '
        )
        assert "it is broken" in message
        assert built.labels("failed") == ["harness codex 7"]
        assert built.snapshots["e@goose"] is not None
    again(project, more='version = "7"')
    assert "harness" in reeval.build("--harness", "codex").phases("ran")


def test_a_command_that_fails_ends_it_with_the_end_of_the_log(project, reeval, engine):
    define(project, engine)
    install(project, command="seq 20; exit 5")

    message = reeval.build("--harness", "codex", code=3).messages[-1]

    assert (
        'harness step "seq 20; exit 5" failed with exit code 5: 11 / 12 / 13 / 14 / 15 / 16 / 17 / 18 / 19 / 20 (its'
        in message
    )


def test_a_command_that_takes_too_long_ends_it(project, reeval, engine):
    define(project, engine)
    install(project, command="echo begun; sleep 600", more="timeout = 1")

    message = reeval.build("--harness", "codex", code=3).messages[-1]

    assert 'harness step "echo begun; sleep 600" timed out after 1 s: begun (its output is in ' in message


def test_what_the_program_writes_when_it_is_tried_is_not_kept(project, reeval, engine):
    define(project, engine)
    install(project, smoke="agent && echo tried > /etc/tried")

    reeval.build("--harness", "codex")

    assert see(reeval, "ls /etc/tried 2>&1; agent") == "ls: /etc/tried: No such file or directory\n7\n"


def test_what_is_only_there_while_it_is_installed_does_not_count_as_working(project, reeval, engine):
    define(project, engine)
    install(project, command=f"{PROGRAM} && mv /bin/agent /dev/shm/agent && ln -s /dev/shm/agent /bin/agent")

    assert 'harness step "agent" failed with exit code 127' in reeval.build("--harness", "codex", code=3).stderr


@pytest.mark.conforms("109")
def test_a_plugin_is_built_on_it_for_each_harness(project, reeval, engine):
    for path, text in SOURCE.items():
        project.write(f"greeter/{path}", text)
    define(
        project,
        engine,
        '"plugins": [plugin.local("greeter/plugin", build="mkdir dist && agent > dist/serve && chmod +x dist/serve")],',
    )
    install(project)
    install(project, "goose", command=PROGRAM.replace("echo 7", "echo 8"))

    built = reeval.build(*BOTH)

    assert built.phases("ran").count("plugin-build") == 2
    for cell, said in (("e@codex", "7\n"), ("e@goose", "8\n")):
        assert see(reeval, "cat ~/.reeval/plugins/greeter/dist/serve", cell=cell) == said


def test_records_say_what_is_installed(project, reeval, engine, tmp_path):
    define(project, engine)
    install(project, more='version = "7"')

    reeval.build(*BOTH, "--record-dir", tmp_path / "records")

    records = {path.parent.name: json.loads(path.read_text()) for path in (tmp_path / "records").rglob("record.json")}
    assert [record["harness"] for _, record in sorted(records.items())] == [
        {"kind": "codex", "id": "codex", "installed": "7"},
        {"kind": "goose", "id": "goose", "installed": None},
    ]


# Of npm -------------------------------------------------------------------------------------------------------------


@pytest.fixture
def of_npm(project: Project, engine: PrivateEngine, client: docker.DockerClient, tmp_path: Path) -> Iterator[str]:
    """The name of an image with npm, on which a project installs two harnesses."""
    needs_public_registry(tmp_path)
    image = node.provide(client)
    project.define(f'e = define_environment("e", {{"sandbox": docker(from_="{image}")}})')
    project.write(
        "pyproject.toml",
        '[tool.reeval-build.harness.claude-code]\nversion = "0.2.9"\n'
        '[tool.reeval-build.harness.codex]\nversion = "0.20.0"\n',
    )
    yield image
    client.images.remove(image, force=True)


@NEEDS_NPM
@pytest.mark.conforms("56")
def test_programs_of_npm_are_installed_as_they_are_locked_and_nothing_else_stays(project, reeval, of_npm):
    of_both = ("--harness", "claude-code", "--harness", "codex")

    first, second = reeval.build(*of_both), reeval.build(*of_both, "--frozen")

    assert [label for label in first.ran if label.startswith("harness")] == [
        "harness claude-code 0.2.9",
        "harness codex 0.20.0",
    ]
    assert second.ran == []
    there = "ls -A /tmp; ls -A ~; ls /usr/local/bin; "
    found = see(reeval, f"{there} claude --version", cell="e@claude-code").split()
    assert found == [".bashrc", ".profile", "claude", "npm", "0.2.9"]
    found = see(reeval, f"{there} codex --version", cell="e@codex").split()
    assert found == [".bashrc", ".profile", "codex", "npm", "codex-cli", "0.20.0"]

    lock = project.directory / LOCK
    value = json.loads(lock.read_text())
    other = value["harnesses"]["codex"]["integrity"]
    value["harnesses"]["claude-code"]["integrity"] = other
    lock.write_text(json.dumps(value))
    built = reeval.build("--harness", "claude-code", code=3)

    assert (
        f"@anthropic-ai/claude-code@0.2.9 has other bytes here than {other}, which it is locked as: sha512-"
        in (built.messages[-1])
    )
    assert 'harness step "claude-code 0.2.9" failed with exit code 1' in built.messages[-1]


@NEEDS_NPM
def test_an_image_without_npm_is_said_with_what_to_do(project, reeval, engine, tmp_path):
    needs_public_registry(tmp_path)
    define(project, engine)
    project.write("pyproject.toml", '[tool.reeval-build.harness.codex]\nversion = "0.20.0"\n')

    message = reeval.build("--harness", "codex", code=3).messages[-1]

    assert message.startswith(
        "reeval: env.py: e@codex: harness codex 0.20.0 is installed with npm, and there is no npm in its image (use an "
        "image that has it, such as node:24-bookworm, or install it in an install step of docker(), or write commands "
        "of your own as install in [tool.reeval-build.harness.codex])"
    )
