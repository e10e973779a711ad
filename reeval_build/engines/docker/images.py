"""States as images of the engine: found by their content, made when they are not there, never relied on."""

from __future__ import annotations

import threading
from collections import defaultdict
from contextlib import ExitStack, suppress
from typing import TYPE_CHECKING, Final

import attrs

from reeval_build.engines.docker.archive import StateImage, docker_archive
from reeval_build.engines.docker.connection import EngineRefusalError, one_line
from reeval_build.engines.docker.containers import OWNER_LABEL
from reeval_build.engines.docker.layers import written
from reeval_build.engines.docker.siblings import labels_of, nearest_sibling
from reeval_build.engines.owner import current_owner
from reeval_build.errors import CancelledError, InfraError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from reeval_build.digest import Digest
    from reeval_build.engines.docker.base_image import BaseImage
    from reeval_build.engines.docker.bases import BaseImages
    from reeval_build.engines.docker.connection import Connection
    from reeval_build.engines.docker.siblings import Sibling
    from reeval_build.ports.engine import Cancellation
    from reeval_build.ports.objects import Objects
    from reeval_build.state.state import State

REPOSITORY: Final = "reeval-build/state"
STATE_LABEL: Final = "reeval-build.state"
FORMAT_LABEL: Final = "reeval-build.format"

_FORMAT: Final = "1"
"""Changed with what the layers of a state look like: an image of another format is made anew."""

_MAX_LAYERS: Final = 125
"""What Docker's layer store refuses to exceed."""


class TooManyLayersError(InfraError):
    """A state of more layers than an image can have."""

    def __init__(self, layers: int) -> None:
        super().__init__(
            f"the state would be an image of {layers} layers, and the engine takes no more than {_MAX_LAYERS}",
            hint="put several setup or install steps into one, or start from an image of fewer layers",
        )
        self.layers = layers


@attrs.frozen(kw_only=True)
class _Found:
    """An image in the engine that a state can be put on, with how many deltas of the state it has."""

    image_id: str
    layers: tuple[str, ...]
    deltas: int


