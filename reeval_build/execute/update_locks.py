"""Locks what images and harnesses are now."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING

from reeval_build.errors import InfraError, PlanError
from reeval_build.execute.questions import Questions
from reeval_build.execute.update_harness_locks import (
    asked_harnesses,
    harness_changes,
    harnesses_now,
    with_harnesses,
)
from reeval_build.model.image_names import read_image_name
from reeval_build.model.platforms import choose_platform
from reeval_build.model.spec import DockerSandbox
from reeval_build.plan.lock_check import LockChange, lockable_names
from reeval_build.plan.locks import LOCK_NAME, Terms

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from reeval_build.execute.context import Context
    from reeval_build.plan.harness_check import HarnessChange
    from reeval_build.plan.locks import Images, LockedImage, Locks


class UnlockedNameError(PlanError):
    """An image that is to be locked anew, and is not locked."""

    def __init__(self, name: str, images: Iterable[str], harnesses: Iterable[str]) -> None:
        near = difflib.get_close_matches(name.removesuffix(":latest"), harnesses, n=1)
        near += difflib.get_close_matches(name, images, n=1)
        super().__init__(
            f"image {name!r} is not in {LOCK_NAME}",
            hint=f"did you mean {near[0]!r}?" if near else "without a name, what the definitions here name is locked",
        )
        self.name = name


def update_locks(
    images: Iterable[str], names: Iterable[str], context: Context, *, jobs: int
) -> tuple[LockChange | HarnessChange, ...]:
    """Lock what each of `images` and each harness of the project is now, and nothing else; or those of `names`.

    A name is that of an image which is locked already, or the kind of a harness. An image is looked up for every
    platform that it is locked for, and for the one that is wanted. Nothing is written unless all of it was found.

    Raises:
        UnlockedNameError: for a name that is not locked.
        NoPackageError: for a harness of which there is nothing to lock.
        MissingPlatformError: for an image that is not there for a platform any more.
        PlanError: when the lock file cannot be read.
        InfraError: with every image that cannot be had.
        OSError: when the lock file cannot be written.
    """
    before, names = context.locks.now.images, tuple(names)
    is_whole = not names
    recipes = asked_harnesses(names, context)
    of_images = [name for name in names if name not in {recipe.kind for recipe in recipes}]
    chosen = tuple(_locked_name(name, before, context.harnesses) for name in of_images)
    wanted = lockable_names(images) if is_whole else chosen

    def now(name: str) -> dict[str, LockedImage] | PlanError:
        found: dict[str, LockedImage] = {}
        try:
            # One after the other: where an engine keeps images, one digest is of one platform at a time.
            for platform in _platforms(before.get(name, {}), context.locks.platform):
                terms = Terms(platform=platform, is_newest=True)
                base = context.engines("docker").resolve(DockerSandbox(image=name), terms=terms, cancel=context.cancel)
                if base.locked is not None:
                    found[base.platform] = base.locked
        except PlanError as error:
            return error
        return found

    after: dict[str, dict[str, LockedImage]] = {}
    failed: list[InfraError] = []
    for name, answer in Questions(context, jobs)(wanted, now).items():
        match answer:
            case PlanError():
                raise answer
            case InfraError():
                failed.append(answer)
            case _:
                after[name] = answer
    harnesses, without = harnesses_now(recipes, context, jobs=jobs)
    failed += without
    if failed:
        raise failed[0] if len(failed) == 1 else InfraError("; ".join(map(str, failed)))
    context.locks.change(
        lambda locks: with_harnesses(_updated(locks, after, is_whole=is_whole), harnesses, is_whole=is_whole)
    )
    return (
        *_changes(before if is_whole else {name: before[name] for name in chosen}, after),
        *harness_changes(context.locks.now.harnesses, harnesses, is_whole=is_whole),
    )


def _updated(locks: Locks, after: Images, *, is_whole: bool) -> Locks:
    for name in locks.images:
        if is_whole or name in after:
            locks = locks.without(name)
    for name, platforms in after.items():
        for platform, locked in platforms.items():
            locks = locks.with_image(name, platform, locked)
    return locks


def _locked_name(text: str, locked: Images, harnesses: Iterable[str]) -> str:
    name = str(read_image_name(text) or text)
    if name not in locked:
        raise UnlockedNameError(name, locked, harnesses)
    return name


def _platforms(locked: Mapping[str, LockedImage], wanted: str | None) -> tuple[str | None, ...]:
    if not locked:
        return (wanted,)
    is_there = wanted is None or choose_platform(wanted, locked) is not None
    return tuple(sorted(locked)) if is_there else (*sorted(locked), wanted)


def _changes(before: Images, after: Images) -> tuple[LockChange, ...]:
    keys = {
        (name, platform) for images in (before, after) for name, platforms in images.items() for platform in platforms
    }
    return tuple(
        LockChange(
            name=name,
            platform=platform,
            before=before.get(name, {}).get(platform),
            after=after.get(name, {}).get(platform),
        )
        for name, platform in sorted(keys)
    )
