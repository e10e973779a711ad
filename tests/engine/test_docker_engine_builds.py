"""What a Docker engine makes of a Dockerfile, asked directly: by both builders, and read in both ways."""

from __future__ import annotations

import io
import threading
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import attrs
import pytest

from reeval_build.content.dockerfile import read_dockerfile
from reeval_build.digest import TREE
from reeval_build.engines.docker.engine import DockerEngine
from reeval_build.errors import CancelledError
from reeval_build.model.spec import DockerSandbox
from reeval_build.plan.dockerfiles import FromImage
from reeval_build.ports.builds import BuildFailedError, ImageRecipe
from reeval_build.ports.engine import CommandTimeoutError
from reeval_build.state.delta import DeltaKind
from reeval_build.tree import directory
from tests.support.memory_store import MemoryObjects

if TYPE_CHECKING:
    from collections.abc import Iterator

    import docker

    from reeval_build.state.delta import DeltaEntry
    from tests.support.engine import PrivateEngine

NEVER = threading.Event()


@attrs.frozen
class Bench:
    """An engine and a store for it."""

    engine: DockerEngine
    objects: MemoryObjects
    image: str

    def recipe(self, text: str) -> ImageRecipe:
        dockerfile = read_dockerfile(text.replace("BUSYBOX", self.image).encode(), {})
        images = {}
        for use in dockerfile.images:
            base = self.engine.resolve(DockerSandbox(image=use.name), cancel=NEVER)
            images[use] = FromImage(
                name=use.name, named_platform=None, content=base.identity, platform=base.platform, locked=base.locked
            )
        with self.objects.batch() as batch:
            context = batch.add(TREE, directory.encode({}))
        return ImageRecipe(dockerfile=dockerfile, context=context, images=images, platform=None)

    def build(
        self, text: str, *, timeout_s: float = 300.0, cancel: threading.Event = NEVER
    ) -> tuple[tuple[tuple[DeltaEntry, ...], ...], tuple[str, ...] | None, str]:
        """The layers of an image, its environment, and what its builder said."""
        said = io.BytesIO()
        with (
            self.engine.built(self.recipe(text), output=said, timeout_s=timeout_s, cancel=cancel) as image,
            self.objects.batch() as batch,
        ):
            return image.read(batch), image.env, said.getvalue().decode()


@pytest.fixture(params=["upper", "saved"])
def way(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(params=["buildkit", "classic"])
def bench(
    engine: PrivateEngine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, way: str, request: pytest.FixtureRequest
) -> Iterator[Bench]:
    is_classic = request.param == "classic"
    if not is_classic:
        if not Path("/usr/bin/docker").exists():
            pytest.skip("no client of Docker with BuildKit in it")
        monkeypatch.setenv("PATH", "/usr/bin:/bin")
    objects = MemoryObjects()
    made = DockerEngine(
        objects, scratch=tmp_path / "scratch", address=engine.url, portable=way == "saved", classic=is_classic
    )
    with closing(made):
        yield Bench(made, objects, engine.busybox)


@pytest.fixture(autouse=True)
def nothing_is_left(bench: Bench, client: docker.DockerClient) -> Iterator[None]:
    yield
    assert client.api.images(all=True, filters={"label": "reeval-build.owner"}) == []
    assert client.containers.list(all=True) == []


def shown(entries: tuple[DeltaEntry, ...]) -> list[tuple[str, DeltaKind, int, int]]:
    """Entries, but for directories that are only on the way."""
    wanted = [entry for entry in entries if entry.kind is not DeltaKind.DIRECTORY or entry.parts == (b"new",)]
    return [(entry.path.decode(), entry.kind, entry.mode, entry.uid) for entry in wanted]


def test_layers_are_read_one_by_one(bench: Bench) -> None:
    layers, env, said = bench.build(
        "FROM BUSYBOX\nENV A=b\nRUN mkdir -m 1777 /new && echo 1 > /new/file && ln /new/file /new/hard\n"
        "RUN chown 7 /new/file && rm /bin/true && ln -s /none /new/soft && echo said\n"
    )

    first, second = (shown(layer) for layer in layers)
    assert first == [
        ("new", DeltaKind.DIRECTORY, 0o1777, 0),
        ("new/file", DeltaKind.FILE, 0o644, 0),
        ("new/hard", DeltaKind.HARD_LINK, 0o644, 0),
    ]
    assert second[0] == ("bin/true", DeltaKind.DELETED, 0, 0)
    assert ("new/soft", DeltaKind.SYMLINK, 0o777, 0) in second
    assert ("new/file", DeltaKind.FILE, 0o644, 7) in second
    assert env is not None
    assert "A=b" in env
    assert "said" in said


def test_what_says_only_how_an_image_is_run_leaves_nothing(bench: Bench) -> None:
    layers, env, _ = bench.build('FROM BUSYBOX\nENTRYPOINT ["/none"]\nUSER 7\nLABEL a=b\nEXPOSE 80\n')

    assert [layer for layer in layers if layer] == []
    # The base says nothing of it, and builders say at least this.
    assert [one.partition("=")[0] for one in env or ("PATH=",)] == ["PATH"]


def test_a_build_ends_at_its_limit_and_when_the_run_is_told_to_stop(bench: Bench) -> None:
    stop = threading.Event()
    stop.set()

    with pytest.raises(CommandTimeoutError):
        bench.build("FROM BUSYBOX\nRUN sleep 300\n", timeout_s=1.0)
    with pytest.raises(CancelledError):
        bench.build("FROM BUSYBOX\nRUN sleep 301\n", cancel=stop)


@pytest.mark.parametrize(
    "trigger", ["COPY --from=moving:1 /a /b", "RUN --mount=type=bind,From=moving:1 x", "COPY --from\\=moving:1 /a /b"]
)
def test_a_trigger_of_an_image_that_names_another_one_is_refused(
    bench: Bench, client: docker.DockerClient, trigger: str
) -> None:
    made = client.containers.create(bench.image, ["true"])
    made.commit("reeval-build-test/trigger", "1", changes=f"ONBUILD {trigger}")
    made.remove()

    with pytest.raises(BuildFailedError, match="names an image that nothing locks"):
        bench.build("FROM reeval-build-test/trigger:1\n")


def test_what_fails_says_why(bench: Bench) -> None:
    with pytest.raises(BuildFailedError, match=r"exit code: 9|returned a non-zero code: 9"):
        bench.build("FROM BUSYBOX\nRUN exit 9\n")
