"""Copies of images that are ours: what is built on them carries their labels, and can be told from what is others'."""

from __future__ import annotations

import json
import re
import secrets
from collections.abc import Mapping
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, Final

import attrs
from docker.errors import APIError

from reeval_build.engines.docker.archive import docker_archive
from reeval_build.engines.docker.base_image import BaseImage
from reeval_build.engines.docker.connection import EngineRefusalError, one_line
from reeval_build.engines.docker.containers import OWNER_LABEL, remove_images
from reeval_build.errors import InfraError
from reeval_build.ports.builds import BuildFailedError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from reeval_build.engines.docker.connection import Connection

BUILD_REPOSITORY: Final = "reeval-build/building"
BUILD_LABEL: Final = "reeval-build.build"
_QUOTING: Final = re.compile(r"""[\\"']""")


@attrs.frozen(kw_only=True)
class _Copy:
    """An image with all that the one it is a copy of says of how it is run and built on, and labels of ours."""

    name: str
    original: BaseImage
    config: Mapping[str, Any]

    @property
    def layers(self) -> tuple[str, ...]:
        return self.original.layers

    def configuration(self) -> bytes:
        value = {
            "architecture": self.original.architecture,
            "os": self.original.operating_system,
            **({"variant": self.original.variant} if self.original.variant else {}),
            "created": "1970-01-01T00:00:00Z",
            "config": dict(self.config),
            "rootfs": {"type": "layers", "diff_ids": list(self.layers)},
        }
        return json.dumps(value, sort_keys=True, separators=(",", ":")).encode("utf-8")


class OwnCopies:
    """The copies for one build; `labels` are what tells what is made on them from all else."""

    def __init__(self, connection: Connection, owner: str) -> None:
        self._connection = connection
        self._build = secrets.token_hex(8)
        self.labels = {OWNER_LABEL: owner, BUILD_LABEL: self._build}

    def copy(self, image: BaseImage) -> str:
        """The name of a copy. Raises InfraError when the engine fails."""
        config: Mapping[str, Any] = {}
        if image.image_id:
            details = self._connection.find_image(image.image_id)
            if details is None:
                raise EngineRefusalError("build an image", f"image {image.name} is gone")
            config = details.get("Config") or {}
        for trigger in config.get("OnBuild") or ():
            # In whatever letters and quotes a builder would find it.
            if "from=" in _QUOTING.sub("", trigger).lower():
                raise BuildFailedError(
                    f"the trigger {trigger!r} of image {image.name} names an image that nothing locks"
                )
        labels = {**(config.get("Labels") or {}), **self.labels}
        copy = _Copy(name=self.new_name(), original=image, config={**config, "Labels": labels})
        with self._connection.asked_to("copy an image"):
            archive = docker_archive([copy], ())
            events = list(self._connection.patient.load_image(archive))  # type: ignore[no-untyped-call]
        for event in events:
            if "error" in event:
                raise EngineRefusalError("copy an image", one_line(event["error"]))
        return copy.name

    def new_name(self) -> str:
        """A name that no image has."""
        return f"{BUILD_REPOSITORY}:{secrets.token_hex(8)}"

    def remove(self) -> None:
        """Remove the copies, and all images that were made on them."""
        with suppress(InfraError), self._connection.asked_to("remove what a build left"):
            wanted = {"label": f"{BUILD_LABEL}={self._build}"}
            for container in self._connection.quick.containers(all=True, filters=wanted):
                with suppress(APIError):
                    self._connection.quick.remove_container(container["Id"], force=True, v=True)
            remove_images(self._connection, wanted, lambda _image: True)


@contextmanager
def own_copies(connection: Connection, owner: str) -> Iterator[OwnCopies]:
    """Copies that are gone when the block ends, with all that was made on them."""
    copies = OwnCopies(connection, owner)
    try:
        yield copies
    finally:
        copies.remove()
