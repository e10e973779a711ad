"""The archives that `docker load` reads (format "docker save", version 1.2)."""

from __future__ import annotations

import hashlib
import json
import tarfile
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final, Protocol

import attrs

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from reeval_build.engines.docker.layers import Layer

_CREATED: Final = "1970-01-01T00:00:00Z"


@attrs.frozen(kw_only=True)
class StateImage:
    """An image of a state: all that is in its configuration. `layers` are digests of tars, lowest first.

    Only the environment is the base image's: what else an image says about how it is run (user, entry point, volumes,
    health check) would get between a command and its file system.
    """

    name: str
    operating_system: str
    architecture: str
    variant: str
    env: tuple[str, ...]
    labels: Mapping[str, str]
    layers: tuple[str, ...]

    def configuration(self) -> bytes:
        """The image's configuration, the same bytes for the same image."""
        value = {
            "architecture": self.architecture,
            "os": self.operating_system,
            **({"variant": self.variant} if self.variant else {}),
            "created": _CREATED,
            "config": {"Env": list(self.env), "Labels": dict(self.labels), "WorkingDir": "/"},
            "rootfs": {"type": "layers", "diff_ids": list(self.layers)},
        }
        return json.dumps(value, sort_keys=True, separators=(",", ":")).encode("utf-8")


class LoadedImage(Protocol):
    """An image as an archive has it; `layers` are digests of tars, lowest first."""

    @property
    def name(self) -> str:
        """What it is called afterwards."""

    @property
    def layers(self) -> tuple[str, ...]:
        """The digests of its layers."""

    def configuration(self) -> bytes:
        """Its configuration."""


def docker_archive(images: Iterable[LoadedImage], layers: Iterable[Layer]) -> Iterator[bytes]:
    """An archive of images whose other layers the engine has already: it never looks at the files of those."""
    seen = set()
    for layer in layers:
        if layer.diff_id not in seen:
            seen.add(layer.diff_id)
            yield from _member(_layer_file(layer.diff_id), layer.size, layer.chunks())
    manifest = []
    for image in images:
        configuration = image.configuration()
        file = f"{hashlib.sha256(configuration).hexdigest()}.json"
        yield from _member(file, len(configuration), [configuration])
        manifest.append({"Config": file, "RepoTags": [image.name], "Layers": [*map(_layer_file, image.layers)]})
    content = json.dumps(manifest).encode("utf-8")
    yield from _member("manifest.json", len(content), [content])
    yield bytes(2 * tarfile.BLOCKSIZE)


def _layer_file(diff_id: str) -> str:
    return f"{diff_id.partition(':')[2]}.tar"


def _member(name: str, size: int, content: Iterable[bytes]) -> Iterator[bytes]:
    info = tarfile.TarInfo(name)
    info.size = size
    yield info.tobuf()
    yield from content
    yield bytes(-size % tarfile.BLOCKSIZE)
