"""How a lock file compares with what definitions name, and with what is there now."""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs

from reeval_build.model.image_names import is_pinned, read_image_name
from reeval_build.model.platforms import choose_platform
from reeval_build.plan.harness_check import HarnessCheck
from reeval_build.plan.locks import LockedImage

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from reeval_build.plan.locks import Images


@attrs.frozen(kw_only=True)
class MovedImage:
    """An image of which its registry has something else than what is locked."""

    name: str
    platform: str
    locked: str
    now: str


@attrs.frozen(kw_only=True)
class LockCheck:
    """What is wrong with a lock file.

    `missing` are images that are named and not locked, `unused` those that are locked and not named. `unfetchable`
    are names and platforms of images that only engines have. `moved` is None when no registry was asked. `harnesses` is
    the same of harnesses.
    """

    missing: tuple[str, ...]
    unused: tuple[str, ...]
    unfetchable: tuple[tuple[str, str], ...]
    moved: tuple[MovedImage, ...] | None = None
    harnesses: HarnessCheck = attrs.field(factory=HarnessCheck)

    @property
    def is_current(self) -> bool:
        """Whether exactly what is named is locked."""
        return not (self.missing or self.unused or self.harnesses.missing or self.harnesses.unused)


@attrs.frozen(kw_only=True)
class LockChange:
    """An image that is locked now, was until now, or both, for one platform."""

    name: str
    platform: str
    before: LockedImage | None
    after: LockedImage | None


def lockable_names(images: Iterable[str]) -> tuple[str, ...]:
    """Those names of images that may stand for something else one day, as they are written in a lock file; sorted."""
    read = (read_image_name(image) for image in images if not is_pinned(image))
    return tuple(sorted({str(name) for name in read if name is not None}))


def compare_locks(images: Iterable[str], locked: Images, *, platform: str | None) -> LockCheck:
    """How what is locked compares with the images that definitions name.

    Without a platform, an image is locked when it is for one.
    """
    names = lockable_names(images)
    return LockCheck(
        missing=tuple(name for name in names if not _is_locked(locked, name, platform)),
        unused=tuple(sorted(locked.keys() - set(names))),
        unfetchable=tuple(
            (name, one) for name in sorted(locked) for one in sorted(locked[name]) if locked[name][one].digest is None
        ),
    )


def moved_images(locked: Images, digest_now: Callable[[str], str]) -> tuple[MovedImage, ...]:
    """Those images of registries that are something else now. Each name is asked for once."""
    moved = []
    for name in sorted(locked):
        digests = {platform: one.digest for platform, one in locked[name].items() if one.digest is not None}
        now = digest_now(name) if digests else ""
        moved += [
            MovedImage(name=name, platform=platform, locked=digest, now=now)
            for platform, digest in sorted(digests.items())
            if digest != now
        ]
    return tuple(moved)


def _is_locked(locked: Images, name: str, platform: str | None) -> bool:
    platforms = locked.get(name, {})
    return bool(platforms) if platform is None else choose_platform(platform, platforms) is not None
