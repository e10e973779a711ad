"""The instructions of a Dockerfile, each with where its words are in the file."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

import attrs

if TYPE_CHECKING:
    from collections.abc import Iterator

_DIRECTIVE: Final = re.compile(r"(?:#|//)\s*([A-Za-z][A-Za-z0-9]*)\s*=\s*(\S|\S.*?\S)\s*")
_SHEBANG: Final = "#!"
_ESCAPES: Final = ("\\", "`")
_INSTRUCTION: Final = re.compile(r"\s*([A-Za-z]+)(?=\s|$)")
_WORD: Final = re.compile(r"""(?:[^\s"'\\]|\\.|"(?:[^"\\]|\\.)*"|'[^']*'|["'\\])+""", re.DOTALL)
_HEREDOC: Final = re.compile(r"\d*<<(-?)([^<]+)")
_WITH_HEREDOCS: Final = ("ADD", "COPY", "RUN")
_BOM: Final = "\ufeff"


class DockerfileError(ValueError):
    """A Dockerfile that cannot be used; `line` counts from one."""

    def __init__(self, line: int, reason: str) -> None:
        super().__init__(f"line {line}: {reason}")
        self.line, self.reason = line, reason


@attrs.frozen
class Word:
    """A word of an instruction, and where it is in the file: from `start` to before `end`."""

    text: str
    start: int
    end: int


@attrs.frozen(kw_only=True)
class Instruction:
    """An instruction. `name` is in capitals, `line` counts from one; `is_trigger` says that ONBUILD is before it."""

    name: str
    words: tuple[Word, ...]
    line: int
    is_trigger: bool = False


@attrs.frozen
class Directive:
    """A directive such as `# syntax=...`, of which `start` and `end` are those of its line."""

    name: str
    value: str
    start: int
    end: int


class _Lines:
    """The lines of a file, one after the other."""

    def __init__(self, text: str) -> None:
        self._lines = re.findall(r"[^\n]*\n|[^\n]+", text)
        self._next = self._offset = 0

    def __iter__(self) -> Iterator[tuple[int, int, str]]:
        while (line := self.take()) is not None:
            yield line

    def take(self) -> tuple[int, int, str] | None:
        """The number of the next line, where it begins, and what is in it."""
        if self._next == len(self._lines):
            return None
        line, start = self._lines[self._next], self._offset
        self._next += 1
        self._offset += len(line)
        return self._next, start, line.removesuffix("\n")


def read_directives(text: str) -> tuple[Directive, ...]:
    """The directives at the top of a Dockerfile, in all forms that some builder knows: below `#!`, and after `//`."""
    found: dict[str, Directive] = {}
    for _number, start, line in _Lines(text):
        content = line.removeprefix(_BOM) if start == 0 else line
        if start == 0 and content.startswith(_SHEBANG):
            continue
        match = _DIRECTIVE.fullmatch(content.strip())
        if match is None or match[1].lower() in found:
            break
        name = match[1].lower()
        found[name] = Directive(name, match[2], start + len(line) - len(content), start + len(line))
    return tuple(found.values())


def read_instructions(text: str) -> Iterator[Instruction]:
    """The instructions of a Dockerfile, as Docker's builders take its lines together.

    Raises:
        DockerfileError: for an `escape` that is none.
    """
    escape = _escape(text)
    continued = re.compile(rf"(?:^|[^{re.escape(escape)}]){re.escape(escape)}[ \t\r]*$")
    lines = _Lines(text)
    for number, start, line in lines:
        if _is_left_out(line):
            continue
        characters: list[str] = []
        places: list[int] = []
        _take(
            line.removeprefix(_BOM) if start == 0 else line,
            start + (start == 0 and line.startswith(_BOM)),
            characters,
            places,
        )
        last = line
        while continued.search(last):
            _drop_escape(characters, places, escape)
            following = lines.take()
            while following is not None and _is_left_out(following[2]):
                following = lines.take()
            if following is None:
                break
            _take(following[2], following[1], characters, places)
            last = following[2]
        yield from _instruction("".join(characters), places, number, lines)


def _escape(text: str) -> str:
    """What a line ends with that goes on. Below `#!`, builders look for a syntax, and for no `escape`."""
    if not text.removeprefix(_BOM).startswith(_SHEBANG):
        for directive in read_directives(text):
            if directive.name == "escape":
                if directive.value not in _ESCAPES:
                    line = text.count("\n", 0, directive.start) + 1
                    raise DockerfileError(line, f"escape={directive.value} is neither \\ nor `")
                return directive.value
    return "\\"


def _is_left_out(line: str) -> bool:
    stripped = line.strip().removeprefix(_BOM)
    return not stripped or stripped.startswith("#")


def _take(line: str, start: int, characters: list[str], places: list[int]) -> None:
    characters += line
    places += range(start, start + len(line))


def _drop_escape(characters: list[str], places: list[int], escape: str) -> None:
    while characters.pop() != escape:
        places.pop()
    places.pop()


def _instruction(text: str, places: list[int], line: int, lines: _Lines) -> Iterator[Instruction]:
    words = [Word(match[0], places[match.start()], places[match.end() - 1] + 1) for match in _WORD.finditer(text)]
    if not words:
        return
    is_trigger = words[0].text.upper() == "ONBUILD"
    names = words[1:] if is_trigger else words
    if not names:
        return
    name = names[0].text.upper()
    if name in _WITH_HEREDOCS:
        for word in names[1:]:
            _skip_heredoc(word.text, lines)
    yield Instruction(name=name, words=tuple(names[1:]), line=line, is_trigger=is_trigger)


def _skip_heredoc(word: str, lines: _Lines) -> None:
    match = _HEREDOC.fullmatch(word)
    if match is None:
        return
    end = re.sub(r"""["'\\]""", "", match[2])
    for _number, _start, line in lines:
        if (line.lstrip("\t") if match[1] else line).removesuffix("\r") == end:
            return
