"""What an author's spec of an npm package stands for: pure rules."""

from __future__ import annotations

import re
from typing import Final, TypeAlias

import attrs

from reeval_build.sources.npm_errors import UnsupportedSpecError, package_label

_FILE: Final = "file:"
# Of what npm allowed once, names in capitals still exist. A range is made of versions, operators, blanks and bars.
_REGISTRY: Final = re.compile(
    r"(?P<name>(@[a-z0-9~-][\w.~-]*/)?[a-z0-9~][\w.~-]*)(@(?P<wanted>[\w.+~^<>=|* -]*))?", re.ASCII | re.IGNORECASE
)
# With no host before it, or an empty one.
_ABSOLUTE: Final = re.compile(r"(//)?(?P<path>/(?!/)[^\0]*)", re.DOTALL)
_MAX_NAME_LENGTH: Final = 214
_NUMBER: Final = r"(0|[1-9][0-9]*)"
_EXACT: Final = re.compile(rf"[v=]?(?P<version>{_NUMBER}\.{_NUMBER}\.{_NUMBER}(-[0-9A-Za-z.-]+)?)(\+[0-9A-Za-z.-]+)?")


@attrs.frozen
class RegistrySpec:
    """A package of a registry: `wanted` is a version, a range or a tag, or empty for whatever npm takes then.

    `registry` is a URL when it is not the one of the user's configuration.
    """

    text: str
    name: str
    wanted: str
    registry: str | None = None

    @property
    def version(self) -> str | None:
        """The one version that is meant, if it is only one."""
        exact = _EXACT.fullmatch(self.wanted)
        return None if exact is None else exact["version"]

    def warnings(self, version: str) -> tuple[str, ...]:
        """What an author must know who did not name a version, which is `version` now."""
        if self.version is not None:
            return ()
        cause = "is not pinned to one version" if self.wanted else "names no version"
        return (f"{package_label(self.text)} {cause} and is {version} now: results are not comparable over time",)


@attrs.frozen
class PathSpec:
    """A package that is a directory or an archive of the host."""

    text: str
    path: str


PackageSpec: TypeAlias = RegistrySpec | PathSpec


def parse_spec(text: str, *, registry: str | None = None) -> PackageSpec:
    """What `text` stands for, asked of `registry` if it is one of a registry.

    The path of `file:` is taken as it is written: nothing in it is decoded.

    Raises:
        UnsupportedSpecError: for git repositories, URLs, aliases, relative paths, and what npm would not take.
    """
    if text.startswith(_FILE):
        if found := _ABSOLUTE.fullmatch(text.removeprefix(_FILE)):
            return PathSpec(text, found["path"])
    elif (found := _REGISTRY.fullmatch(text)) and len(found["name"]) <= _MAX_NAME_LENGTH:
        return RegistrySpec(text, found["name"], (found["wanted"] or "").strip(), registry)
    raise UnsupportedSpecError(text)
