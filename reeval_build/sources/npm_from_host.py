"""Packages that are directories or archives of the host."""

from __future__ import annotations

import json
import shutil
import stat
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Final

from reeval_build.digest import Digest
from reeval_build.plan.resolution import ResolvedPackage
from reeval_build.sources.archives import check_size, find_file, read_archive
from reeval_build.sources.npm_cache import KnownPackage
from reeval_build.sources.npm_errors import (
    ChangedPackageError,
    NoPackagePathError,
    UnsupportedSpecError,
    package_label,
)
from reeval_build.sources.npm_integrity import integrity_of
from reeval_build.sources.npm_specs import RegistrySpec, parse_spec

if TYPE_CHECKING:
    from io import BufferedReader

    from reeval_build.digest import Domain
    from reeval_build.sources.npm_cache import PackageCache
    from reeval_build.sources.npm_client import NpmClient
    from reeval_build.sources.npm_specs import PathSpec

_TREE: Final = "tree-"
_MANIFEST: Final = "package.json"
_MAX_MANIFEST_BYTES: Final = 1024**2
_CHUNK_BYTES: Final = 1024**2


class HostPackages:
    """Resolves and fetches packages that are on the host.

    An archive is known by the SHA-512 of its bytes. A directory is known by the tree of what npm packs of it, for the
    bytes of the archive that npm makes depend on the umask, and on the zlib of its node. Either is kept as it was when
    it was resolved, so nothing is read that was written later.
    """

    def __init__(self, cache: PackageCache, client: NpmClient) -> None:
        self._cache = cache
        self._client = client

    def resolve(self, package: PathSpec) -> ResolvedPackage:
        """What is at the path now. Raises NpmPackageError, or ArchiveError."""
        kind = _kind(package, package.path)
        if kind == stat.S_IFDIR:
            if _kind(package, f"{package.path}/{_MANIFEST}") is None:
                raise NoPackagePathError(package.text, f"has no {_MANIFEST}")
            return self._pack(package)
        if kind == stat.S_IFREG:
            return self._copy(package)
        raise NoPackagePathError(package.text, "does not exist" if kind is None else "is no directory and no archive")

    def fetch(self, package: PathSpec, resolved: ResolvedPackage) -> None:
        """Keep the archive of a package. Raises ChangedPackageError when it is not what was resolved."""
        if self.resolve(package).integrity != resolved.integrity:
            raise ChangedPackageError(package.text)

    def _pack(self, package: PathSpec) -> ResolvedPackage:
        with self._cache.scratch() as scratch:
            packed = self._client.pack(package.text, package.path, scratch)
            if not _is_valid(packed.name, packed.version):
                raise _nameless(package)
            with packed.archive.open("rb") as archive:
                integrity = integrity_of(archive)
                identity = tree_identity(read_archive(archive, _Unkept(), name=package_label(package.text)))
            self._cache.keep(packed.archive, integrity)
        known = KnownPackage(name=packed.name, version=packed.version, integrity=integrity)
        self._cache.remember(identity, known=known)
        return ResolvedPackage(name=packed.name, version=packed.version, integrity=identity)

    def _copy(self, package: PathSpec) -> ResolvedPackage:
        label = package_label(package.text)
        with self._cache.scratch() as scratch:
            copy = scratch / "archive"
            with _opened(package) as original, copy.open("wb") as target:
                check_size(original, name=label)
                shutil.copyfileobj(original, target, _CHUNK_BYTES)
            with copy.open("rb") as archive:
                integrity = integrity_of(archive)
                manifest = find_file(archive, (_MANIFEST.encode(),), name=label, limit=_MAX_MANIFEST_BYTES)
            name, version = _name_and_version(package, manifest)
            self._cache.keep(copy, integrity)
        return ResolvedPackage(name=name, version=version, integrity=integrity)


def is_tree(identity: str) -> bool:
    """Whether a package is known by the tree of its files."""
    return identity.startswith(_TREE)


def tree_identity(tree: Digest) -> str:
    """What a package is known by whose files are `tree`."""
    return f"{_TREE}{tree.hex}"


class _Unkept:
    """A batch that keeps nothing, for the digest of a tree alone."""

    def add(self, domain: Domain, data: bytes) -> Digest:
        return domain.digest(data)

    def add_stream(self, domain: Domain, source: BinaryIO) -> tuple[Digest, int]:
        hasher, size = domain.hasher(), 0
        while chunk := source.read(_CHUNK_BYTES):
            hasher.update(chunk)
            size += len(chunk)
        return Digest(hasher.digest()), size


def _kind(package: PathSpec, path: str) -> int | None:
    """What is at a path, as in its mode, or None for nothing."""
    try:
        return stat.S_IFMT(Path(path).stat().st_mode)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise _unreadable(package, error) from error
    except ValueError as error:
        # A NUL, or what no encoding of names has.
        raise NoPackagePathError(package.text, "is no path that a file can have") from error


def _opened(package: PathSpec) -> BufferedReader:
    try:
        return Path(package.path).open("rb")
    except OSError as error:
        raise _unreadable(package, error) from error


def _unreadable(package: PathSpec, error: OSError) -> NoPackagePathError:
    return NoPackagePathError(package.text, f"cannot be read: {(error.strerror or str(error)).lower()}")


def _name_and_version(package: PathSpec, manifest: bytes | None) -> tuple[str, str]:
    try:
        said = json.loads(manifest or b"")
    except (ValueError, RecursionError):
        said = None
    match said:
        case {"name": str(name), "version": str(version)} if _is_valid(name, version):
            return name, version
        case _:
            raise _nameless(package)


def _nameless(package: PathSpec) -> NoPackagePathError:
    return NoPackagePathError(package.text, f"has no {_MANIFEST} with a name and a version that npm takes")


def _is_valid(name: str, version: str) -> bool:
    try:
        spec = parse_spec(f"{name}@{version}")
    except UnsupportedSpecError:
        return False
    return isinstance(spec, RegistrySpec) and spec.name == name and spec.version is not None