class StateImages:
    """Makes images of states; safe to use from several threads, which wait for each other over the same state."""

    def __init__(self, connection: Connection, objects: Objects, bases: BaseImages, *, scratch: Path) -> None:
        self._connection = connection
        self._objects = objects
        self._bases = bases
        self._scratch = scratch
        self._locks: defaultdict[Digest, threading.Lock] = defaultdict(threading.Lock)
        self._guard = threading.Lock()
        self._private: list[State] = []
        self._to_remove: set[str] = set()

    def provide(self, state: State, *, cancel: Cancellation) -> str:
        """The id of an image of `state`, which is made when the engine has none.

        Only the deltas above the nearest state that has an image are read and loaded, all in one archive. Each state
        on the way gets an image in it, too: that costs a few hundred bytes, and the next state that branches off in
        the middle finds its start there.

        Raises:
            LostObjectError: when the store lacks a piece of the state.
            TooManyLayersError: when no image can hold it.
            InfraError: when the base is gone, or the engine fails.
        """
        self._note_private(state)
        found = self._find(state)
        if found is not None:
            return found.image_id
        base = self._bases.find(state.base, cancel)
        layers = len(base.layers) + len(state.deltas)
        if layers > _MAX_LAYERS:
            raise TooManyLayersError(layers)
        self._scratch.mkdir(parents=True, exist_ok=True)
        with ExitStack() as held:
            # Two states share nothing but their lowest deltas, so locking upwards cannot end in a deadlock.
            for missing in self._missing(state):
                held.enter_context(self._lock(missing))
            try:
                return self._make(state, base, cancel)
            except EngineRefusalError:
                # Somebody may just have removed the image that the layers were to go on: look again, once.
                return self._make(state, self._bases.find(state.base, cancel), cancel)

    def keep_private(self, state: State) -> None:
        """Have `remove_private` remove the images of `state` and of states on it, from now on.

        They carry their owner, so that they are removed by the next process when this one is killed.
        """
        with self._guard:
            self._private.append(state)

    def remove_private(self) -> None:
        """Remove the images of private states that were made or used here.

        One that another process runs a sandbox of stays, and is removed by that process.
        """
        for name in sorted(self._to_remove):
            with suppress(InfraError), self._connection.asked_to("remove an image"):
                # By force, one that a container runs would lose its name, stay, and be found by nobody.
                self._connection.quick.remove_image(name)
        self._to_remove.clear()

    def _note_private(self, state: State) -> None:
        """Have the images removed that `provide` makes or finds of `state`, and of what it stands on."""
        lower = [state.lowest(count) for count in range(len(state.deltas) + 1)]
        with self._guard:
            self._to_remove.update(_name(each) for each in lower if self._is_private(each))

    def _is_private(self, state: State) -> bool:
        return any(state.lowest(len(lower.deltas)) == lower for lower in self._private)

    def _make(self, state: State, base: BaseImage, cancel: Cancellation) -> str:
        start = self._nearest(state)
        if start is None:
            start = _Found(image_id=base.image_id, layers=base.layers, deltas=-1)
        if start.deltas < len(state.deltas):
            self._load(state, base, start, cancel)
        made = self._find(state)
        if made is None:
            raise EngineRefusalError("load a state", "the image is not there afterwards")
        return made.image_id

    def _load(self, state: State, base: BaseImage, start: _Found, cancel: Cancellation) -> None:
        first = max(start.deltas, 0)
        sibling = self._sibling(state, first)
        lower = start.layers if sibling is None else sibling.layers
        with ExitStack() as open_layers:
            new = [
                open_layers.enter_context(
                    written(
                        delta,
                        self._objects,
                        scratch=self._scratch,
                        over=sibling.tree if sibling is not None and number == 0 else None,
                    )
                )
                for number, delta in enumerate(state.deltas[first:])
            ]
            images = [] if start.deltas >= 0 else [self._image(state.lowest(0), base, base.layers, 0)]
            for count in range(1, len(new) + 1):
                layers = (*lower, *(layer.diff_id for layer in new[:count]))
                changes = sibling.changes + 1 if sibling is not None and count == 1 else 0
                images.append(self._image(state.lowest(first + count), base, layers, changes))
            with self._connection.asked_to("load a state"):
                archive = _until(cancel, docker_archive(images, new))
                events = list(self._connection.patient.load_image(archive))  # type: ignore[no-untyped-call]
        for event in events:
            if "error" in event:
                raise EngineRefusalError("load a state", one_line(event["error"]))

    def _sibling(self, state: State, first: int) -> Sibling | None:
        """What has, in place of the delta number `first`, a tree that is like it."""
        if first == len(state.deltas):
            return None
        lowest = state.lowest(first + 1)
        sibling = nearest_sibling(
            lowest, self._connection, self._objects, state_label=STATE_LABEL, required={FORMAT_LABEL: _FORMAT}
        )
        if sibling is None or len(sibling.layers) + len(state.deltas) - first > _MAX_LAYERS:
            return None
        return sibling

    def _image(self, state: State, base: BaseImage, layers: tuple[str, ...], changes: int) -> StateImage:
        owner = {OWNER_LABEL: current_owner()} if self._is_private(state) else {}
        return StateImage(
            name=_name(state),
            operating_system=base.operating_system,
            architecture=base.architecture,
            variant=base.variant,
            env=base.env if state.env is None else state.env,
            labels=_labels(state) | labels_of(state, changes) | owner,
            layers=layers,
        )

    def _missing(self, state: State) -> Iterable[State]:
        start = self._nearest(state)
        first = 0 if start is None else start.deltas + 1
        return [state.lowest(count) for count in range(first, len(state.deltas) + 1)]

    def _nearest(self, state: State) -> _Found | None:
        for count in range(len(state.deltas), -1, -1):
            found = self._find(state.lowest(count))
            if found is not None:
                return found
        return None

    def _find(self, state: State) -> _Found | None:
        details = self._connection.find_image(_name(state))
        if details is None:
            return None
        labels = details["Config"].get("Labels") or {}
        if not _labels(state).items() <= labels.items():
            return None
        return _Found(
            image_id=details["Id"], layers=tuple(details["RootFS"].get("Layers") or ()), deltas=len(state.deltas)
        )

    def _lock(self, state: State) -> threading.Lock:
        with self._guard:
            return self._locks[state.restored]


def _name(state: State) -> str:
    return f"{REPOSITORY}:{state.restored.hex}"


def _labels(state: State) -> dict[str, str]:
    return {STATE_LABEL: state.restored.hex, FORMAT_LABEL: _FORMAT}


def _until(cancel: Cancellation, chunks: Iterable[bytes]) -> Iterator[bytes]:
    for chunk in chunks:
        if cancel.is_set():
            raise CancelledError
        yield chunk
