"""How the harnesses of a lock file compare with what a project asks for, and with what there is now."""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs

from reeval_build.plan.locks import LockedHarness, locked_as_asked

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from reeval_build.model.harness_recipes import HarnessRecipe
    from reeval_build.plan.locks import Harnesses


@attrs.frozen(kw_only=True)
class MovedHarness:
    """A harness of which its registry has something else than what is locked: another version, or other bytes."""

    kind: str
    locked: LockedHarness
    now: LockedHarness


@attrs.frozen(kw_only=True)
class HarnessCheck:
    """What is wrong with the harnesses of a lock file, by kind.

    `missing` are those that are asked for and not locked so, `unused` those that are locked and not asked for. `moved`
    is None when no registry was asked.
    """

    missing: tuple[str, ...] = ()
    unused: tuple[str, ...] = ()
    moved: tuple[MovedHarness, ...] | None = None


@attrs.frozen(kw_only=True)
class HarnessChange:
    """A harness that is locked now, was until now, or both."""

    kind: str
    before: LockedHarness | None
    after: LockedHarness | None


def lockable_harnesses(recipes: Iterable[HarnessRecipe]) -> tuple[HarnessRecipe, ...]:
    """Those recipes that may install something else one day: of packages; sorted by kind."""
    return tuple(sorted((one for one in recipes if one.package is not None), key=lambda one: one.kind))


def compare_harnesses(recipes: Iterable[HarnessRecipe], locked: Harnesses) -> HarnessCheck:
    """How what is locked compares with what a project asks for."""
    asked = lockable_harnesses(recipes)
    return HarnessCheck(
        missing=tuple(one.kind for one in asked if locked_as_asked(one, locked) is None),
        unused=tuple(sorted(locked.keys() - {one.kind for one in asked})),
    )


def moved_harnesses(
    recipes: Iterable[HarnessRecipe], locked: Harnesses, now: Callable[[HarnessRecipe], LockedHarness]
) -> tuple[MovedHarness, ...]:
    """Those harnesses, of those that are locked as they are asked for, that are something else `now`."""
    moved = []
    for recipe in lockable_harnesses(recipes):
        before = locked_as_asked(recipe, locked)
        if before is not None and (after := now(recipe)) != before:
            moved.append(MovedHarness(kind=recipe.kind, locked=before, now=after))
    return tuple(moved)
