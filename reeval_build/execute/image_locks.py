"""What images and harnesses are locked as, for one run, and what it locks."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from reeval_build.errors import PlanError
from reeval_build.model.image_names import is_pinned, read_image_name
from reeval_build.plan.locks import ANY, HarnessNotLockedError, Locks, NotLockedError, Terms, locked_as_asked

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from reeval_build.model.harness_recipes import HarnessRecipe
    from reeval_build.plan.locks import LockedHarness, LockedImage
    from reeval_build.plan.resolution import Base, BaseName
    from reeval_build.ports.events import Listener
    from reeval_build.ports.locks import LockFile


class ImageLocks:
    """The lock file of a project, read when the first image is looked up.

    Args:
        file: None for a run that has no directory.
        platform: for which images are wanted, None for the engine's own.
        is_frozen: whether nothing may be locked that is not.
    """

    def __init__(self, file: LockFile | None, *, platform: str | None = None, is_frozen: bool = False) -> None:
        self._file = file
        self._new: dict[tuple[str, str], LockedImage] = {}
        self._new_harnesses: dict[str, LockedHarness] = {}
        self.platform = platform
        self._is_frozen = is_frozen

    def load(self) -> None:
        """Read the file, before several threads ask. Raises PlanError when it cannot be read."""
        _ = self.now

    @cached_property
    def now(self) -> Locks:
        """What was locked when this was asked first. Raises PlanError when that cannot be read."""
        return Locks() if self._file is None else self._file.read()

    def terms(self, image: str | None) -> Terms:
        """On what terms to look up an image of that name; of what is no image there are none.

        Raises:
            NotLockedError: when it must be locked, and is for no platform.
        """
        if image is None:
            return ANY
        name = read_image_name(image)
        if name is None or is_pinned(image):
            return Terms(platform=self.platform)
        locked = self.now.images.get(str(name), {})
        if self._is_frozen and not locked:
            raise NotLockedError(image, self.platform)
        return Terms(platform=self.platform, locked=locked, must_be_locked=self._is_frozen)

    def note(self, bases: Mapping[BaseName, Base]) -> None:
        """Lock what images were found to be and are not locked as, once `keep` is called."""
        for name, base in bases.items():
            image = None if name.image is None else read_image_name(name.image)
            if image is None or base.locked is None:
                continue
            if base.platform not in self.now.images.get(str(image), {}):
                self._new[str(image), base.platform] = base.locked

    def harness(self, recipe: HarnessRecipe) -> LockedHarness | None:
        """What a harness is locked as, when it is, and as what its recipe asks for.

        Raises:
            HarnessNotLockedError: when it must be locked, and is not.
        """
        locked = locked_as_asked(recipe, self.now.harnesses)
        if locked is None and self._is_frozen:
            raise HarnessNotLockedError(recipe.kind, recipe.version or "")
        return locked

    def note_harness(self, kind: str, locked: LockedHarness) -> None:
        """Lock what a harness was found to be, once `keep` is called."""
        self._new_harnesses[kind] = locked

    def keep(self, listen: Listener) -> None:
        """Write down what was noted. That it cannot be is said, and stops nothing."""
        if self._file is None or not (self._new or self._new_harnesses):
            return
        from reeval_build.ports.events import LockNotWritten  # noqa: PLC0415 - only a build that locks tells of it

        try:
            self._file.change(self._with_new)
        except PlanError as error:
            listen(LockNotWritten(problem=str(error)))
        except OSError as error:
            listen(LockNotWritten(problem=(error.strerror or str(error)).lower()))
        else:
            self._new.clear()
            self._new_harnesses.clear()

    def change(self, change: Callable[[Locks], Locks]) -> None:
        """See `ports.locks.LockFile.change`. Raises PlanError for a run that has no directory."""
        if self._file is None:
            raise PlanError("the working directory is not there any more, so nothing can be locked")
        self._file.change(change)

    def _with_new(self, locks: Locks) -> Locks:
        """Another process may have been first; what it wrote stays, and was the same unless a name just moved."""
        for (name, platform), locked in self._new.items():
            if platform not in locks.images.get(name, {}):
                locks = locks.with_image(name, platform, locked)
        for kind, harness in self._new_harnesses.items():
            there = locks.harnesses.get(kind)
            if there is None or (there.package, there.requested) != (harness.package, harness.requested):
                locks = locks.with_harness(kind, harness)
        return locks
