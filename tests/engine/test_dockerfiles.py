"""Images that are built from a Dockerfile, by the whole program on a real engine, with both of its builders."""

from __future__ import annotations

import os
import shutil
import signal
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

import attrs
import pytest

from tests.engine.test_lock import forget_images, publish
from tests.support.cli import ReevalBuild, assert_nothing_is_left, finish
from tests.support.engine import PrivateEngine
from tests.support.projects import Project
from tests.support.waiting import wait_until

if TYPE_CHECKING:
    import subprocess

    import docker

from tests.support.cli import Built

DEBIANS_CLIENT: Final = Path("/usr/bin/docker")


@attrs.define
class Job:
    """An environment on an image that is built from `image/Dockerfile`."""

    project: Project
    reeval: ReevalBuild
    engine: PrivateEngine

    def dockerfile(self, text: str, **files: str) -> None:
        self.project.write("image/Dockerfile", text.replace("BUSYBOX", self.engine.busybox))
        for name, content in files.items():
            self.project.write(f"image/{name}", content)

    def build(self, *options: str, code: int = 0) -> Built:
        return self.reeval.build(*options, code=code)

    def see(self, script: str) -> str:
        """What a command prints in a sandbox."""
        done = self.reeval("run", "base@fake", "--", "sh", "-c", script)
        return done.stdout.partition("base@fake: ")[0]


def programs(tmp_path: Path, builder: str) -> str:
    """A PATH with the client of Docker that builds with BuildKit, or with none."""
    place = tmp_path / "programs"
    place.mkdir()
    if builder == "buildkit":
        if not DEBIANS_CLIENT.exists():
            pytest.skip("no client of Docker with BuildKit in it")
        (place / "docker").symlink_to(DEBIANS_CLIENT)
    for name in ("sh", "git"):
        program = shutil.which(name)
        if program is not None:
            (place / name).symlink_to(program)
    return f"{place}"


@pytest.fixture(params=["buildkit", "classic"])
def job(engine: PrivateEngine, project: Project, tmp_path: Path, request: pytest.FixtureRequest) -> Job:
    env = {"DOCKER_HOST": engine.url, "PATH": programs(tmp_path, request.param)}
    project.define('base = define_environment("base", {"sandbox": docker(dockerfile="image/Dockerfile")})')
    return Job(project, ReevalBuild(project.directory, tmp_path / "store", env=env), engine)


@pytest.fixture(autouse=True)
def nothing_is_left(client: docker.DockerClient) -> object:
    """No test leaves an image or a container of a build behind."""
    before = [one["Id"] for one in client.api.images(all=True)]
    yield
    assert client.containers.list(all=True) == []
    left = client.api.images(all=True, filters={"label": "reeval-build.owner"})
    assert left == []
    images = client.api.images(all=True)
    assert [one for one in images if not one["RepoTags"] and not one["RepoDigests"] and not one["Labels"]] == []
    nameless = [one["Id"] for one in images if "<none>:<none>" in (one["RepoTags"] or ())]
    assert [one for one in nameless if one not in before] == []


def test_an_image_is_built_once_with_what_its_dockerfile_says(job: Job) -> None:
    job.dockerfile(
        "FROM BUSYBOX\nENV GREETING=hello\nWORKDIR /srv\nCOPY . src\nRUN echo $GREETING > said && rm -r /srv/src/b\n"
        'USER nobody\nENTRYPOINT ["/none"]\n',
        a="1",
        b="2",
    )

    first = job.build()
    again = job.build()

    assert first.phases("ran").count("dockerfile") == 1
    assert again.ran == []
    assert job.see("cat /srv/said; echo $GREETING; ls /srv/src; id -u; stat -c %a /srv/src/a") == (
        "hello\nhello\nDockerfile\na\n0\n644\n"
    )


