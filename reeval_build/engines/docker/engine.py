"""The engine: what base images are, and sandboxes that start as states."""

from __future__ import annotations

import threading
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Final

import attrs

from reeval_build.engines.docker import facts
from reeval_build.engines.docker.bases import BaseImages
from reeval_build.engines.docker.committed import read_committed
from reeval_build.engines.docker.connection import Connection, EngineRefusalError
from reeval_build.engines.docker.containers import remove_leftovers, running
from reeval_build.engines.docker.endpoint import Endpoint, current_endpoint
from reeval_build.engines.docker.images import StateImages
from reeval_build.engines.docker.places import LAYOUT
from reeval_build.engines.docker.sandbox import ContainerSandbox
from reeval_build.engines.docker.upper import read_upper
from reeval_build.engines.owner import current_owner
from reeval_build.errors import CancelledError
from reeval_build.model.spec import DockerSandbox
from reeval_build.model.start_options import UNLIMITED
from reeval_build.plan.locks import ANY

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from reeval_build.engines.docker.base_image import BaseImage
    from reeval_build.engines.docker.builds import BuiltDockerImage
    from reeval_build.engines.docker.locked import Wanted
    from reeval_build.model.spec import Sandbox as SandboxSpec
    from reeval_build.model.start_options import StartOptions
    from reeval_build.plan.locks import Terms
    from reeval_build.plan.resolution import Base
    from reeval_build.ports.builds import ImageRecipe
    from reeval_build.ports.engine import Cancellation
    from reeval_build.ports.objects import Batch, Objects
    from reeval_build.state.delta import DeltaEntry
    from reeval_build.state.state import Layout, State

_TRIES: Final = 3


@attrs.frozen(kw_only=True)
class _Parts:
    """What is there once the engine has answered."""

    connection: Connection
    bases: BaseImages
    images: StateImages


