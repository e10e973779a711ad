"""Which paths of a skill its `exclude` patterns leave out."""

from __future__ import annotations

import re
from functools import cached_property
from typing import TYPE_CHECKING

import attrs

from reeval_build.tree.directory import Kind

if TYPE_CHECKING:
    from collections.abc import Iterable

    from reeval_build.digest import Digest
    from reeval_build.paths import Parts
    from reeval_build.tree.directory import Loader

_GIT = b".git"


@attrs.frozen(kw_only=True)
class _Pattern:
    """One pattern: an expression for the whole path when `anchored`, else for the last name."""

    expression: re.Pattern[bytes]
    anchored: bool
    only_directories: bool

    def matches(self, parts: Parts, kind: Kind) -> bool:
        if self.only_directories and kind is not Kind.DIRECTORY:
            return False
        subject = b"/".join(parts) if self.anchored else parts[-1]
        return self.expression.fullmatch(subject) is not None


@attrs.frozen
class Exclusion:
    """What a list of patterns leaves out; `.git` is always among it.

    Rule: reeval's documentation, `exclude` of `skill.local`: `*` matches within one name; a leading or inner `/`
    anchors to the skill's root; a trailing `/` matches directories; any other pattern matches a name at any depth.
    """

    patterns: tuple[str, ...]

    @classmethod
    def of(cls, patterns: Iterable[str]) -> Exclusion:
        """What `patterns` leave out; one that names nothing ("" or "/") leaves out nothing."""
        return cls(tuple(text for text in patterns if text.strip("/")))

    @cached_property
    def _read(self) -> tuple[_Pattern, ...]:
        return tuple(_pattern(text) for text in self.patterns)

    def leaves_out(self, parts: Parts, kind: Kind) -> bool:
        """Whether the entry at `parts` is left out, with all that is below it."""
        return parts[-1] == _GIT or any(pattern.matches(parts, kind) for pattern in self._read)

    def topmost(self, tree: Digest, load: Loader) -> list[Parts]:
        """The paths in `tree` that are left out, none of them below another."""
        out: list[Parts] = []
        pending: list[tuple[Parts, Digest]] = [((), tree)]
        while pending:
            above, digest = pending.pop()
            for name, entry in sorted(load(digest).items()):
                parts = (*above, name)
                if self.leaves_out(parts, entry.kind):
                    out.append(parts)
                elif entry.kind is Kind.DIRECTORY:
                    pending.append((parts, entry.content))
        return out


def _pattern(text: str) -> _Pattern:
    # What is not Unicode text cannot be a name that was written down as text, and so matches nothing.
    body = text.encode("utf-8", "surrogatepass").removesuffix(b"/")
    anchored = b"/" in body
    pieces = body.removeprefix(b"/").split(b"*")
    expression = b"[^/]*".join(re.escape(piece) for piece in pieces)
    return _Pattern(
        expression=re.compile(expression, re.DOTALL), anchored=anchored, only_directories=text.endswith("/")
    )