@pytest.mark.conforms("fault 1", "fault 2", "74")
def test_only_what_changed_runs_again_and_equal_output_leaves_what_is_above_alone(job: Job) -> None:
    job.dockerfile("FROM BUSYBOX\nCOPY a /a\nRUN cat /a | wc -l > /lines\n", a="1\n", b="1\n")
    job.project.edit("env.py", ")})", ', install=["cp /lines /installed"]), "setup": ["cp /installed s"]})')
    job.build()

    job.project.write("image/b", "2\n")
    not_used = job.build()
    job.project.write("image/a", "1\n2\n")
    used = job.build()
    job.dockerfile("FROM BUSYBOX\nCOPY a /a\nRUN wc -l < /a > /lines\n")
    other_words = job.build()

    assert not_used.phases("ran") == ["dockerfile"]
    assert used.phases("ran") == ["dockerfile", "install", "root", "setup", "snapshot"]
    assert other_words.phases("ran") == ["dockerfile"]
    assert job.see("cat s") == "2\n"


def test_what_is_ignored_is_neither_sent_nor_looked_at(job: Job) -> None:
    ignore = "# Comment\n**/*.log\ncache\n!cache/kept\n.dockerignore\n"
    job.dockerfile(
        "FROM BUSYBOX\nCOPY . /src\n",
        a="1",
        **{".dockerignore": ignore, "cache/kept": "", "cache/x": "", "sub/x.log": ""},
    )
    os.mkfifo(job.project.directory / "image/cache/fifo")

    first = job.build()
    job.project.write("image/cache/x", "edited")
    job.project.write("image/sub/y.log", "new")
    again = job.build()

    assert first.phases("ran").count("dockerfile") == 1
    assert again.ran == []
    # A directory of which everything is ignored is there, as it is for Docker.
    assert job.see("cd /src; find . | sort") == ".\n./Dockerfile\n./a\n./cache\n./cache/kept\n./sub\n"


def test_the_rules_beside_a_dockerfile_count_in_place_of_those_of_the_directory(job: Job) -> None:
    rules = {"Dockerfile.dockerignore": "b\n", ".dockerignore": "a\n"}
    job.dockerfile("FROM BUSYBOX\nCOPY . /src\n", a="", b="", **rules)

    job.build()

    assert "/src/a\n" in job.see("ls -d /src/*")
    assert "/src/b\n" not in job.see("ls -d /src/*")


@pytest.mark.conforms("76", "fault 7")
def test_stages_arguments_and_other_images_are_what_they_are_locked_as(job: Job, client: docker.DockerClient) -> None:
    def tag(content: str) -> None:
        container = client.containers.create(job.engine.busybox, ["sh", "-c", f"echo {content} > /content"])
        container.start()
        container.wait()
        # A name that stays, so that none of ours is without.
        container.commit("reeval-build-test/tool", content, changes="WORKDIR /tool")
        client.api.tag(f"reeval-build-test/tool:{content}", "reeval-build-test/tool", "1", force=True)
        container.remove()

    tag("old")
    job.dockerfile(
        "ARG NAME=tool\nARG IMAGE=reeval-build-test/${NAME}:1\n"
        "FROM ${IMAGE} AS One\nRUN cp ../content copied\n"
        "FROM BUSYBOX as two\nCOPY --from=one /tool/copied /from-stage\n"
        "FROM two\nCOPY --from=reeval-build-test/tool:1 /content /from-image\nCOPY --from=0 /content /from-number\n"
    )
    job.build()
    tag("new")
    locked = job.build()
    job.reeval.names_store = False
    job.reeval("lock check")
    job.reeval.names_store = True
    job.reeval("lock update", "reeval-build-test/tool:1")
    moved = job.build()

    assert locked.ran == []
    assert "image 'reeval-build-test/tool:1' is used as reeval-build.lock has it" in locked.stderr
    assert "dockerfile" in moved.phases("ran")
    assert job.see("cat /from-stage /from-image /from-number") == "new\nnew\nnew\n"


