"""Images and install steps of the whole program, on a real engine: what is built once, and what is built again."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from tests.support.cli import ReevalBuild

if TYPE_CHECKING:
    from pathlib import Path

    import docker

    from tests.support.engine import PrivateEngine
    from tests.support.projects import Project

VALUE = "a-literal-value-of-env"
SECRET = "the-value-of-a-secret"


@pytest.fixture
def reeval(engine: PrivateEngine, project: Project, tmp_path: Path) -> ReevalBuild:
    return ReevalBuild(project.directory, tmp_path / "store", env={"DOCKER_HOST": engine.url, "HOST_SECRET": SECRET})


@pytest.mark.conforms("74", "77", "79", "81", "82")
def test_an_image_and_its_install_are_built_once_as_root_and_see_no_env(
    project: Project, reeval: ReevalBuild, engine: PrivateEngine
) -> None:
    project.define(
        f"""
        from reeval_build import secret

        one = "id -u > /who; pwd >> /who; env > /seen"
        two = "echo 2 > /two"
        image = docker(from_="{engine.busybox}", install=[one, two])
        parent = define_environment("parent", {{
            "sandbox": image, "env": {{"SEEN": "{VALUE}", "A_SECRET": secret.from_env("HOST_SECRET")}},
        }})
        kept = parent.extend("kept", {{"rules": "kept"}})
        other = define_environment("other", {{
            "sandbox": docker(from_="{engine.busybox}", install=[{{"run": one, "timeout": "10m"}}, two]),
        }})
        bare = parent.extend("bare", {{"sandbox": docker(from_="{engine.busybox}")}})
        """
    )

    built = reeval.build()

    assert built.phases("ran").count("base") == 1
    assert built.phases("ran").count("install") == 2
    (copied,) = (node["cells"] for node in built.nodes if node["label"] == "echo 2 > /two")
    assert copied == ["parent@fake", "kept@fake", "other@fake"]
    seen = reeval("run", "kept@fake", "--", "cat", "/who", "/seen").stdout
    assert seen.startswith("0\n/\n")
    assert [text for text in (VALUE, "SEEN", SECRET, "SECRET") if text in seen] == []
    reeval("run", "bare@fake", "--", "test", "-e", "/who", code=1)

    project.edit("env.py", "install=[one, two])\n", "install=[two, one])\n")
    again = reeval.build()
    assert again.phases("ran").count("install") == 2
    assert {name for node in again.nodes if node["status"] == "ran" for name in node["cells"]} == {
        "parent@fake",
        "kept@fake",
    }


@pytest.mark.conforms("75", "76", "fault 7")
def test_an_image_is_built_on_again_when_its_lock_moves_and_not_when_its_name_changes(
    project: Project, reeval: ReevalBuild, engine: PrivateEngine, client: docker.DockerClient
) -> None:
    def tag(content: str, name: str) -> None:
        container = client.containers.create(engine.busybox, ["sh", "-c", f"echo {content} > /content"])
        container.start()
        container.wait()
        container.commit(f"reeval-build-test/{name}", "1")
        container.remove()

    tag("old", "moving")
    tag("old", "renamed")
    project.define(
        """
        one = define_environment("one", {
            "sandbox": docker(from_="reeval-build-test/moving:1", install=["cp /content /installed"]),
            "setup": ["cp /installed copy"],
        })
        """
    )
    first = reeval.build()
    project.edit("env.py", "moving", "renamed")
    client.api.tag("reeval-build-test/moving:1", "reeval-build-test/renamed", "1")
    renamed = reeval.build()
    project.edit("env.py", "renamed", "moving")
    tag("new", "moving")

    locked = reeval.build()
    reeval("lock update", "reeval-build-test/moving:1")
    moved = reeval.build()

    assert renamed.ran == locked.ran == []
    assert locked.value["cells"][0]["key"] == first.value["cells"][0]["key"]
    assert "image 'reeval-build-test/moving:1' is used as reeval-build.lock has it" in locked.stderr
    assert renamed.value["cells"][0]["key"] == first.value["cells"][0]["key"]
    assert moved.phases("ran") == ["base", "install", "root", "setup", "snapshot"]
    assert moved.value["cells"][0]["key"] != first.value["cells"][0]["key"]
    assert reeval("run", "one@fake", "--", "cat", "copy").stdout.startswith("new\n")


@pytest.mark.conforms("80")
def test_no_image_container_or_label_has_a_value_of_env_or_of_a_secret(
    project: Project, reeval: ReevalBuild, engine: PrivateEngine, client: docker.DockerClient
) -> None:
    project.define(
        f"""
        from reeval_build import secret

        one = define_environment("one", {{
            "sandbox": docker(from_="{engine.busybox}", install=["true"]),
            "env": {{"SEEN": "{VALUE}", "A_SECRET": secret.from_env("HOST_SECRET")}},
            "setup": ["echo $SEEN$A_SECRET | wc -c > length"],
        }})
        """
    )

    done = reeval("run", "one@fake", "--", "sh", "-c", "cat length; echo $SEEN")

    assert done.stdout.startswith(f"{len(VALUE + SECRET) + 1}\n{VALUE}\n")
    assert client.containers.list(all=True) == []
    for image in client.api.images(all=True):
        said = [client.api.inspect_image(image["Id"]), client.api.history(image["Id"])]
        assert VALUE not in json.dumps(said)
        assert SECRET not in json.dumps(said)
