"""Base images: what they are by content, and where the engine has them."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import attrs

from reeval_build.engines.docker.base_image import BaseImage, empty_image, read_image
from reeval_build.engines.docker.connection import EngineRefusalError
from reeval_build.engines.docker.locked import (
    Wanted,
    base_of,
    base_of_nothing,
    choose,
    lock_of,
    own_name,
    registry_digests,
)
from reeval_build.engines.docker.registry import MissingImageError, Registries
from reeval_build.errors import InfraError
from reeval_build.model.image_names import read_image_name
from reeval_build.model.platforms import choose_platform, is_same_platform
from reeval_build.plan.locks import MissingPlatformError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from reeval_build.digest import Digest
    from reeval_build.engines.docker.connection import Connection
    from reeval_build.plan.dockerfiles import FromImage
    from reeval_build.plan.locks import Terms
    from reeval_build.plan.resolution import Base
    from reeval_build.ports.engine import Cancellation


class LostImageError(InfraError):
    """An image that only engines have, and this one does not as it is locked."""

    def __init__(self, name: str) -> None:
        super().__init__(
            f"image {name!r} is locked as an engine had it, no registry is known to have that, and this engine has not",
            hint=f"build or load it as it was, or run `reeval-build lock update {name}` to lock what it is now",
        )
        self.name = name


class OtherContentError(InfraError):
    """What an image is locked as is, under its digest, something else."""

    def __init__(self, name: str, reference: str) -> None:
        super().__init__(
            f"image {name!r} is locked as a content that {reference} is not: the two do not belong together",
            hint=f"run `reeval-build lock update {name}`, unless somebody edited the lock file",
        )
        self.name, self.reference = name, reference


def _as_pulled(image: BaseImage, digest: str | None) -> BaseImage:
    """An image that was just pulled by its name, with no other digest than the one it was pulled by, where it is known.

    An engine gives one digest to one image, so it may not say that an index has the image for a second platform.
    """
    name = read_image_name(image.name)
    return image if digest is None or name is None else attrs.evolve(image, digests=(name.at(digest),))


class BaseImages:
    """The base images of an engine, of which some are `known`; safe to use from several threads."""

    def __init__(self, connection: Connection, known: Iterable[BaseImage] = (), wanted: Iterable[Wanted] = ()) -> None:
        self._connection = connection
        self._registries = Registries(connection)
        self._found = {image.identity: image for image in known}
        self._wanted = {one.locked.content: one for one in wanted}
        self._guard = threading.Lock()

    def resolve(self, name: str, terms: Terms, cancel: Cancellation) -> Base:
        """What the image called `name` is, on these terms. See `ports.engine.Engine.resolve`.

        Raises:
            MissingImageError: when there is none.
            MissingPlatformError: when there is none for the platform.
            NotLockedError: when it must be locked and is not.
        """
        named = self._find_named(name)
        if terms.is_newest:
            return self._keep(self._newest(name, named, terms, cancel), terms)
        chosen = choose(name, named, terms, platform=self._own_platform)
        if chosen is None:
            # What comes may be of a platform that is locked, under another of its names.
            chosen = choose(name, self._pull(name, named, terms, cancel), terms, platform=self._own_platform)
            assert chosen is not None, "there is an image of that name now"
        if isinstance(chosen, BaseImage):
            return self._keep(chosen, terms)
        with self._guard:
            self._wanted[chosen.locked.content] = chosen
        return chosen.base

    def find(self, identity: Digest, cancel: Cancellation) -> BaseImage:
        """The image that was resolved as `identity`, pulled if the engine does not have it, or lost it since.

        Raises:
            LostImageError: when it is lost, and no registry has it.
            MissingImageError: when it cannot be pulled.
        """
        with self._guard:
            image = self._found.get(identity)
            wanted = self._wanted.get(identity)
        if image is not None and not image.image_id:
            return image
        if image is not None and self._connection.find_image(image.image_id) is not None:
            return image
        if wanted is None:
            assert image is not None, "a state's base was resolved before"
            wanted = Wanted(name=image.name, platform=image.platform, locked=lock_of(image))
        found = wanted.in_engine(self._find) or self._pull_locked(wanted, cancel)
        with self._guard:
            self._found[identity] = found
        return found

    def scratch(self, platform: str | None) -> Base:
        """See `ports.engine.Engine.scratch`."""
        image = empty_image(platform or self._own_platform())
        with self._guard:
            self._found[image.identity] = image
        return base_of_nothing(image)

    def find_locked(self, wanted: FromImage, cancel: Cancellation) -> BaseImage:
        """The very image that one of a Dockerfile is locked as, pulled if the engine does not have it.

        Not any of the same content: what is built on it depends on more than that.

        Raises:
            LostImageError: when it is lost, and no registry has it.
            MissingImageError: when it cannot be pulled.
        """
        if wanted.locked is None:
            return self.find(wanted.content, cancel)
        one = Wanted(name=wanted.name, platform=wanted.platform, locked=wanted.locked)
        return one.itself(self._find) or self._pull_locked(one, cancel)

    def _keep(self, image: BaseImage, terms: Terms) -> Base:
        with self._guard:
            self._found[image.identity] = image
        return base_of(image, terms)

    def _find(self, reference: str) -> BaseImage | None:
        details = self._connection.find_image(reference)
        return None if details is None else read_image(reference, details)

    def _find_named(self, name: str) -> BaseImage | None:
        try:
            return self._find(name)
        except EngineRefusalError as error:
            raise MissingImageError(name, error.reason) from error

    def _own_platform(self) -> str:
        with self._connection.asked_to("say what it is"):
            version = self._connection.quick.version()
        return f"{version['Os']}/{version['Arch']}"

    def _newest(self, name: str, named: BaseImage | None, terms: Terms, cancel: Cancellation) -> BaseImage:
        """What its registry has of that name now, or the engine, when it has one of its own making."""
        if named is not None and not registry_digests(named) and self._will_do(named, terms):
            return named
        return self._pull(name, named, terms, cancel)

    def _will_do(self, image: BaseImage, terms: Terms) -> bool:
        return terms.platform is None or is_same_platform(terms.platform, image.platform)

    def _pull(self, name: str, named: BaseImage | None, terms: Terms, cancel: Cancellation) -> BaseImage:
        """Pull an image. When the engine has its name for another platform, that gets the name back afterwards.

        Raises:
            MissingImageError: when it cannot be pulled.
            MissingPlatformError: when there is none for the platform.
        """
        if named is None or self._will_do(named, terms):
            return self._pull_named(name, terms, cancel)
        assert terms.platform is not None, "the image would do"
        if not registry_digests(named):
            raise MissingPlatformError(name, terms.platform, (named.platform,))
        try:
            image = self._pull_named(name, terms, cancel)
            self._name(image)
        finally:
            self._tag(named.image_id, name)
        return image

    def _pull_named(self, name: str, terms: Terms, cancel: Cancellation) -> BaseImage:
        try:
            digest = self._registries.pull(name, cancel, platform=terms.platform)
        except MissingImageError:
            self._check_platform(name, terms.platform or self._own_platform())
            raise
        details = self._connection.find_image(name)
        if details is None:
            raise MissingImageError(name, "the engine does not have it after pulling it")
        image = _as_pulled(read_image(name, details), digest)
        if terms.platform is not None and not is_same_platform(terms.platform, image.platform):
            self._check_platform(name, terms.platform)
            raise MissingPlatformError(name, terms.platform, (image.platform,))
        return image

    def _name(self, image: BaseImage) -> None:
        """Give an image a name of ours, where it has no other that would last."""
        self._tag(image.image_id, own_name(image.identity))

    def _tag(self, image_id: str, name: str) -> None:
        parsed = read_image_name(name)
        if parsed is None or parsed.tag is None:
            return
        with self._connection.asked_to(f"give an image the name {name!r}"):
            self._connection.quick.tag(image_id, parsed.repository, parsed.tag, force=True)

    def _check_platform(self, name: str, platform: str) -> None:
        """Raise MissingPlatformError if the registry says that this is why."""
        try:
            offer = self._registries.offer(name)
        except MissingImageError:
            return
        if offer.platforms and choose_platform(platform, offer.platforms) is None:
            raise MissingPlatformError(name, platform, offer.platforms)

    def _pull_locked(self, wanted: Wanted, cancel: Cancellation) -> BaseImage:
        if not wanted.sources:
            raise LostImageError(wanted.name)
        (reference,) = wanted.sources
        try:
            self._registries.pull(reference, cancel, platform=wanted.platform)
        except MissingImageError:
            # One digest is of one image in an engine: when it is that of another platform, what was pulled is there
            # all the same, and has no name.
            nameless = self._find_nameless(wanted.locked.content)
            if nameless is None:
                raise
            self._name(nameless)
            return nameless
        found = self._find(reference)
        if found is None:
            raise MissingImageError(reference, "the engine does not have it after pulling it")
        if found.identity != wanted.locked.content:
            raise OtherContentError(wanted.name, reference)
        return found

    def _find_nameless(self, content: Digest) -> BaseImage | None:
        with self._connection.asked_to("look for images without a name"):
            ids = [one["Id"] for one in self._connection.quick.images(all=True, filters={"dangling": True})]
        images = map(self._find, ids)
        return next((image for image in images if image is not None and image.identity == content), None)