def test_from_nothing(job: Job) -> None:
    shutil.copy("/bin/busybox", job.project.directory / "busybox")
    job.dockerfile('FROM scratch\nCOPY busybox /bin/sh\nENV A=b\nRUN ["/bin/sh", "-c", "echo $A > /a"]\n')
    shutil.copy("/bin/busybox", job.project.directory / "image/busybox")

    job.build()

    assert job.see("read x < /a; echo $x $A") == "b b\n"
    assert job.build().ran == []


@pytest.mark.conforms("fault 32")
def test_an_engine_that_lost_all_images_gets_them_from_the_store(job: Job, client: docker.DockerClient) -> None:
    job.dockerfile("FROM BUSYBOX\nENV A=b\nRUN echo kept > /kept\n")
    job.build()
    for image in client.api.images(filters={"label": "reeval-build.state"}):
        client.api.remove_image(image["Id"], force=True)

    assert job.build().ran == []
    assert job.see("cat /kept; echo $A") == "kept\nb\n"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("FROM BUSYBOX\nRUN echo what went wrong; exit 7\n", "what went wrong"),
        ("FROM BUSYBOX\nCOPY ../outside /\n", "outside"),
        ("FROM BUSYBOX\nCOPY missing /\n", "missing"),
        ("FROM BUSYBOX\nNONSENSE\n", "unknown instruction: NONSENSE"),
        ("FROM reeval-build-test/none:1\n", "image 'reeval-build-test/none:1' is not in the engine and could not be"),
        ("RUN true\n", "line 1: there is no FROM"),
        ("FROM BUSYBOX\nRUN --mount=type=secret,id=x true\n", "line 2: RUN --mount=type=secret is not supported"),
        (
            "# syntax=registry.example.com/other\nFROM BUSYBOX\n",
            "line 1: syntax=registry.example.com/other is an image",
        ),
    ],
)
def test_what_cannot_be_built_fails_its_cells_alone_with_what_its_builder_said(job: Job, text: str, said: str) -> None:
    job.dockerfile(text)
    job.project.write(
        "other.py",
        "from reeval_build import *\n"
        f'other = define_environment("other", {{"sandbox": docker(from_="{job.engine.busybox}")}})\n',
    )

    built = job.build(code=3)

    assert said in built.stderr
    assert built.snapshots["other@fake"] is not None
    assert built.snapshots["base@fake"] is None


def began(job: Job, text: str) -> subprocess.Popen[bytes]:
    """A build that has come to what writes `text`."""
    process = job.reeval.start("build")
    logs = job.reeval.store / "logs"
    wait_until(lambda: any(text in log.read_text() for log in logs.rglob("*") if log.is_file()))
    return process


def clients() -> list[str]:
    """The commands of clients of Docker that build something of these tests."""
    found = []
    for place in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):
            found.append(place.read_bytes().replace(b"\0", b" ").decode("utf-8", "replace"))
    return [command for command in found if "--tag=reeval-build/building:" in command]


SLOW: Final = "FROM BUSYBOX\nRUN echo first > /first\nRUN echo be''gun; sleep 300\n"


@pytest.mark.conforms("fault 21", "fault 33")
def test_what_a_killed_build_leaves_is_gone_after_the_next_one(job: Job) -> None:
    job.dockerfile(SLOW)
    process = began(job, "begun")

    process.kill()
    process.communicate()
    wait_until(lambda: clients() == [])
    job.dockerfile("FROM BUSYBOX\nRUN echo first > /first\n")
    built = job.build()

    assert "dockerfile" in built.phases("ran")
    assert job.see("cat /first") == "first\n"
    assert_nothing_is_left(job.reeval.store)


def test_a_build_that_is_interrupted_ends_at_once_and_keeps_nothing(job: Job) -> None:
    job.dockerfile(SLOW)
    process = began(job, "begun")

    process.send_signal(signal.SIGINT)
    done = finish(process)

    assert done.code == 130
    assert clients() == []
    assert_nothing_is_left(job.reeval.store)


