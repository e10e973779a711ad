"""What can be wrong with an npm package, as sentences that name it as its author wrote it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, ClassVar, Final

from reeval_build.errors import InfraError

if TYPE_CHECKING:
    from pathlib import Path

_USER_IN_URL: Final = re.compile(r"(?<=//)[^/@\s]+@")


def package_label(spec: str) -> str:
    """What messages call a package."""
    return f'npm package "{without_credentials(spec)}"'


def without_credentials(text: str) -> str:
    """`text` without the user and password that URLs in it may have."""
    return _USER_IN_URL.sub("", text)


class NpmPackageError(InfraError):
    """A package cannot be had."""

    def __init__(self, spec: str, problem: str, *, hint: str | None = None) -> None:
        super().__init__(f"{package_label(spec)} {problem}", hint=hint)
        self.spec = spec


class UnsupportedSpecError(NpmPackageError):
    """The spec is of a kind that is not read, or is none at all."""

    def __init__(self, spec: str) -> None:
        super().__init__(
            spec,
            'is neither a name in a registry nor "file:" with an absolute path',
            hint='write "name@1.2.3" or "file:/path/to/it"; for a git repository use the git helper',
        )


class NoNpmError(NpmPackageError):
    """The npm program is not there, or does not run."""

    def __init__(self, spec: str, reason: str) -> None:
        super().__init__(
            spec, f"needs npm, which {reason}", hint="install Node.js with npm 9 or later, and see that it is on PATH"
        )
        self.reason = reason


class NoSuchPackageError(NpmPackageError):
    """The registry has no package of that name."""

    def __init__(self, spec: str) -> None:
        super().__init__(
            spec,
            "is not in its registry",
            hint="check its spelling, and the registry in your .npmrc; a registry may say so of a private package too",
        )


class NoSuchVersionError(NpmPackageError):
    """The package has no version that the spec allows."""

    def __init__(self, spec: str) -> None:
        super().__init__(spec, "has no such version", hint="`npm view NAME versions dist-tags` lists those that it has")


class RegistryRefusalError(NpmPackageError):
    """The registry does not let us have the package."""

    def __init__(self, spec: str, reason: str) -> None:
        super().__init__(
            spec,
            f"is refused by its registry: {reason}",
            hint="log in with `npm login`, or put a token that may read it into your .npmrc",
        )
        self.reason = reason


class RegistryAwayError(NpmPackageError):
    """The registry does not answer, or not with what was asked for."""

    category: ClassVar[str] = "network"

    def __init__(self, spec: str, reason: str) -> None:
        super().__init__(
            spec,
            f"cannot be fetched: {reason}",
            hint="check your network, and the registry and proxy in your .npmrc; an exact version that was fetched"
            " before needs neither",
        )
        self.reason = reason


class WrongBytesError(NpmPackageError):
    """The archive does not have the bytes that it should have."""

    def __init__(self, spec: str, *, expected: str, actual: str, says: str) -> None:
        super().__init__(
            spec,
            f"has other bytes than {says}: they are {actual}, not {expected}",
            hint="a version never changes; ask who published it, and do not use it until you know",
        )
        self.expected, self.actual = expected, actual


class NoPackagePathError(NpmPackageError):
    """There is no directory or archive of a package where the spec says, or it cannot be read."""

    def __init__(self, spec: str, reason: str) -> None:
        super().__init__(spec, reason, hint="name a directory with a package.json, or what `npm pack` made of one")
        self.reason = reason


class ChangedPackageError(NpmPackageError):
    """A directory is not what it was when the plan was made."""

    def __init__(self, spec: str) -> None:
        super().__init__(spec, "was changed after it was looked at", hint="run again when nothing writes to it")


class NpmFailureError(NpmPackageError):
    """npm did not do what it was asked to, for a reason of its own."""

    def __init__(self, spec: str, reason: str) -> None:
        super().__init__(spec, f"cannot be had: npm says {reason}", hint="see what `npm pack` says of it")
        self.reason = reason


class PackageCacheError(InfraError):
    """The directory for fetched packages cannot be used."""

    def __init__(self, directory: Path, error: OSError) -> None:
        super().__init__(
            f"npm packages cannot be kept in {directory}: {error}",
            hint="make room or give access to it, or choose another store",
        )
        self.directory = directory
