"""What images and harnesses are locked as, and on what terms the base of an image is looked up."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import attrs

from reeval_build.digest import Digest
from reeval_build.errors import PlanError
from reeval_build.model.platforms import choose_platform

if TYPE_CHECKING:
    from reeval_build.model.harness_recipes import HarnessRecipe

LOCK_NAME: Final = "reeval-build.lock"


@attrs.frozen(kw_only=True)
class LockedImage:
    """What an image is on one platform: `content` is what keys have of it, and the other field is how it is had again.

    `digest` is that of a registry (`sha256:...`), of a manifest or of an index that has one for the platform. `image`
    is the id that an engine gave an image which no registry is known to have. Exactly one of them is there.
    """

    content: Digest
    digest: str | None = None
    image: str | None = attrs.field(default=None)

    @image.validator
    def _is_one_of_two(self, _attribute: object, value: str | None) -> None:
        if (value is None) is (self.digest is None):
            raise ValueError("an image is locked by a digest or by the id that an engine gave it")


@attrs.frozen(kw_only=True)
class LockedHarness:
    """Which version a harness is: of `package`, when `requested`, a version or a tag, is asked for.

    `integrity` is the SHA-512 of the version's archive, as npm writes it.
    """

    package: str
    requested: str
    version: str
    integrity: str


Images: TypeAlias = Mapping[str, Mapping[str, LockedImage]]
"""What images are locked as, by name and platform."""

Harnesses: TypeAlias = Mapping[str, LockedHarness]
"""What harnesses are locked as, by kind."""


def locked_as_asked(recipe: HarnessRecipe, locked: Harnesses) -> LockedHarness | None:
    """What a harness is locked as, or None when it is not, or as something else than what its recipe asks for."""
    found = locked.get(recipe.kind)
    if found is None or (found.package, found.requested) != (recipe.package, recipe.version):
        return None
    return found


@attrs.frozen(kw_only=True)
class Locks:
    """What a lock file says. `others` are sections that this version knows nothing of: they stay as they are."""

    images: Images = attrs.field(factory=dict)
    harnesses: Harnesses = attrs.field(factory=dict)
    others: Mapping[str, Any] = attrs.field(factory=dict)

    def with_image(self, name: str, platform: str, locked: LockedImage) -> Locks:
        """The same, with one image locked so."""
        platforms = {**self.images.get(name, {}), platform: locked}
        return attrs.evolve(self, images={**self.images, name: platforms})

    def without(self, name: str) -> Locks:
        """The same, without an image."""
        return attrs.evolve(self, images={one: self.images[one] for one in self.images if one != name})

    def with_harness(self, kind: str, locked: LockedHarness) -> Locks:
        """The same, with one harness locked so."""
        return attrs.evolve(self, harnesses={**self.harnesses, kind: locked})

    def without_harness(self, kind: str) -> Locks:
        """The same, without a harness."""
        return attrs.evolve(self, harnesses={one: self.harnesses[one] for one in self.harnesses if one != kind})


@attrs.frozen(kw_only=True)
class Terms:
    """How to look up an image.

    `platform` is None for the engine's own. `locked` is what the image is locked as, by platform; `must_be_locked`
    says that it may be nothing else, and `is_newest` that its registry is asked, whatever the engine has.
    """

    platform: str | None = None
    locked: Mapping[str, LockedImage] = attrs.field(factory=dict)
    must_be_locked: bool = False
    is_newest: bool = False

    def locked_for(self, platform: str) -> tuple[str, LockedImage] | None:
        """What it is locked as on a platform, and how that platform is written there."""
        name = choose_platform(platform, self.locked)
        return None if name is None else (name, self.locked[name])


ANY: Final = Terms()


class NotLockedError(PlanError):
    """An image that is not locked, where it has to be; `platform` is None when it is locked for none."""

    def __init__(self, name: str, platform: str | None) -> None:
        super().__init__(
            f"image {name!r} is not in {LOCK_NAME}" + (f" for {platform}" if platform else ""),
            hint="build once without --frozen to lock it, and commit the file",
        )
        self.name, self.platform = name, platform


class HarnessNotLockedError(PlanError):
    """A harness that is not locked as what the project asks for, where it has to be."""

    def __init__(self, kind: str, requested: str) -> None:
        super().__init__(
            f"harness {kind!r} is not in {LOCK_NAME} as {requested!r}",
            hint="build once without --frozen to lock it, and commit the file",
        )
        self.kind, self.requested = kind, requested


class MissingPlatformError(PlanError):
    """An image that there is, but not for a platform."""

    def __init__(self, name: str, platform: str, offered: tuple[str, ...]) -> None:
        super().__init__(
            f"image {name!r} is not there for {platform}: it is there for {', '.join(offered)}",
            hint="choose one of them with --platform, or another image",
        )
        self.name, self.platform, self.offered = name, platform, offered
