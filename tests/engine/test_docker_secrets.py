"""Secrets on a container engine: in commands, and in nothing that it has left afterwards."""

from __future__ import annotations

import json
import re
from contextlib import closing
from typing import TYPE_CHECKING

import docker
import pytest

from reeval_build.plan.secrets import placeholder
from tests.support.cli import ReevalBuild
from tests.support.projects import Project
from tests.support.secrecy import places
from tests.support.workbench import Workbench, run

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.support.engine import PrivateEngine

TOKEN = "hunter2-f00d"
OTHER = "quite-another-value"


@pytest.fixture
def client(engine: PrivateEngine) -> Iterator[docker.APIClient]:
    with closing(docker.APIClient(base_url=engine.url)) as made:
        yield made


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path / "project")


@pytest.fixture
def reeval(engine: PrivateEngine, tmp_path: Path, project: Project) -> ReevalBuild:
    variables = {"DOCKER_HOST": engine.url, "TOKEN": TOKEN, "CHECK": OTHER, "BROKERED": "a brokered value"}
    return ReevalBuild(project.directory, tmp_path / "store", env=variables)


def define(project: Project, engine: PrivateEngine, *setup: str) -> None:
    project.define(
        f"""
        from reeval_build import secret

        base = define_environment("base", {{
            "sandbox": docker(from_="{engine.busybox}", install=["env > /installed"]),
            "env": {{
                "TOKEN": secret(), "CHECK": secret(to="checks"), "BROKERED": secret(hosts=["h"]),
                "ABSENT": secret(optional=True),
            }},
            "setup": {list(setup)!r},
        }})
        """
    )


def all_that_is_left(client: docker.APIClient) -> str:
    """Everything that the engine says of its images and containers."""
    images = [client.inspect_image(image["Id"]) for image in client.images(all=True)]
    histories = [client.history(image["Id"]) for image in client.images(all=True)]
    containers = [client.inspect_container(container["Id"]) for container in client.containers(all=True)]
    return json.dumps([images, histories, containers])


@pytest.mark.conforms("20", "21", "22", "79", "80")
def test_commands_have_what_they_are_to_see_and_images_have_nothing(engine, client, project, reeval):
    define(
        project,
        engine,
        "env > seen; ! grep -q TOKEN /installed",
        "sed -i s/hunter2/HUNTER2/ seen; sed -i s/quite/QUITE/ seen",
    )

    built = reeval.build()
    done = reeval("run", "base@fake", "--", "sh", "-c", "cat seen; echo --; env")

    # The step that leaves the values is not kept, and so the one that hides them is not either.
    assert [cell["kept"] for cell in built.value["cells"]] == [False]
    setup, agent = (
        set(re.findall("^(?:TOKEN|CHECK|BROKERED|ABSENT)=.*$", part, re.MULTILINE))
        for part in done.stdout.split("--\n")
    )
    brokered = f"BROKERED={placeholder('BROKERED')}"
    assert setup == {"TOKEN=HUNTER2-f00d", "CHECK=QUITE-another-value", brokered}
    assert agent == {"TOKEN=[secret TOKEN]", brokered}
    left = all_that_is_left(client)
    assert not re.search(f"{TOKEN}|{OTHER}|brokered value|BROKERED|HUNTER2", left)
    assert [places(reeval.store, value) for value in (TOKEN, OTHER, "a brokered value")] == [[], [], []]


@pytest.mark.conforms("29")
def test_a_state_with_a_value_in_it_is_used_and_then_gone_from_the_engine(engine, client, project, reeval):
    define(
        project,
        engine,
        "echo before > before",
        "echo $TOKEN > .npmrc; echo $TOKEN > /root/netrc",
        "wc -c < .npmrc > after",
    )
    reeval("lock update")

    built = reeval.build()
    done = reeval("run", "base@fake", "--", "cat", ".npmrc", "after", "/root/netrc")

    assert done.stdout.splitlines()[:3] == ["[secret TOKEN]", "13", "[secret TOKEN]"]
    (warning,) = built.messages
    assert "leaves the value of env.TOKEN in root/netrc, workspace/.npmrc: " in warning
    kept = {node["label"]: node["kept"] for node in built.nodes if node["phase"] == "setup"}
    assert list(kept.values()) == [True, False, False]
    assert places(reeval.store, TOKEN) == []
    assert_no_state_has_the_value(client)


@pytest.mark.conforms("29")
def test_so_is_one_that_a_step_left_that_declares_what_it_reads(engine, client, project, reeval):
    project.define(
        f"""
        from reeval_build import secret, step

        base = define_environment("base", {{
            "sandbox": docker(from_="{engine.busybox}"),
            "files": {{"before": "b", "other": "o"}},
            "env": {{"TOKEN": secret()}},
            "setup": [
                step("echo $TOKEN > .npmrc; echo $TOKEN > /root/netrc", inputs=["before"]),
                step("cat /root/netrc .npmrc | wc -c > after; ls -A >> after", inputs=[".npmrc"]),
                "cat other >> after",
            ],
        }})
        """
    )

    built = reeval.build()
    done = reeval("run", "base@fake", "--", "cat", ".npmrc", "after", "/root/netrc")

    assert done.stdout.split()[:6] == ["[secret", "TOKEN]", "26", ".npmrc", "after", "o[secret"]
    kept = [node["kept"] for node in built.nodes if node["phase"] in {"inputs", "setup", "merge"}]
    assert kept == [True, *[False] * 6]
    assert places(reeval.store, TOKEN) == []
    assert_no_state_has_the_value(client)


def assert_no_state_has_the_value(client: docker.APIClient) -> None:
    states = [
        tag for image in client.images(all=True) for tag in image["RepoTags"] or () if "reeval-build/state" in tag
    ]
    for tag in states:
        container = client.create_container(tag, ["cat", "/workspace/.npmrc", "/root/netrc"])
        client.start(container)
        client.wait(container)
        assert TOKEN.encode() not in client.logs(container)
        client.remove_container(container)
    assert not [image for image in client.images(all=True) if "reeval-build.owner" in (image["Labels"] or {})]


@pytest.mark.conforms("fault 46")
def test_a_kept_build_leaves_no_value_anywhere(engine, client, project, reeval):
    define(project, engine, "echo $TOKEN; echo made > made")
    reeval("lock update")

    built = reeval.build()

    assert built.messages == []
    assert TOKEN not in built.stdout + built.stderr + all_that_is_left(client)
    assert places(reeval.store, TOKEN) == []
    assert reeval.build().ran == []


@pytest.mark.conforms("fault 46")
def test_a_container_that_is_committed_has_no_variable_of_a_command(engine, client, tmp_path):
    with closing(Workbench(engine.url, tmp_path)) as bench, bench.sandbox(bench.base(engine.busybox)) as sandbox:
        assert run(sandbox, "echo $LOCATION", LOCATION=TOKEN).stdout == f"{TOKEN}\n".encode()
        image = client.commit(sandbox.container)["Id"]
    left = all_that_is_left(client)
    client.remove_image(image)

    assert image in left
    assert TOKEN not in left


def test_a_value_that_no_engine_takes_is_named_and_not_shown(engine, project, reeval):
    define(project, engine, "true")
    reeval.env["TOKEN"] = b"\xff-hunter2".decode("utf-8", "surrogateescape")

    built = reeval.build(code=3)

    assert "the value of TOKEN is not valid Unicode" in built.stderr
    assert "hunter2" not in built.stdout + built.stderr