def test_doctor_finds_what_a_killed_build_left(job: Job, client: docker.DockerClient) -> None:
    job.dockerfile(SLOW)
    process = began(job, "begun")

    process.kill()
    process.communicate()
    wait_until(lambda: clients() == [] and client.containers.list() == [])
    said = job.reeval("doctor").stdout
    job.reeval("doctor", "--fix")

    assert "image reeval-build/building:" in said


def test_buildkit_does_again_only_what_comes_after_an_edit(job: Job, client: docker.DockerClient) -> None:
    has_cache = shutil.which("docker", path=job.reeval.surroundings()["PATH"]) is not None
    once = "RUN head -c 8 /dev/urandom | od > /once\n"
    job.dockerfile(f"FROM BUSYBOX\n{once}")
    job.build()
    before = job.see("cat /once")

    job.dockerfile(f"FROM BUSYBOX\n{once}RUN true\n")
    again = job.build()

    assert "dockerfile" in again.phases("ran")
    # The other builder has no cache that lasts.
    assert (job.see("cat /once") == before) is has_cache


@pytest.mark.conforms("74")
def test_one_dockerfile_at_two_places_is_built_once_and_is_not_looked_up_when_frozen(job: Job) -> None:
    job.dockerfile("FROM BUSYBOX\nCOPY a /a\n", a="1")
    shutil.copytree(job.project.directory / "image", job.project.directory / "copy")
    text = (job.project.directory / "env.py").read_text()
    again = text.replace("base", "other").replace("image/", "copy/").partition("other = ")[2]
    job.project.write("env.py", f"{text}\nother = {again}")
    refused = job.build("--frozen", code=2)

    first = job.build()
    frozen = job.build("--frozen")

    assert "is not in reeval-build.lock" in refused.stderr
    assert first.phases("ran").count("dockerfile") == 1
    assert frozen.ran == []


@pytest.mark.conforms("fault 7")
def test_an_image_of_a_registry_is_pulled_as_it_is_locked(job: Job, client: docker.DockerClient) -> None:
    name = publish(client, job.engine, "built-on", "old")
    job.dockerfile(f"FROM {name}\nRUN cp /content /copy\n")
    job.build()
    publish(client, job.engine, "built-on", "new")
    forget_images(client, job.engine)

    nothing = job.build()
    assert client.images.list() == []
    job.dockerfile(f"FROM {name}\nRUN cat /content /content > /copy\n")
    job.build()

    assert nothing.ran == []
    assert job.see("cat /copy") == "old\nold\n"


def test_a_dockerfile_that_is_not_there_fails_its_cells(job: Job) -> None:
    built = job.build(code=3)

    assert '/image/Dockerfile" cannot be built: it does not exist (check its spelling)' in built.stderr
    job.reeval.names_store = False
    assert "image/Dockerfile" in job.reeval("lock check", code=3).stderr


def test_a_link_out_of_the_context_is_refused_with_its_path(job: Job) -> None:
    job.dockerfile("FROM BUSYBOX\nCOPY . /src\n")
    (job.project.directory / "image/link").symlink_to("/etc/passwd")

    built = job.build(code=3)

    assert '/image/link"' in built.stderr or "link" in built.stderr.rpartition("image")[2]
    job.project.write("image/.dockerignore", "link\n")
    assert job.build().phases("ran").count("dockerfile") == 1


def test_a_dockerfile_beside_the_lock_file_is_built_at_once_and_once(job: Job) -> None:
    job.project.define('base = define_environment("base", {"sandbox": docker(dockerfile="Dockerfile")})')
    job.project.write("Dockerfile", f"FROM {job.engine.busybox}\nCOPY . /src\n")

    first = job.build()

    assert first.phases("ran").count("dockerfile") == 1
    assert (job.project.directory / "reeval-build.lock").exists()
    assert job.build().ran == []
    assert "reeval-build.lock" not in job.see("ls /src")
