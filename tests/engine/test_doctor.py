"""What `reeval-build doctor` finds in a real engine, and what it removes."""

from __future__ import annotations

import json
import subprocess
from contextlib import closing
from typing import TYPE_CHECKING

import docker
import pytest

from reeval_build.engines.docker.containers import OWNER_LABEL
from reeval_build.engines.docker.images import REPOSITORY, STATE_LABEL
from reeval_build.engines.owner import current_owner
from tests.support.cli import ReevalBuild
from tests.support.projects import Project

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.support.engine import PrivateEngine


@pytest.fixture
def client(engine: PrivateEngine) -> Iterator[docker.DockerClient]:
    """Nothing of what a test made is there for the next one."""
    with closing(docker.DockerClient(base_url=engine.url)) as made:
        yield made
        for container in made.containers.list(all=True):
            container.remove(force=True)
        if made.images.list("not-of-ours/state"):
            made.images.remove("not-of-ours/state:kept")


@pytest.fixture
def reeval(engine: PrivateEngine, tmp_path: Path) -> ReevalBuild:
    project = Project(tmp_path / "project")
    project.define(
        f"""
        one = define_environment("one", {{"sandbox": docker(from_="{engine.busybox}"), "setup": ["echo 1 > one"]}})
        """
    )
    return ReevalBuild(project.directory, tmp_path / "store", env={"DOCKER_HOST": engine.url})


def findings(reeval: ReevalBuild, *options: str) -> list[tuple[str, str]]:
    """The verdict and the text of each thing that was found in the engine."""
    found = json.loads(reeval("doctor", "--json", *options).stdout)["findings"]
    return [(one["verdict"], one["text"]) for one in found if one["about"] in {"engine", "images"}]


def owned(client: docker.DockerClient, engine: PrivateEngine, owner: str) -> str:
    """The name of a container that this process is said to have made."""
    made = client.containers.create(engine.busybox, "true", labels={OWNER_LABEL: owner})
    assert made.name is not None
    return made.name


def dead_owner() -> str:
    with subprocess.Popen(["true"]) as process:
        place, _pid, start = current_owner().split(":")
        return f"{place}:{process.pid}:{int(start) + 1}"


def test_containers_of_killed_runs_are_shown_then_removed_and_those_of_others_never(engine, client, reeval):
    left, used = owned(client, engine, dead_owner()), owned(client, engine, current_owner())
    strange = client.containers.create(engine.busybox, "true").name

    shown = findings(reeval)
    fixed = findings(reeval, "--fix")

    assert ("left", f"container {left} was left by a killed run") in shown
    assert ("removed", f"container {left}") in fixed
    assert ("well", f"container {used} is in use by a process that runs") in fixed
    assert {one.name for one in client.containers.list(all=True)} == {used, strange}


def test_images_of_states_are_removed_on_request_and_made_again_without_running_a_step(engine, client, reeval):
    reeval.build()
    client.images.get(engine.busybox).tag("not-of-ours/state", "kept")
    before = {tag for image in client.images.list() for tag in image.tags}
    ours = {tag for tag in before if tag.startswith(f"{REPOSITORY}:")}
    assert ours

    shown = findings(reeval)
    removed = findings(reeval, "--remove-images")

    assert ("well", f"{len(ours)} of states, which are made again when they are needed") in shown
    assert ("removed", f"{len(ours)} of {len(ours)} images of states") in removed
    assert {tag for image in client.images.list() for tag in image.tags} == before - ours
    assert reeval("run", "one@fake", "--", "cat", "one").stdout.startswith("1\n")
    assert reeval.build().ran == []


def test_an_image_that_a_container_runs_stays(engine, client, reeval):
    reeval.build()
    name = next(tag for image in client.images.list() for tag in image.tags if tag.startswith(f"{REPOSITORY}:"))
    client.containers.create(name, "true")

    findings(reeval, "--remove-images")

    assert [tag for image in client.images.list() for tag in image.tags if tag.startswith(f"{REPOSITORY}:")] == [name]


def test_images_that_a_process_owns_and_those_with_no_name_of_ours_stay_and_are_not_counted(engine, client, reeval):
    findings(reeval, "--remove-images")
    before = [one for one in findings(reeval) if "of states" in one[1]]
    base = client.containers.create(engine.busybox, "true")
    private = [f"LABEL {STATE_LABEL}=1", f"LABEL {OWNER_LABEL}={current_owner()}"]
    base.commit(repository=REPOSITORY, tag="private", changes=private)
    base.commit(repository="not-of-ours/state", tag="kept", changes=[f"LABEL {STATE_LABEL}=2"])
    base.remove()

    shown = [one for one in findings(reeval) if "of states" in one[1]]
    removed = findings(reeval, "--remove-images")

    assert shown == before
    assert ("removed", f"0 of {len(before)} images of states") in removed
    tags = {tag for image in client.images.list() for tag in image.tags}
    assert {f"{REPOSITORY}:private", "not-of-ours/state:kept"} <= tags
