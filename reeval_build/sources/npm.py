"""Reads npm packages: those of registries, and those that are directories and archives of the host."""

from __future__ import annotations

import errno
from typing import TYPE_CHECKING, Final

from reeval_build.sources.archives import read_archive
from reeval_build.sources.npm_cache import PackageCache
from reeval_build.sources.npm_client import NpmClient
from reeval_build.sources.npm_errors import PackageCacheError, package_label
from reeval_build.sources.npm_from_host import HostPackages, is_tree, tree_identity
from reeval_build.sources.npm_from_registry import RegistryPackages
from reeval_build.sources.npm_specs import PathSpec, parse_spec

if TYPE_CHECKING:
    from pathlib import Path

    from reeval_build.digest import Digest
    from reeval_build.plan.resolution import ResolvedPackage
    from reeval_build.ports.engine import Cancellation
    from reeval_build.ports.objects import Batch
    from reeval_build.sources.npm_specs import PackageSpec

_TIMEOUT_S: Final = 120.0
_FETCHES: Final = 3


class NpmPackages:
    """See `ports.sources.Packages`.

    Args:
        cache: where archives, and which version has which, are kept; it may be removed at any time.
        project: a directory whose `.npmrc` counts, as for npm when it is run there; the user's always does.
        timeout_s: for how long npm may run at a time.
        cancel: ends an npm that runs when it is set.
    """

    def __init__(
        self,
        cache: Path,
        *,
        project: Path | None = None,
        timeout_s: float = _TIMEOUT_S,
        cancel: Cancellation | None = None,
    ) -> None:
        self._cache = PackageCache(cache)
        client = NpmClient(project=project, timeout_s=timeout_s, cancel=cancel)
        self._from_registry = RegistryPackages(self._cache, client, project=project)
        self._from_host = HostPackages(self._cache, client)

    def resolve(self, spec: str, *, registry: str | None = None) -> ResolvedPackage:
        """See `ports.sources.Packages.resolve`."""
        package = parse_spec(spec, registry=registry)
        with self._cache.errors():
            if isinstance(package, PathSpec):
                return self._from_host.resolve(package)
            return self._from_registry.resolve(package)

    def read(self, spec: str, resolved: ResolvedPackage, batch: Batch, *, registry: str | None = None) -> Digest:
        """See `ports.sources.Packages.read`."""
        tree = self._read_kept(spec, resolved, batch)
        # What is kept and not open yet may be removed to get room.
        for _ in range(_FETCHES):
            if tree is not None:
                return tree
            self._fetch(parse_spec(spec, registry=registry), resolved)
            tree = self._read_kept(spec, resolved, batch)
        if tree is None:
            raise PackageCacheError(self._cache.root, OSError(errno.ENOENT, "an archive was removed meanwhile"))
        return tree

    def _fetch(self, package: PackageSpec, resolved: ResolvedPackage) -> None:
        with self._cache.errors():
            if isinstance(package, PathSpec):
                self._from_host.fetch(package, resolved)
            else:
                self._from_registry.fetch(package, resolved)

    def _read_kept(self, spec: str, resolved: ResolvedPackage, batch: Batch) -> Digest | None:
        """The tree of a package, or None when its archive is not kept, or does not have what it should have."""
        integrity = resolved.integrity
        if is_tree(integrity):
            known = self._cache.find(integrity)
            if known is None:
                return None
            integrity = known.integrity
        with self._cache.opened(integrity) as archive:
            if archive is None:
                return None
            tree = read_archive(archive, batch, name=package_label(spec))
        return None if is_tree(resolved.integrity) and tree_identity(tree) != resolved.integrity else tree
