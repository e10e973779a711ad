"""Locked images, with a real engine and real registries: what is pulled, by what, and what is refused."""

from __future__ import annotations

import json
import shutil
from typing import TYPE_CHECKING, Any

import pytest

from tests.support.cli import ReevalBuild
from tests.support.engine.registries import PASSWORD, Registry, credentials, registry_with_password

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    import docker

    from tests.support.engine import PrivateEngine
    from tests.support.projects import Project

LOCK = "reeval-build.lock"


@pytest.fixture
def reeval(engine: PrivateEngine, project: Project, tmp_path: Path) -> ReevalBuild:
    return ReevalBuild(project.directory, tmp_path / "store", env={"DOCKER_HOST": engine.url})


@pytest.fixture
def registry(engine: PrivateEngine) -> Registry:
    return Registry(address=engine.registry)


def define(project: Project, image: str, *, step: str = "cat /content > copy") -> None:
    project.define(f'one = define_environment("one", {{"sandbox": docker(from_="{image}"), "setup": ["{step}"]}})')


def commit(client: docker.DockerClient, engine: PrivateEngine, repository: str, content: str) -> None:
    """Have `repository`:1 be an image of the engine with `content` in a file."""
    container = client.containers.create(engine.busybox, ["sh", "-c", f"echo {content} > /content"])
    container.start()
    container.wait()
    container.commit(repository, "1")
    container.remove()


def publish(client: docker.DockerClient, engine: PrivateEngine, name: str, content: str) -> str:
    """Have the registry, and no longer the engine, have `content` under a name, which is returned."""
    there = f"{engine.registry}/{name}"
    commit(client, engine, there, content)
    assert '"error"' not in client.images.push(there, "1")
    client.images.remove(f"{there}:1", force=True)
    return f"{there}:1"


def forget_images(client: docker.DockerClient, engine: PrivateEngine) -> None:
    """Have the engine be one that was never used."""
    for image in client.api.images(quiet=True):
        client.images.remove(image, force=True)


def locked(project: Project) -> dict[str, Any]:
    images: dict[str, Any] = json.loads((project.directory / LOCK).read_text())["images"]
    return images


def said_by(reeval: ReevalBuild, *arguments: str) -> str:
    return reeval("run", "one@fake", *arguments, "--", "cat", "copy").stdout.splitlines()[0]


@pytest.mark.conforms("fault 7")
def test_another_machine_builds_on_the_same_bytes_when_the_tag_has_moved(project, reeval, engine, client, tmp_path):
    name = publish(client, engine, "team", "old")
    define(project, name)
    first = reeval.build()
    publish(client, engine, "team", "new")
    forget_images(client, engine)
    other = ReevalBuild(project.directory, tmp_path / "other-store", env=reeval.env)

    built = other.build("--frozen")

    assert built.keys == first.keys
    assert built.snapshots == first.snapshots
    assert said_by(other, "--frozen") == "old"
    assert client.images.list(name) == [], "no tag of the user's was made"


def test_a_locked_image_is_pulled_when_something_runs_on_it_and_not_before(project, reeval, engine, client):
    name = publish(client, engine, "lazy", "old")
    define(project, name)
    reeval.build()
    publish(client, engine, "lazy", "new")
    forget_images(client, engine)

    assert reeval.build().ran == []
    assert client.images.list() == []

    define(project, name, step="cat /content /content > copy")
    assert reeval.build().phases("ran") == ["setup", "snapshot"]
    assert said_by(reeval) == "old"


