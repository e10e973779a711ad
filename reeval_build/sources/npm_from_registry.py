"""Packages of registries: which version is meant, and the archive that it has."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import attrs

from reeval_build.plan.resolution import ResolvedPackage
from reeval_build.sources.archives import check_size
from reeval_build.sources.npm_cache import KnownPackage
from reeval_build.sources.npm_errors import WrongBytesError, package_label
from reeval_build.sources.npm_integrity import agrees, integrity_of, sha512_in
from reeval_build.sources.npm_registry import configured_registry

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from reeval_build.sources.npm_cache import PackageCache
    from reeval_build.sources.npm_client import NpmClient
    from reeval_build.sources.npm_specs import RegistrySpec

_ITS_REGISTRY_SAYS: Final = "its registry says"


class RegistryPackages:
    """Resolves and fetches packages of registries.

    The identity of a version is the SHA-512 of its archive, as its registry names it, so that nothing need be fetched
    of what is built already. What is fetched is checked against it, whatever npm did. A version that was resolved once
    is known from then on, as in a lock file.
    """

    def __init__(self, cache: PackageCache, client: NpmClient, *, project: Path | None) -> None:
        self._cache = cache
        self._client = client
        self._project = project

    def resolve(self, package: RegistrySpec) -> ResolvedPackage:
        """The one version that `package` stands for now. Raises NpmPackageError."""
        found = self._known(package, package.version)
        if found is None:
            found = self._ask(package)
        return attrs.evolve(found, warnings=package.warnings(found.version))

    def fetch(self, package: RegistrySpec, resolved: ResolvedPackage) -> None:
        """Keep the archive of a version. Raises NpmPackageError when it is not what was resolved."""
        self._fetch(package, f"{resolved.name}@{resolved.version}", lambda _version: resolved.integrity)

    def _known(self, package: RegistrySpec, version: str | None) -> ResolvedPackage | None:
        known = None if version is None else self._cache.find(self._registry(package), package.name, version)
        if known is None:
            return None
        return ResolvedPackage(name=known.name, version=known.version, integrity=known.integrity)

    def _ask(self, package: RegistrySpec) -> ResolvedPackage:
        named = f"{package.name}@{package.wanted or 'latest'}"
        with self._cache.scratch() as scratch:
            offers = self._client.offers(package.text, named, scratch, registry=package.registry)
        integrity = sha512_in(offers[0].integrity) if len(offers) == 1 else None
        if integrity is None:
            # Of the versions in a range npm chooses, by rules of its own; of a SHA-1 alone nothing follows.
            claims = {offer.version: offer.integrity for offer in offers}
            return self._fetch(package, named, lambda version: claims.get(version, ""))
        found = ResolvedPackage(name=offers[0].name, version=offers[0].version, integrity=integrity)
        return self._remember(package, found)

    def _fetch(self, package: RegistrySpec, named: str, claim_of: Callable[[str], str]) -> ResolvedPackage:
        with self._cache.scratch() as scratch:
            packed = self._client.fetch(package.text, named, scratch, registry=package.registry)
            claimed = claim_of(packed.version)
            with packed.archive.open("rb") as archive:
                check_size(archive, name=package_label(package.text))
                integrity = integrity_of(archive)
                if not agrees(archive, claimed):
                    raise WrongBytesError(package.text, expected=claimed, actual=integrity, says=_ITS_REGISTRY_SAYS)
            self._cache.keep(packed.archive, integrity)
        return self._remember(package, ResolvedPackage(name=packed.name, version=packed.version, integrity=integrity))

    def _remember(self, package: RegistrySpec, found: ResolvedPackage) -> ResolvedPackage:
        known = self._known(package, found.version)
        if known is None:
            found_now = KnownPackage(name=found.name, version=found.version, integrity=found.integrity)
            self._cache.remember(self._registry(package), package.name, found.version, known=found_now)
        elif known.integrity != found.integrity:
            raise WrongBytesError(
                package.text, expected=known.integrity, actual=found.integrity, says=f"{found.version} had once"
            )
        return found

    def _registry(self, package: RegistrySpec) -> str:
        return package.registry or configured_registry(package.name, self._project)
