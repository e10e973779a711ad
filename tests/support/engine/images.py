"""The base images in an engine and its registry: made once on a machine, then kept."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Final

from tests.support.engine import cache, rootfs
from tests.support.engine.needs import EngineError

if TYPE_CHECKING:
    import docker

    from tests.support.engine.processes import Processes

TAG: Final = "1"
BUSYBOX: Final = "reeval-build-test/busybox"
DEBIAN_PYTHON: Final = "reeval-build-test/debian-python"

_ROOTFS: Final = {BUSYBOX: rootfs.busybox, DEBIAN_PYTHON: rootfs.debian_python}
_MAKING_S: Final = 900.0


def are_kept() -> bool:
    """Whether this machine has the images already."""
    return cache.images_directory(rootfs.ingredients()).exists()


def provide(client: docker.DockerClient, processes: Processes) -> None:
    """Put the base images into an engine without any, and into its registry; make them if this machine has none."""
    kept = cache.images_directory(rootfs.ingredients())
    # Another process that makes them is waited for, since making them twice takes longer.
    with cache.locked("images", timeout_s=_MAKING_S):
        if not kept.exists():
            _make(client, processes, kept)
            return
        cache.mark_used(kept)
    shutil.copytree(kept / "registry", _storage(processes), dirs_exist_ok=True)
    load_missing(client)


def load_missing(client: docker.DockerClient) -> None:
    """Load those of the kept base images that the engine does not have."""
    kept = cache.images_directory(rootfs.ingredients())
    for repository in _ROOTFS:
        if not client.images.list(f"{repository}:{TAG}"):
            with (kept / _file_name(repository)).open("rb") as saved:
                client.images.load(saved)


def _make(client: docker.DockerClient, processes: Processes, kept: Path) -> None:
    with tempfile.TemporaryDirectory(dir=kept.parent) as name:
        draft = Path(name) / "complete"
        draft.mkdir()
        for repository, make in _ROOTFS.items():
            tar = draft / "rootfs.tar"
            make(tar)
            client.api.import_image_from_file(str(tar), repository=repository, tag=TAG)
            tar.unlink()
            _push(client, repository, registry=f"127.0.0.1:{processes.registry_port}")
            with (draft / _file_name(repository)).open("wb") as saved:
                for chunk in client.images.get(f"{repository}:{TAG}").save(named=True):
                    saved.write(chunk)
        shutil.copytree(_storage(processes), draft / "registry")
        draft.rename(kept)


def _push(client: docker.DockerClient, repository: str, *, registry: str) -> None:
    there = f"{registry}/{repository}"
    client.images.get(f"{repository}:{TAG}").tag(there, TAG)
    for event in client.images.push(there, TAG, stream=True, decode=True):
        if "error" in event:
            raise EngineError(f"the private registry did not take {repository}: {event['error']}")
    client.images.remove(f"{there}:{TAG}")


def _storage(processes: Processes) -> Path:
    return processes.run / "registry"


def _file_name(repository: str) -> str:
    return f"{repository.rpartition('/')[2]}.tar"