def test_check_says_what_moved_upstream_and_update_moves_it(project, reeval, engine, client):
    name = publish(client, engine, "upstream", "old")
    define(project, name)
    reeval.build()
    before = locked(project)
    reeval.names_store = False
    assert json.loads(reeval("lock check", "--upstream", "--json").stdout)["moved"] == []
    publish(client, engine, "upstream", "new")

    (moved,) = json.loads(reeval("lock check", "--upstream", "--json").stdout)["moved"]

    reeval.names_store = True
    assert moved["locked"] == before[name]["linux/amd64"]["digest"]
    assert reeval.build().ran == []
    said = reeval("lock update", name).stdout
    assert said == f"{name} linux/amd64  {moved['now'][:19]}, was {moved['locked'][:19]}\n"
    assert locked(project)[name]["linux/amd64"]["digest"] == moved["now"]
    assert "setup" in reeval.build().phases("ran")
    assert said_by(reeval) == "new"


def test_what_was_pulled_before_is_used_when_the_engines_tag_moves(project, reeval, engine, client):
    name = publish(client, engine, "retagged", "old")
    define(project, name)
    reeval.build()
    commit(client, engine, name.removesuffix(":1"), "new")
    define(project, name, step="cat /content /content > copy")

    built = reeval.build()

    assert f"image '{name}' is used as {LOCK} has it, and the engine has another one of that name" in built.stderr
    assert said_by(reeval) == "old"


def test_an_image_that_only_the_engine_has_is_found_by_its_id_until_it_is_gone(project, reeval, engine, client):
    name = "reeval-build-test/own:1"
    commit(client, engine, "reeval-build-test/own", "old")
    define(project, name)
    assert "no registry is known to have it" in reeval.build().stderr
    old = locked(project)[name]["linux/amd64"]["image"]
    commit(client, engine, "reeval-build-test/own", "new")
    define(project, name, step="cat /content /content > copy")
    reeval.build()
    assert said_by(reeval) == "old"

    forget_images(client, engine)
    assert reeval.build().ran == []
    define(project, name, step="cat /content /content /content > copy")
    lost = reeval.build(code=3)

    assert not [image for image in client.images.list(all=True) if image.id == old]
    (message,) = lost.messages
    assert f"image '{name}' is locked as an engine had it, no registry is known to have that" in message
    assert f"`reeval-build lock update {name}`" in message


def test_a_content_that_is_not_that_of_its_digest_is_refused(project, reeval, engine, client):
    names = [publish(client, engine, f"mixed-{content}", content) for content in ("one", "two")]
    for name in names:
        define(project, name)
        reeval.build()
    lock = json.loads((project.directory / LOCK).read_text())
    one, two = (lock["images"][name]["linux/amd64"] for name in names)
    two["content"] = one["content"][::-1]
    (project.directory / LOCK).write_text(json.dumps(lock))

    done = reeval.build(code=3)

    assert f"image '{names[1]}' is locked as a content that" in done.stderr


def test_an_image_that_cannot_be_had_as_it_is_locked_fails_its_cells(project, reeval, engine, client):
    name = publish(client, engine, "gone", "old")
    define(project, name)
    reeval.build()
    lock = (project.directory / LOCK).read_text()
    (project.directory / LOCK).write_text(lock.replace(locked(project)[name]["linux/amd64"]["digest"][7:], "0" * 64))
    forget_images(client, engine)
    define(project, name, step="cat /content /content > copy")

    done = reeval.build("--frozen", code=3)

    assert f"image '{name.removesuffix(':1')}@sha256:{'0' * 64}' is not in the engine and could not be" in done.stderr


@pytest.fixture
def index(registry: Registry, engine: PrivateEngine, client: docker.DockerClient) -> str:
    """The name of an index for two platforms."""
    publish(client, engine, "platforms", "common")
    parts = {
        architecture: registry.put_image_on(
            "platforms", "1", architecture=architecture, files={"content": f"{architecture}\n".encode()}
        )
        for architecture in ("amd64", "arm64")
    }
    registry.put_index("platforms", "both", parts)
    return f"{engine.registry}/platforms:both"


