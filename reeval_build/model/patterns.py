"""Gitignore-style patterns over the paths of a directory."""

from __future__ import annotations

import re
from fnmatch import translate
from typing import TYPE_CHECKING

import attrs

from reeval_build.model.reading import Refused
from reeval_build.model.shown import got, is_text

if TYPE_CHECKING:
    from collections.abc import Sequence


@attrs.frozen(kw_only=True)
class Pattern:
    """One pattern.

    `*`, `?` and `[a-z]` stay within one name, `**` is any number of directories. A `/` that is not the last character
    ties the pattern to the root; without one it matches a name at any depth. A `/` at the end makes it match
    directories only. `!` in front makes what it matches `excludes`.
    """

    text: str
    excludes: bool
    directories_only: bool

    _names: tuple[re.Pattern[str] | None, ...] = attrs.field(eq=False, repr=False, alias="names")

    @classmethod
    def parse(cls, value: object) -> Pattern:
        """A pattern as it is written. Raises Refused for what can match nothing."""
        if not is_text(value):
            raise Refused(f"must be a pattern such as *.md {got(value)}")
        if "\\" in value:
            raise Refused(f"must be a pattern with forward slashes {got(value)}")
        body = value.removeprefix("!")
        anchored = "/" in body.removesuffix("/")
        names = body.removesuffix("/").removeprefix("/").split("/")
        if any(name in {"", ".", ".."} for name in names):
            raise Refused(f'must be a pattern without empty names, "." and ".." {got(value)}')
        if names[-1] == "**":
            names.append("*")
        if not anchored:
            names.insert(0, "**")
        return cls(
            text=value,
            excludes=value.startswith("!"),
            directories_only=body.endswith("/"),
            names=tuple(None if name == "**" else _name(name) for name in names),
        )

    def matches(self, path: str, *, is_directory: bool) -> bool:
        """Whether it matches this very path; what is below a directory that matches is for the caller to know."""
        return (is_directory or not self.directories_only) and _match(self._names, path.split("/"))


def _name(name: str) -> re.Pattern[str]:
    # What `translate` makes never takes long, however many stars there are.
    return re.compile(translate(name.replace("[^", "[!")))


def _match(patterns: Sequence[re.Pattern[str] | None], names: Sequence[str]) -> bool:
    """Whether patterns of names match names, of which None matches any number: with one step back, never more."""
    at = next_pattern = 0
    any_number, from_name = -1, 0
    while at < len(names):
        is_left = next_pattern < len(patterns)
        pattern = patterns[next_pattern] if is_left else None
        if is_left and pattern is None:
            any_number, from_name = next_pattern, at
            next_pattern += 1
        elif pattern is not None and pattern.match(names[at]):
            at, next_pattern = at + 1, next_pattern + 1
        elif any_number >= 0:
            from_name += 1
            at, next_pattern = from_name, any_number + 1
        else:
            return False
    return all(pattern is None for pattern in patterns[next_pattern:])


@attrs.frozen
class Selection:
    """Which files of a directory some ordered patterns include. The last that matches a path, or one above it, decides.

    Rule: reeval's documentation, "with no including pattern, every file starts included".
    """

    patterns: tuple[Pattern, ...]

    def decide(self, path: str, *, is_directory: bool, above: int = -1) -> int:
        """The place of the pattern that decides on a path, -1 for none; `above` is that for its directory."""
        for at in range(len(self.patterns) - 1, above, -1):
            if self.patterns[at].matches(path, is_directory=is_directory):
                return at
        return above

    def includes(self, decided: int) -> bool:
        """Whether a file that this pattern decides on is included."""
        if decided < 0:
            return all(pattern.excludes for pattern in self.patterns)
        return not self.patterns[decided].excludes

    def may_include_below(self, decided: int) -> bool:
        """Whether a directory that this pattern decides on may have included files below it."""
        return self.includes(decided) or any(not pattern.excludes for pattern in self.patterns[decided + 1 :])
