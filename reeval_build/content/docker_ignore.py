"""The rules of a `.dockerignore`, as Docker's own builders apply them.

They are not those of `.gitignore`: patterns are anchored, a directory that is left out can have something put back.
Rule: moby's `patternmatcher` and `ignorefile`.
"""

from __future__ import annotations

import posixpath
import re
from typing import TYPE_CHECKING, Final

import attrs

from reeval_build.tree.selection import Choice

if TYPE_CHECKING:
    from reeval_build.paths import Parts

_CLASS: Final = re.compile(r"\[\^?(?:(?:\\.|[^\\\]-])(?:-(?:\\.|[^\\\]-]))?)+\]")


# What Python's sets have a meaning for, or will have, and Docker's have not.
_SET_OPERATORS: Final = re.compile(r"\\.|[\[&|~]", re.DOTALL)


class BadPatternError(ValueError):
    """A line that is no pattern; `line` counts from one."""

    def __init__(self, line: int, pattern: str) -> None:
        super().__init__(f'line {line}: "{pattern}" is no pattern')
        self.line, self.pattern = line, pattern


@attrs.frozen
class _Pattern:
    """A pattern; `puts_back` is for one after an exclamation mark."""

    text: str
    puts_back: bool
    expression: re.Pattern[str]


class DockerIgnore:
    """What of a directory a builder is sent. See `tree.selection.Selection`; safe to use from several threads.

    Raises:
        BadPatternError: for a line that Docker would refuse.
    """

    def __init__(self, data: bytes) -> None:
        self._patterns = tuple(_read(data))
        self._puts_back = any(pattern.puts_back for pattern in self._patterns)
        self._at_once = re.compile(
            "|".join(f"(?:{one.expression.pattern})" for one in self._patterns) or r"(?!)", re.DOTALL
        )
        # What each pattern said of a directory, and whether that is left out.
        self._above: dict[Parts, tuple[bool, ...]] = {(): (False,) * len(self._patterns)}

    @property
    def key(self) -> bytes:
        """See `tree.selection.Selection.key`."""
        return "\n".join(f"{'!' if one.puts_back else ''}{one.text}" for one in self._patterns).encode(
            "utf-8", "surrogateescape"
        )

    def choose(self, parts: Parts, *, is_directory: bool) -> Choice:
        """See `tree.selection.Selection.choose`."""
        path = b"/".join(parts).decode("utf-8", "surrogateescape")
        if not self._puts_back:
            return Choice.LEFT_OUT if self._at_once.fullmatch(path) else Choice.KEPT
        said, is_left_out = self._say(path, self._above[parts[:-1]])
        if is_directory:
            self._above[parts] = said
        if not is_left_out:
            return Choice.KEPT
        return Choice.ENTERED if is_directory else Choice.LEFT_OUT

    def _say(self, path: str, above: tuple[bool, ...]) -> tuple[tuple[bool, ...], bool]:
        """Which patterns are about a path or a directory above it, and whether it is left out; the last one counts."""
        said, is_left_out = [], False
        for pattern, was_said in zip(self._patterns, above, strict=True):
            # As Docker does: a pattern that would change nothing is not asked, and so says nothing of what is below.
            is_said = was_said or (pattern.puts_back == is_left_out and pattern.expression.fullmatch(path) is not None)
            said.append(is_said)
            if is_said:
                is_left_out = not pattern.puts_back
        return tuple(said), is_left_out


def _read(data: bytes) -> list[_Pattern]:
    found = []
    text = data.removeprefix(b"\xef\xbb\xbf").decode("utf-8", "surrogateescape")
    for number, line in enumerate(text.split("\n"), 1):
        pattern = line.strip()
        if line.startswith("#") or not pattern:
            continue
        puts_back = pattern.startswith("!")
        if puts_back:
            pattern = pattern[1:].strip()
            if not pattern:
                raise BadPatternError(number, line.strip())
        pattern = _clean(pattern)
        if puts_back and pattern == "/":
            raise BadPatternError(number, line.strip())
        try:
            found.append(_Pattern(pattern, puts_back, re.compile(_expression(pattern), re.DOTALL)))
        except (ValueError, re.error) as error:
            raise BadPatternError(number, line.strip()) from error
    return found


def _clean(pattern: str) -> str:
    """The shortest path that says the same, without the slash that it may begin with."""
    cleaned = posixpath.normpath(pattern)
    # Two slashes at the beginning are kept there, for POSIX gives them a meaning.
    cleaned = cleaned[1:] if cleaned.startswith("//") else cleaned
    return cleaned[1:] if len(cleaned) > 1 and cleaned.startswith("/") else cleaned


def _expression(pattern: str) -> str:
    """A pattern as a regular expression for a whole path. Raises ValueError for what Docker would refuse."""
    made, at = [], 0
    while at < len(pattern):
        character = pattern[at]
        at += 1
        if character == "*" and pattern.startswith("*", at):
            at += 2 if pattern.startswith("/", at + 1) else 1
            made.append(".*" if at >= len(pattern) else "(?:.*/)?")
        elif character == "*":
            made.append("[^/]*")
        elif character == "?":
            made.append("[^/]")
        elif character == "\\":
            if at == len(pattern):
                raise ValueError(pattern)
            made.append(re.escape(pattern[at]))
            at += 1
        elif character == "[":
            match = _CLASS.match(pattern, at - 1)
            if match is None:
                raise ValueError(pattern)
            made.append("[" + _SET_OPERATORS.sub(lambda one: one[0] if one[0][1:] else f"\\{one[0]}", match[0][1:]))
            at = match.end()
        else:
            made.append(re.escape(character))
    return "".join(made)
