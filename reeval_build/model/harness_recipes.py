"""How a project has the programs of harnesses installed."""

from __future__ import annotations

import re
from typing import Final

import attrs

LATEST: Final = "latest"
# Some of these programs have 400 MB.
INSTALL_TIMEOUT_S: Final = 900.0
_MAX_LENGTH: Final = 100
_NUMBER: Final = r"(?:0|[1-9][0-9]*)"
_EXACT: Final = re.compile(rf"{_NUMBER}\.{_NUMBER}\.{_NUMBER}(?:-[0-9A-Za-z.-]+)?(?:\+[0-9A-Za-z.-]+)?")
# npm takes what begins so for a version or a range, and every other word for a tag.
_RANGE: Final = re.compile(r"[vV]?(?:[0-9].*|[xX](?:\..*)?)|[vV]")
_WORD: Final = re.compile(r"[0-9A-Za-z][0-9A-Za-z._+-]*")
_SHA512: Final = re.compile(r"sha512-[0-9A-Za-z+/]{86}==")


@attrs.frozen
class NpmProgram:
    """A program that is a public npm package, and the command that says whether it works."""

    package: str
    smoke: str


NPM_PROGRAMS: Final = {
    "claude-code": NpmProgram("@anthropic-ai/claude-code", "claude --version"),
    "codex": NpmProgram("@openai/codex", "codex --version"),
    "opencode": NpmProgram("opencode-ai", "opencode --version"),
    "pi": NpmProgram("@earendil-works/pi-coding-agent", "pi --version"),
}
"""What the registry had on 2026-12-01. Other kinds have no public npm package that is known here."""


@attrs.frozen(kw_only=True)
class HarnessRecipe:
    """How the program of one kind of harness gets into a sandbox.

    Either `package` is the npm package that it is, and `version` one version or a tag of it; or `install` are the
    project's own commands, and `version` is what people call what these install, None for nothing. `timeout_s` is for
    each command.
    """

    kind: str
    smoke: str
    package: str | None = None
    version: str | None = None
    install: tuple[str, ...] = ()

    timeout_s: float = attrs.field(default=INSTALL_TIMEOUT_S, eq=False)


def is_version(text: str) -> bool:
    """Whether that is one version of an npm package, as the registry writes it."""
    return len(text) <= _MAX_LENGTH and _EXACT.fullmatch(text) is not None


def is_version_or_tag(text: str) -> bool:
    """Whether that is one version of an npm package or a tag of it, and no range of versions."""
    return is_version(text) or (is_word(text) and _RANGE.fullmatch(text) is None)


def is_word(text: str) -> bool:
    """Whether that can stand for a version in front of people: letters, digits, dots and the like."""
    return len(text) <= _MAX_LENGTH and _WORD.fullmatch(text) is not None


def is_integrity(text: str) -> bool:
    """Whether that is the SHA-512 of the archive of an npm package, as the registry writes it."""
    return _SHA512.fullmatch(text) is not None
