"""What an engine builds images from, and what it says of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Protocol

import attrs

from reeval_build.content.dockerfile import Dockerfile, ImageUse
from reeval_build.digest import Digest
from reeval_build.errors import InfraError
from reeval_build.plan.dockerfiles import FromImage

if TYPE_CHECKING:
    from reeval_build.ports.objects import Batch
    from reeval_build.state.delta import DeltaEntry


class BuildFailedError(InfraError):
    """A builder of images says that one cannot be built; its output says more than `reason`."""

    def __init__(self, reason: str) -> None:
        super().__init__(f"the image cannot be built: {reason}")
        self.reason = reason


@attrs.frozen(kw_only=True)
class ImageRecipe:
    """What an image is built from.

    `context` is the tree of files that a builder is sent, `images` are what every image that the Dockerfile names is
    locked as. `platform` is None for the engine's own.
    """

    dockerfile: Dockerfile
    context: Digest
    images: Mapping[ImageUse, FromImage]
    platform: str | None


class BuiltImage(Protocol):
    """An image that was built, as what it has on the base that its last stage lies on."""

    @property
    def base(self) -> Digest:
        """The identity of the base."""

    @property
    def env(self) -> tuple[str, ...] | None:
        """What it says of the environment of commands, as `NAME=value`; None for what the base says."""

    def read(self, batch: Batch) -> tuple[tuple[DeltaEntry, ...], ...]:
        """What each layer on the base changes, lowest first; the bytes of files are added to `batch`.

        Raises:
            InfraError: when the engine fails or a change cannot be kept; names the path.
        """
