"""What npm sees in a test: a registry, a user with a configuration, and nothing of whoever runs the tests."""

from __future__ import annotations

import os
import shutil
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

import pytest

from reeval_build.sources.npm import NpmPackages
from reeval_build.sources.npm_errors import RegistryAwayError
from tests.sources.npm_registry import PRIVATE, TOKEN, npm_registry
from tests.sources.trees import show

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from reeval_build.plan.resolution import ResolvedPackage
    from reeval_build.ports.objects import Objects
    from reeval_build.ports.sources import Packages
    from tests.sources.npm_registry import NpmRegistry
    from tests.sources.trees import Shown

# Where everything must be there, these tests fail without npm.
NEEDS_NPM = pytest.mark.skipif(
    shutil.which("npm") is None and os.environ.get("REEVAL_BUILD_TEST_ENGINE") != "required",
    reason="npm is not installed",
)

# What the public registry is asked for, to see whether it is there.
PUBLIC: Final = "which@4.0.0"


def needs_public_registry(directory: Path) -> ResolvedPackage:
    """Skip a test where the public registry is away, unless everything must be there; what it says of a package."""
    try:
        return NpmPackages(directory / "npm").resolve(PUBLIC)
    except RegistryAwayError as error:
        if os.environ.get("REEVAL_BUILD_TEST_ENGINE") == "required":
            raise
        pytest.skip(str(error))


def own_environment() -> dict[str, str]:
    """The environment of whoever runs the tests, with what says to npm which registry to ask and how."""
    return {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}


class NpmWorld:
    """A registry, and packages that are read from it as the user who has the token."""

    def __init__(
        self, directory: Path, registry: NpmRegistry, objects: Objects, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        self.cache = directory / "cache"
        self.npmrc = directory / "npmrc"
        self.registry = registry
        self._objects = objects
        self._monkeypatch = monkeypatch

    def packages(self, *, project: Path | None = None, timeout_s: float = 60) -> Packages:
        """Packages as the next run has them, with the cache of those before."""
        return NpmPackages(self.cache, project=project, timeout_s=timeout_s)

    def resolve(self, spec: str) -> ResolvedPackage:
        return self.packages().resolve(spec)

    def read(self, spec: str, resolved: ResolvedPackage | None = None, *, packages: Packages | None = None) -> Shown:
        packages = packages or self.packages()
        resolved = resolved or packages.resolve(spec)
        with self._objects.batch() as batch:
            tree = packages.read(spec, resolved, batch)
        return show(self._objects, tree)

    def without_npm(self) -> None:
        """From now on there is no npm, and so no network."""
        self._monkeypatch.setenv("PATH", str(self.cache / "nothing-here"))


@contextmanager
def npm_world(directory: Path, objects: Objects, monkeypatch: pytest.MonkeyPatch) -> Iterator[NpmWorld]:
    for name in os.environ:
        if name.lower().startswith("npm_"):
            monkeypatch.delenv(name)
    with npm_registry() as registry:
        world = NpmWorld(directory, registry, objects, monkeypatch)
        world.npmrc.write_text(
            f"registry={registry.url}/public/\n"
            f"@acme:registry={registry.url}/{PRIVATE}/\n"
            f"//{registry.host}/{PRIVATE}/:_authToken=${{REGISTRY_TOKEN}}\n"
        )
        monkeypatch.setenv("NPM_CONFIG_USERCONFIG", str(world.npmrc))
        monkeypatch.setenv("REGISTRY_TOKEN", TOKEN)
        yield world
