"""Locks what harnesses are now."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from reeval_build.errors import InfraError, PlanError
from reeval_build.execute.harness_locks import harness_now
from reeval_build.execute.questions import Questions
from reeval_build.plan.harness_check import HarnessChange, lockable_harnesses

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from reeval_build.execute.context import Context
    from reeval_build.model.harness_recipes import HarnessRecipe
    from reeval_build.plan.locks import Harnesses, LockedHarness, Locks


class NoPackageError(PlanError):
    """A harness that is to be locked anew, and is not a package that the project asks for."""

    def __init__(self, kind: str, problem: str, *, hint: str | None = None) -> None:
        super().__init__(f"harness {kind!r} {problem}", hint=hint)
        self.kind = kind


def asked_harnesses(names: Sequence[str], context: Context) -> tuple[HarnessRecipe, ...]:
    """Those harnesses of the project that are among `names`, or all that can be locked when there are no names.

    Raises:
        NoPackageError: for a name of a harness of which there is nothing to lock.
    """
    if not names:
        return lockable_harnesses(context.harnesses.values())
    chosen = dict.fromkeys(name for name in names if name in context.harnesses or name in context.locks.now.harnesses)
    return tuple(_lockable(kind, context) for kind in chosen)


def _lockable(kind: str, context: Context) -> HarnessRecipe:
    recipe = context.harnesses.get(kind)
    if recipe is None:
        raise NoPackageError(
            kind,
            f"is locked, and no [tool.reeval-build.harness.{kind}] asks for it",
            hint="`reeval-build lock update` without a name removes it",
        )
    if recipe.package is None:
        raise NoPackageError(kind, "is installed by commands of the project: there is nothing to lock")
    return recipe


def harnesses_now(
    recipes: Iterable[HarnessRecipe], context: Context, *, jobs: int
) -> tuple[dict[str, LockedHarness], list[InfraError]]:
    """What harnesses are in their registry now, by kind, and why the others cannot be had."""
    found = Questions(context, jobs)(recipes, partial(harness_now, packages=context.packages))
    failed = [answer for answer in found.values() if isinstance(answer, InfraError)]
    return {recipe.kind: answer for recipe, answer in found.items() if not isinstance(answer, InfraError)}, failed


def with_harnesses(locks: Locks, after: Harnesses, *, is_whole: bool) -> Locks:
    """The same, with harnesses locked so, and no others when that is all of them."""
    if is_whole:
        for kind in locks.harnesses:
            locks = locks.without_harness(kind)
    for kind, locked in after.items():
        locks = locks.with_harness(kind, locked)
    return locks


def harness_changes(before: Harnesses, after: Harnesses, *, is_whole: bool) -> tuple[HarnessChange, ...]:
    """What became of each harness that was looked up, or that was locked before when those are all."""
    kinds = before.keys() | after.keys() if is_whole else after.keys()
    return tuple(HarnessChange(kind=kind, before=before.get(kind), after=after.get(kind)) for kind in sorted(kinds))