class DockerEngine:
    """Sandboxes as containers; see `ports.engine.Engine`. Nothing is asked of the engine before it is needed.

    Args:
        objects: where the trees and deltas of states are.
        scratch: a directory for temporary files; it is made when it is not there.
        address: of the engine, `unix://...` or `tcp://...`; by default the one that Docker's own client would use.
        known: images that were found already, for states on them.
        wanted: images that states may be on and that are looked for when one starts.
        portable: read changes through a committed image even where the engine's disk could be read, which is faster.
        classic: build images with the builder of the engine's API also where BuildKit could be had.
    """

    def __init__(
        self,
        objects: Objects,
        *,
        scratch: Path,
        address: str | None = None,
        known: Iterable[BaseImage] = (),
        wanted: Iterable[Wanted] = (),
        portable: bool = False,
        classic: bool = False,
    ) -> None:
        self._objects = objects
        self._scratch = scratch
        self._address = address
        self._known = tuple(known)
        self._wanted = tuple(wanted)
        self._portable = portable
        self._classic = classic
        self._parts: _Parts | None = None
        self._facts: facts.EngineFacts | None = None
        self._guard = threading.Lock()

    @property
    def layout(self) -> Layout:
        """See `ports.engine.Engine.layout`."""
        return LAYOUT

    def resolve(self, sandbox: SandboxSpec, *, terms: Terms = ANY, cancel: Cancellation) -> Base:
        """See `ports.engine.Engine.resolve`."""
        assert isinstance(sandbox, DockerSandbox), "another engine's sandbox"
        return self._connected().bases.resolve(sandbox.base_image, terms, cancel)

    @contextmanager
    def start(
        self, state: State, *, options: StartOptions = UNLIMITED, cancel: Cancellation
    ) -> Iterator[ContainerSandbox]:
        """See `ports.engine.Engine.start`."""
        parts = self._connected()
        known = self._prepared(parts.connection)
        with ExitStack() as held:
            container = self._begin(state, options, parts, held, cancel)
            read_delta = partial(self._read_delta, parts.connection, known)
            yield ContainerSandbox(parts.connection, container, read_delta, cancel=cancel)

    def _begin(self, state: State, options: StartOptions, parts: _Parts, held: ExitStack, cancel: Cancellation) -> str:
        """Start a container of `state`, again if somebody removes its image, or it, before it runs."""
        for tries_left in reversed(range(_TRIES)):
            image = parts.images.provide(state, cancel=cancel)
            if cancel.is_set():
                raise CancelledError
            try:
                return held.enter_context(running(parts.connection, image, options, owner=current_owner()))
            except EngineRefusalError:
                if not tries_left:
                    raise
        raise AssertionError("the last try returns or raises")

    def scratch(self, platform: str | None) -> Base:
        """See `ports.engine.Engine.scratch`."""
        return self._connected().bases.scratch(platform)

    @contextmanager
    def built(
        self, recipe: ImageRecipe, *, output: BinaryIO, timeout_s: float, cancel: Cancellation
    ) -> Iterator[BuiltDockerImage]:
        """See `ports.engine.Engine.built`."""
        from reeval_build.engines.docker.builds import DockerBuilder  # noqa: PLC0415 - only for what builds images

        parts = self._connected()
        known = self._prepared(parts.connection)
        builder = DockerBuilder(
            connection=parts.connection,
            bases=parts.bases,
            objects=self._objects,
            scratch=self._scratch,
            uppers_readable=known.uppers_readable and not self._portable,
            classic=self._classic,
        )
        with builder.built(recipe, output=output, timeout_s=timeout_s, cancel=cancel) as image:
            yield image

    def keep_private(self, state: State) -> None:
        """See `ports.engine.Engine.keep_private`."""
        self._connected().images.keep_private(state)

    def close(self) -> None:
        """Remove the images of private states, and close the connections to the engine."""
        with self._guard:
            if self._parts is not None:
                self._parts.images.remove_private()
                self._parts.connection.close()
            self._parts = self._facts = None

    def _connected(self) -> _Parts:
        with self._guard:
            if self._parts is None:
                endpoint = current_endpoint() if self._address is None else Endpoint(address=self._address)
                connection = Connection(endpoint)
                bases = BaseImages(connection, self._known, self._wanted)
                images = StateImages(connection, self._objects, bases, scratch=self._scratch)
                self._parts = _Parts(connection=connection, bases=bases, images=images)
            return self._parts

    def _prepared(self, connection: Connection) -> facts.EngineFacts:
        """What the engine is; the first time, make sure that it will do, and remove what killed processes left."""
        with self._guard:
            if self._facts is None:
                known = facts.learn(connection)
                if known.unsupported is not None:
                    raise facts.UnsupportedEngineError(known.unsupported)
                remove_leftovers(connection)
                self._facts = known
            return self._facts

    def _read_delta(
        self, connection: Connection, known: facts.EngineFacts, container: str, batch: Batch
    ) -> tuple[DeltaEntry, ...]:
        overlay = None if self._portable or not known.uppers_readable else _overlay(connection, container)
        if overlay is None:
            return read_committed(connection, container, batch)
        entries = read_upper(overlay.upper, overlay.lowers, batch)
        if _overlay(connection, container) is None:
            raise EngineRefusalError("keep a container", "it was removed while it was read")
        return entries


@attrs.frozen
class _Overlay:
    """Where a container's changes are, and what they lie on, the uppermost first."""

    upper: Path
    lowers: tuple[Path, ...]


def _overlay(connection: Connection, container: str) -> _Overlay | None:
    """The directories that make up a container's file system, if they can be read from here."""
    with connection.asked_to("look at a container"):
        details = connection.quick.inspect_container(container)
    if details["State"]["Dead"] or details["State"]["Status"] == "removing":
        return None
    data = details["GraphDriver"]["Data"] or {}
    upper = data.get("UpperDir")
    if not upper or not Path(upper).is_dir():
        return None
    return _Overlay(Path(upper), tuple(Path(lower) for lower in data["LowerDir"].split(":")))