def test_a_platform_is_an_input(project, reeval, engine, client, index):
    define(project, index)

    plain = reeval.build()
    other = reeval.build("--platform", "linux/arm64")

    assert set(plain.keys.values()) & set(other.keys.values()) == set()
    assert said_by(reeval) == "amd64"
    assert said_by(reeval, "--platform", "linux/arm64") == "arm64"
    assert locked(project)[index].keys() == {"linux/amd64", "linux/arm64"}
    assert client.images.get(index).attrs["Architecture"] == "amd64", "the user's tag is where it was"
    assert reeval.build("--frozen").ran == reeval.build("--frozen", "--platform", "linux/arm64").ran == []


def test_every_platform_is_pulled_as_it_is_locked(project, reeval, engine, client, index):
    define(project, index)
    for platform in ("linux/amd64", "linux/arm64"):
        reeval.build("--platform", platform)
    shutil.rmtree(reeval.store)

    for platform in ("linux/arm64", "linux/amd64", "linux/arm64"):
        if platform == "linux/amd64":
            forget_images(client, engine)
        reeval.build("--frozen", "--platform", platform)
        assert said_by(reeval, "--frozen", "--platform", platform) == platform.removeprefix("linux/")


def test_doctor_removes_the_names_that_we_gave(project, reeval, engine, client, index):
    define(project, index)
    for platform in ("linux/amd64", "linux/arm64"):
        reeval.build("--platform", platform)
    names = {name for image in client.images.list() for name in image.tags}
    assert [name for name in names if name.startswith("reeval-build/base:")] != []

    reeval("doctor", "--remove-images")

    left = {name for image in client.images.list() for name in image.tags}
    assert left == {name for name in names if not name.startswith("reeval-build/")}


def test_update_moves_every_platform_that_is_locked(project, reeval, engine, client, registry, index):
    define(project, index)
    for platform in ("linux/amd64", "linux/arm64"):
        reeval.build("--platform", platform)
    before = locked(project)[index]
    parts = {
        architecture: registry.put_image_on(
            "platforms", "1", architecture=architecture, files={"content": f"new {architecture}\n".encode()}
        )
        for architecture in before_architectures(before)
    }
    digest = registry.put_index("platforms", "both", parts)

    reeval("lock update")

    after = locked(project)[index]
    assert [after[platform]["digest"] for platform in sorted(after)] == [digest] * 2
    assert all(after[platform]["content"] != before[platform]["content"] for platform in before)
    assert "setup" in reeval.build("--platform", "linux/arm64").phases("ran")
    assert said_by(reeval, "--platform", "linux/arm64") == "new arm64"
    assert said_by(reeval) == "new amd64"


def before_architectures(platforms: dict[str, Any]) -> list[str]:
    return [platform.removeprefix("linux/") for platform in sorted(platforms)]


@pytest.mark.parametrize("kind", ["an index", "one manifest", "only in the engine"])
@pytest.mark.parametrize("is_there", [False, True])
def test_a_platform_that_is_not_there_is_a_mistake_that_names_what_is(
    project, reeval, engine, client, index, kind, is_there
):
    name, offered = {
        "an index": (index, "linux/amd64, linux/arm64"),
        "one manifest": (engine.registry_busybox, "linux/amd64"),
        "only in the engine": (engine.busybox, "linux/amd64"),
    }[kind]
    if is_there and kind != "only in the engine":
        client.images.pull(name)
    define(project, name)

    done = reeval("build", "--platform", "linux/s390x", code=2)

    (message,) = done.messages
    assert message.startswith(f"reeval: image '{name}' is not there for linux/s390x: it is there for {offered} (")
    assert not (project.directory / LOCK).exists()


@pytest.fixture
def guarded(engine: PrivateEngine, client: docker.DockerClient, tmp_path: Path) -> Iterator[str]:
    """The name of an image in a registry that wants a password."""
    directory = tmp_path / "guarded"
    directory.mkdir()
    with registry_with_password(engine, directory) as registry:
        there = f"{registry.address}/guarded"
        commit(client, engine, there, "guarded")
        said = client.images.push(there, "1", auth_config={"username": "reader", "password": PASSWORD})
        assert '"error"' not in said
        client.images.remove(f"{there}:1", force=True)
        yield f"{there}:1"


