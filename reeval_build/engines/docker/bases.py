"""Base images: what they are by content, and where the engine has them."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

from docker.errors import NotFound

from reeval_build.engines.docker.base_image import BaseImage, read_image
from reeval_build.engines.docker.connection import EngineRefusalError, one_line
from reeval_build.errors import CancelledError, InfraError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from reeval_build.digest import Digest
    from reeval_build.engines.docker.connection import Connection
    from reeval_build.ports.engine import Cancellation


class MissingImageError(InfraError):
    """An image that the engine neither has nor can pull."""

    def __init__(self, name: str, reason: str) -> None:
        super().__init__(
            f"image {name!r} is not in the engine and could not be pulled: {reason}",
            hint="check the name, `docker login` to its registry, or build it under this name",
        )
        self.name, self.reason = name, reason


class MovedImageError(InfraError):
    """An image that went away during the run, and whose name is another image's now."""

    def __init__(self, name: str) -> None:
        super().__init__(f"image {name!r} is not what it was when the run began", hint="run the command again")
        self.name = name


class BaseImages:
    """The base images of an engine, of which some are `known`; safe to use from several threads."""

    def __init__(self, connection: Connection, known: Iterable[BaseImage] = ()) -> None:
        self._connection = connection
        self._known = {image.identity: image for image in known}
        self._guard = threading.Lock()

    def resolve(self, name: str, cancel: Cancellation) -> BaseImage:
        """The image called `name` now; it is pulled when the engine has none of that name.

        Raises:
            MissingImageError: when there is none.
        """
        try:
            details = self._connection.find_image(name)
        except EngineRefusalError as error:
            raise MissingImageError(name, error.reason) from error
        if details is None:
            self._pull(name, cancel)
            details = self._connection.find_image(name)
        if details is None:
            raise MissingImageError(name, "the engine does not have it after pulling it")
        image = read_image(name, details)
        with self._guard:
            self._known[image.identity] = image
        return image

    def find(self, identity: Digest, cancel: Cancellation) -> BaseImage:
        """The image that was resolved as `identity`, pulled again if the engine lost it since.

        Raises:
            MissingImageError: when it is lost for good.
            MovedImageError: when its name is another image's now.
        """
        with self._guard:
            image = self._known[identity]
        if self._connection.find_image(image.image_id) is not None:
            return image
        again = self.resolve(image.name, cancel)
        if again.identity != identity:
            raise MovedImageError(image.name)
        return again

    def _pull(self, name: str, cancel: Cancellation) -> None:
        try:
            with self._connection.asked_to(f"pull image {name!r}"):
                try:
                    events = list(_until(cancel, self._connection.patient.pull(name, stream=True, decode=True)))
                except NotFound as error:
                    raise MissingImageError(name, one_line(error.explanation or str(error))) from error
        except EngineRefusalError as error:
            raise MissingImageError(name, error.reason) from error
        for event in events:
            if "error" in event:
                raise MissingImageError(name, one_line(event["error"]))


def _until(cancel: Cancellation, events: Iterable[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    for event in events:
        if cancel.is_set():
            raise CancelledError
        yield event
