"""The engine of a command that may have nothing to do: asks one question by hand, and all else through the SDK.

To import the SDK takes as long as all else that a build does which has nothing to do, and what such a build asks is
what its base images are now.
"""

from __future__ import annotations

import json
import os
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, BinaryIO, Final, cast
from urllib.parse import quote

from reeval_build.engines.docker.base_image import BaseImage, empty_image, read_image
from reeval_build.engines.docker.locked import Wanted, base_of, base_of_nothing, choose
from reeval_build.engines.docker.places import LAYOUT
from reeval_build.model.spec import DockerSandbox
from reeval_build.model.start_options import UNLIMITED
from reeval_build.plan.locks import ANY

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from reeval_build.engines.docker.engine import DockerEngine
    from reeval_build.model.spec import Sandbox as SandboxSpec
    from reeval_build.model.start_options import StartOptions
    from reeval_build.plan.locks import Terms
    from reeval_build.plan.resolution import Base
    from reeval_build.ports.builds import BuiltImage, ImageRecipe
    from reeval_build.ports.engine import Cancellation, Sandbox
    from reeval_build.ports.objects import Objects
    from reeval_build.state.state import Layout, State

_LOCAL: Final = "unix://"
_DEFAULT: Final = "/var/run/docker.sock"
_TIMEOUT_S: Final = 2.0
_CHUNK_BYTES: Final = 64 * 1024
_MOST_BYTES: Final = 16 * 1024 * 1024


class PromptEngine:
    """See `ports.engine.Engine`: a `DockerEngine` that is made when something is asked that cannot be answered so.

    Args:
        objects: where the trees and deltas of states are.
        scratch: a directory for temporary files.
    """

    layout: Layout = LAYOUT

    def __init__(self, objects: Objects, *, scratch: Path) -> None:
        self._objects = objects
        self._scratch = scratch
        self._found: list[BaseImage] = []
        self._wanted: list[Wanted] = []
        self._made: DockerEngine | None = None
        self._guard = threading.Lock()

    def resolve(self, sandbox: SandboxSpec, *, terms: Terms = ANY, cancel: Cancellation) -> Base:
        """See `ports.engine.Engine.resolve`."""
        assert isinstance(sandbox, DockerSandbox), "another engine's sandbox"
        with self._guard:
            base = self._resolved_promptly(sandbox.base_image, terms) if self._made is None else None
        return self._engine.resolve(sandbox, terms=terms, cancel=cancel) if base is None else base

    def _resolved_promptly(self, name: str, terms: Terms) -> Base | None:
        named = None if terms.is_newest else find_image(name)
        if named is None:
            return None
        try:
            chosen = choose(name, named, terms, platform=_not_known)
        except LookupError:
            return None
        match chosen:
            case None:
                return None
            case Wanted():
                self._wanted.append(chosen)
                return chosen.base
            case image:
                self._found.append(image)
                return base_of(image, terms)

    def scratch(self, platform: str | None) -> Base:
        """See `ports.engine.Engine.scratch`."""
        with self._guard:
            own = platform or (find_platform() if self._made is None else None)
            if own is None:
                return self._engine_held().scratch(None)
            image = empty_image(own)
            if self._made is None:
                self._found.append(image)
                return base_of_nothing(image)
        return self._engine.scratch(own)

    @contextmanager
    def built(
        self, recipe: ImageRecipe, *, output: BinaryIO, timeout_s: float, cancel: Cancellation
    ) -> Iterator[BuiltImage]:
        """See `ports.engine.Engine.built`."""
        with self._engine.built(recipe, output=output, timeout_s=timeout_s, cancel=cancel) as image:
            yield image

    @contextmanager
    def start(self, state: State, *, options: StartOptions = UNLIMITED, cancel: Cancellation) -> Iterator[Sandbox]:
        """See `ports.engine.Engine.start`."""
        with self._engine.start(state, options=options, cancel=cancel) as sandbox:
            yield sandbox

    def keep_private(self, state: State) -> None:
        """See `ports.engine.Engine.keep_private`."""
        self._engine.keep_private(state)

    def close(self) -> None:
        """See `ports.engine.Engine.close`."""
        with self._guard:
            if self._made is not None:
                self._made.close()

    @property
    def _engine(self) -> DockerEngine:
        with self._guard:
            return self._engine_held()

    def _engine_held(self) -> DockerEngine:
        """The same, for who holds the guard."""
        if self._made is None:
            from reeval_build.engines.docker.engine import DockerEngine  # noqa: PLC0415 - see above

            self._made = DockerEngine(self._objects, scratch=self._scratch, known=self._found, wanted=self._wanted)
        return self._made


def _not_known() -> str:
    """What an engine runs by itself takes a question that is not a quick one."""
    raise LookupError


def find_image(name: str) -> BaseImage | None:
    """The image called `name` now, if an engine on this machine has it and that can be told at once.

    None says nothing: the engine may be elsewhere, or be away, or not have the image, or have much to say about it.
    """
    path = _socket_path()
    if path is None:
        return None
    try:
        return read_image(name, _ask(path, f"/images/{quote(name, safe='/:')}/json"))
    except (OSError, ValueError, LookupError, TypeError, AttributeError):
        return None


def find_platform() -> str | None:
    """The platform of an engine on this machine, if that can be told at once."""
    path = _socket_path()
    if path is None:
        return None
    try:
        version = _ask(path, "/version")
        return f"{version['Os']}/{version['Arch']}"
    except (OSError, ValueError, LookupError, TypeError, AttributeError):
        return None


def _socket_path() -> str | None:
    """The socket of the engine that Docker's own client would use, unless its settings say more than that."""
    if "DOCKER_CONTEXT" in os.environ or os.environ.get("DOCKER_TLS_VERIFY"):
        return None
    address = os.environ.get("DOCKER_HOST")
    if address:
        return address.removeprefix(_LOCAL) if address.startswith(f"{_LOCAL}/") else None
    return _DEFAULT if _context() == "default" else None


def _context() -> object:
    """The context that is in use, by the settings of Docker's own client."""
    directory = os.environ.get("DOCKER_CONFIG") or os.path.expanduser("~/.docker")
    try:
        with open(os.path.join(directory, "config.json"), "rb") as stream:
            return json.load(stream).get("currentContext") or "default"
    except FileNotFoundError:
        return "default"
    except (OSError, ValueError, AttributeError):
        return None


def _ask(path: str, what: str) -> Mapping[str, Any]:
    """What the engine answers. Raises OSError or ValueError for anything but a plain answer."""
    import socket  # noqa: PLC0415 - only for who asks

    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(_TIMEOUT_S)
        connection.connect(path)
        # Of this version, an answer is in one piece and ends with the connection.
        connection.sendall(f"GET {what} HTTP/1.0\r\nHost: docker\r\n\r\n".encode("ascii"))
        answer = bytearray()
        while chunk := connection.recv(_CHUNK_BYTES):
            answer += chunk
            if len(answer) > _MOST_BYTES:
                raise ValueError("it says too much")
    head, _separator, body = bytes(answer).partition(b"\r\n\r\n")
    status = head.split(b"\r\n", 1)[0].split(b" ")
    if status[1:2] != [b"200"]:
        raise ValueError("it is no answer")
    return cast("Mapping[str, Any]", json.loads(body))