@pytest.fixture
def config(tmp_path: Path, reeval: ReevalBuild) -> Path:
    """Where the docker configuration of the command is."""
    directory = tmp_path / "docker-config"
    directory.mkdir()
    reeval.env["DOCKER_CONFIG"] = str(directory)
    return directory / "config.json"


HELPER = """\
#!/bin/sh
read -r server
case "$1 $server" in
"get ADDRESS") OUTPUT ;;
*) echo "credentials not found in native keychain"; exit 1 ;;
esac
"""


def have_helper(config: Path, reeval: ReevalBuild, address: str, output: str) -> None:
    programs = config.parent / "bin"
    programs.mkdir()
    helper = programs / "docker-credential-tests"
    helper.write_text(HELPER.replace("ADDRESS", address).replace("OUTPUT", output))
    helper.chmod(0o755)
    config.write_text(json.dumps({"credHelpers": {address: "tests"}}))
    reeval.env["PATH"] = f"{programs}:/usr/bin:/bin:/usr/sbin"


def assert_secret_is_nowhere(*places: Path, messages: str) -> None:
    forms = [PASSWORD.encode(), credentials(PASSWORD).encode()]
    assert [form for form in forms if form in messages.encode()] == []
    for place in places:
        for path in place.rglob("*"):
            if path.is_file():
                data = path.read_bytes()
                assert [form for form in forms if form in data] == [], path


@pytest.mark.parametrize("kind", ["configuration", "helper"])
def test_an_image_behind_a_password_is_pulled_locked_and_moved(project, reeval, client, guarded, config, engine, kind):
    address = guarded.partition("/")[0]
    if kind == "helper":
        answer = json.dumps({"ServerURL": address, "Username": "reader", "Secret": PASSWORD})
        have_helper(config, reeval, address, f"echo '{answer}'")
    else:
        config.write_text(json.dumps({"auths": {address: {"auth": credentials(PASSWORD)}}}))
    define(project, guarded)

    said = [reeval.build(), reeval("lock update"), reeval("lock update", guarded)]
    forget_images(client, engine)
    shutil.rmtree(reeval.store)
    said.append(reeval.build("--frozen"))
    reeval.names_store = False
    said.append(reeval("lock check", "--upstream"))

    assert locked(project)[guarded]["linux/amd64"]["digest"].startswith("sha256:")
    messages = "".join(done.stdout + done.stderr for done in said)
    assert_secret_is_nowhere(project.directory, reeval.store, messages=messages)


@pytest.mark.parametrize(
    ("output", "problem"),
    [
        (None, "is not in the engine and could not be pulled: "),
        (f"echo {PASSWORD}; exit 1", "the credentials for ADDRESS cannot be read from Docker's configuration"),
        (f"echo '\"{PASSWORD}'", "the credentials for ADDRESS cannot be read from Docker's configuration"),
        (f"echo '[\"{PASSWORD}\"]'", "the credentials for ADDRESS cannot be read from Docker's configuration"),
    ],
)
def test_credentials_that_are_wrong_are_said_without_a_word_of_them(
    project, reeval, guarded, config, engine, output, problem
):
    address = guarded.partition("/")[0]
    if output is None:
        config.write_text(json.dumps({"auths": {address: {"auth": credentials("another password")}}}))
    else:
        have_helper(config, reeval, address, output)
    define(project, guarded)

    done = reeval.build(code=3)

    assert problem.replace("ADDRESS", address) in done.stderr
    assert "another password" not in done.stderr
    assert_secret_is_nowhere(project.directory, reeval.store, messages=done.stdout + done.stderr)
    assert not (project.directory / LOCK).exists()
