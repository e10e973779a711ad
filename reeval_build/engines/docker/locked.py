"""What of the images that an engine has is meant by a name, when it may be locked."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import attrs

from reeval_build.model.image_names import is_pinned, read_image_name
from reeval_build.model.platforms import is_same_platform
from reeval_build.plan.locks import LOCK_NAME, LockedImage, NotLockedError
from reeval_build.plan.resolution import Base

if TYPE_CHECKING:
    from collections.abc import Callable

    from reeval_build.digest import Digest
    from reeval_build.engines.docker.base_image import BaseImage
    from reeval_build.plan.locks import Terms

    Finder = Callable[[str], BaseImage | None]


OWN_REPOSITORY: Final = "reeval-build/base"


def own_name(content: Digest) -> str:
    """What an image is called that would have no name in the engine otherwise."""
    return f"{OWN_REPOSITORY}:{content.hex}"


@attrs.frozen(kw_only=True)
class Wanted:
    """An image that is wanted by what it is locked as; `moved` says that its name is another image's in the engine."""

    name: str
    platform: str
    locked: LockedImage
    moved: bool = False

    @property
    def references(self) -> tuple[str, ...]:
        """What the engine has it as, if it has it."""
        own = () if self.locked.image is None else (self.locked.image,)
        return (*own, *self.sources, self.name, own_name(self.locked.content))

    @property
    def sources(self) -> tuple[str, ...]:
        """What it can be pulled as: nothing for an image that only engines have."""
        name = read_image_name(self.name)
        if name is None or self.locked.digest is None:
            return ()
        return (name.at(self.locked.digest),)

    def in_engine(self, find: Finder) -> BaseImage | None:
        """The image, if the engine has it."""
        images = map(find, self.references)
        return next((image for image in images if image is not None and image.identity == self.locked.content), None)

    def itself(self, find: Finder) -> BaseImage | None:
        """The very image, not one of the same content, if the engine has it."""
        for reference in self.references:
            image = find(reference)
            if image is not None and image.identity == self.locked.content and self._is(image, reference):
                return image
        return None

    def _is(self, image: BaseImage, reference: str) -> bool:
        if reference == self.name:
            return self.locked.image == image.image_id or self.locked.digest in registry_digests(image)
        return reference != own_name(self.locked.content) or self.locked.image is None

    @property
    def base(self) -> Base:
        """What the plan has of it."""
        warning = (
            f"image {self.name!r} is used as {LOCK_NAME} has it, and the engine has another one of that name: "
            f"`reeval-build lock update {self.name}` locks what it is now"
        )
        return Base(
            identity=self.locked.content,
            platform=self.platform,
            locked=self.locked,
            warnings=(warning,) if self.moved else (),
        )


def choose(
    name: str, named: BaseImage | None, terms: Terms, *, platform: Callable[[], str]
) -> BaseImage | Wanted | None:
    """What `name` is, from the image that the engine has of that name, if any; None when it is to be pulled.

    `platform` gives the engine's own, and is asked only when nothing else says for which the image is.

    Raises:
        NotLockedError: when it must be locked and is not.
    """
    if named is not None and terms.platform is not None and not is_same_platform(terms.platform, named.platform):
        named = None
    if is_pinned(name):
        return named
    here = terms.platform or _platform_here(named, terms, platform)
    locked = terms.locked_for(here)
    if locked is not None:
        if named is not None and named.identity == locked[1].content:
            return named
        return Wanted(name=name, platform=locked[0], locked=locked[1], moved=named is not None)
    if terms.must_be_locked:
        raise NotLockedError(name, here)
    return named


def _platform_here(named: BaseImage | None, terms: Terms, platform: Callable[[], str]) -> str:
    """The platform of what the engine has, but the engine's own when only that is locked."""
    if named is None:
        return platform()
    if not terms.locked or terms.locked_for(named.platform) is not None or terms.locked_for(platform()) is None:
        return named.platform
    return platform()


def base_of_nothing(image: BaseImage) -> Base:
    """What the plan has of what nothing is in: there is nothing to lock."""
    return Base(identity=image.identity, platform=image.platform)


def base_of(image: BaseImage, terms: Terms) -> Base:
    """What the plan has of an image that the engine has."""
    if is_pinned(image.name):
        return Base(identity=image.identity, platform=image.platform)
    known = terms.locked_for(image.platform)
    if known is not None and known[1].content == image.identity and not terms.is_newest:
        # The way it is written in the lock stays, also where this engine would write it otherwise.
        return Base(identity=image.identity, platform=known[0], locked=known[1])
    locked = lock_of(image)
    warning = (
        f"image {image.name!r} is locked as this engine has it: no registry is known to have it, "
        "so no other machine can fetch it"
    )
    return Base(
        identity=image.identity,
        platform=image.platform,
        locked=locked,
        warnings=(warning,) if locked.digest is None else (),
    )


def lock_of(image: BaseImage) -> LockedImage:
    """What to lock an image as: by a digest of the registry that its name is of, if the engine knows one."""
    digest = next(iter(sorted(registry_digests(image))), None)
    return LockedImage(content=image.identity, digest=digest, image=image.image_id if digest is None else None)


def registry_digests(image: BaseImage) -> frozenset[str]:
    """The digests of an image in the repository that it is named after."""
    name = read_image_name(image.name)
    known = map(read_image_name, image.digests)
    return frozenset(one.digest for one in known if name and one and one.digest and one.repository == name.repository)
