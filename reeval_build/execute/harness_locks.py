"""Finds out which version of a harness a project asks for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reeval_build.errors import DefinitionError, InfraError, PlanError
from reeval_build.model.harness_recipes import is_integrity, is_version
from reeval_build.plan.harnesses import npm_install, own_install
from reeval_build.plan.locks import LockedHarness

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from reeval_build.execute.context import Context
    from reeval_build.execute.questions import Questions
    from reeval_build.model.harness_recipes import HarnessRecipe
    from reeval_build.plan.harnesses import HarnessInstall
    from reeval_build.ports.sources import Packages


def resolve_harnesses(
    recipes: Iterable[HarnessRecipe], context: Context, ask: Questions
) -> Mapping[str, HarnessInstall | InfraError]:
    """What installs each harness, as it is locked; what is not locked is looked up, and locked by the next `keep`.

    Raises:
        DefinitionError: with every harness that must be locked and is not.
        PlanError: when the lock file cannot be read.
    """
    recipes = tuple(recipes)
    if any(recipe.package is not None for recipe in recipes):
        context.locks.load()

    def resolve_one(recipe: HarnessRecipe) -> HarnessInstall | PlanError:
        if recipe.package is None:
            return own_install(recipe)
        try:
            locked = context.locks.harness(recipe)
        except PlanError as error:
            return error
        if locked is None:
            locked = harness_now(recipe, context.packages)
            context.locks.note_harness(recipe.kind, locked)
        return npm_install(recipe, locked)

    found = ask(recipes, resolve_one)
    refused = [answer for answer in found.values() if isinstance(answer, PlanError)]
    if refused:
        raise DefinitionError(*map(str, refused))
    return {recipe.kind: answer for recipe, answer in found.items() if not isinstance(answer, PlanError)}


def harness_now(recipe: HarnessRecipe, packages: Packages) -> LockedHarness:
    """What the package of a recipe is in its registry now.

    Raises:
        InfraError: when it is not there, or npm or the registry does not answer.
    """
    assert recipe.package is not None, "only packages are in a registry"
    assert recipe.version is not None, "a package is asked for by a version or a tag"
    spec = f"{recipe.package}@{recipe.version}"
    found = packages.resolve(spec)
    # These become words of a command.
    if not is_version(found.version) or not is_integrity(found.integrity):
        said = f"version {found.version!r} with integrity {found.integrity!r}"
        raise InfraError(f'npm package "{spec}" is {said} in its registry, which cannot be installed')
    return LockedHarness(
        package=recipe.package, requested=recipe.version, version=found.version, integrity=found.integrity
    )
