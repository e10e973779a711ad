"""Images that are built from a Dockerfile: built on copies of what is locked, read, and gone."""

from __future__ import annotations

from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import attrs

from reeval_build.engines.docker.bases import BaseImages
from reeval_build.engines.docker.built_layers import read_layers
from reeval_build.engines.docker.classic_build import build_with_engine
from reeval_build.engines.docker.client_build import Build, build_with_client, find_client, new_place
from reeval_build.engines.docker.connection import Connection, EngineRefusalError
from reeval_build.engines.docker.copied_images import own_copies
from reeval_build.engines.owner import current_owner
from reeval_build.ports.objects import Objects

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from reeval_build.digest import Digest
    from reeval_build.engines.docker.base_image import BaseImage
    from reeval_build.ports.builds import ImageRecipe
    from reeval_build.ports.engine import Cancellation
    from reeval_build.ports.objects import Batch
    from reeval_build.state.delta import DeltaEntry


@attrs.frozen(kw_only=True)
class DockerBuilder:
    """Builds images. With `classic`, by the builder of the engine's API also where BuildKit could be had."""

    connection: Connection
    bases: BaseImages
    objects: Objects
    scratch: Path
    uppers_readable: bool
    classic: bool = False

    @contextmanager
    def built(
        self, recipe: ImageRecipe, *, output: BinaryIO, timeout_s: float, cancel: Cancellation
    ) -> Iterator[BuiltDockerImage]:
        """See `ports.engine.Engine.built`."""
        with own_copies(self.connection, current_owner()) as copies, new_place(self.scratch) as place:
            originals = {use: self.bases.find_locked(image, cancel) for use, image in recipe.images.items()}
            names = {use: copies.copy(image) for use, image in originals.items()}
            build = Build(
                dockerfile=recipe.dockerfile.renamed(names.__getitem__).encode("utf-8"),
                context=recipe.context,
                name=copies.new_name(),
                labels=copies.labels,
                platform=recipe.platform,
            )
            self._build(build, Path(place), output, timeout_s, cancel)
            yield self._found(build.name, originals[recipe.dockerfile.final])

    def _build(self, build: Build, place: Path, output: BinaryIO, timeout_s: float, cancel: Cancellation) -> None:
        client = None if self.classic else find_client(self.connection.endpoint, place / "settings")
        if client is not None:
            build_with_client(
                client, build, self.objects, place=place, output=output, timeout_s=timeout_s, cancel=cancel
            )
        else:
            build_with_engine(
                self.connection,
                build,
                self.objects,
                scratch=place,
                output=output,
                timeout_s=timeout_s,
                cancel=cancel,
            )

    def _found(self, name: str, base: BaseImage) -> BuiltDockerImage:
        details = self.connection.find_image(name)
        if details is None:
            raise EngineRefusalError("build an image", "it is not there afterwards")
        layers = tuple(details["RootFS"].get("Layers") or ())
        if layers[: len(base.layers)] != base.layers:
            raise EngineRefusalError("build an image", f"what was built does not lie on {base.name}")
        return BuiltDockerImage(self, details, base)


class BuiltDockerImage:
    """See `ports.engine.BuiltImage`."""

    def __init__(self, builder: DockerBuilder, details: Mapping[str, Any], base: BaseImage) -> None:
        self._builder = builder
        self._details = details
        self._below = len(base.layers)
        self.base: Digest = base.identity
        env = tuple((details.get("Config") or {}).get("Env") or ())
        self.env = None if env == base.env else env

    def read(self, batch: Batch) -> tuple[tuple[DeltaEntry, ...], ...]:
        """See `ports.engine.BuiltImage.read`."""
        return read_layers(
            self._builder.connection,
            self._details,
            self._below,
            batch,
            scratch=self._builder.scratch,
            uppers_readable=self._builder.uppers_readable,
        )
