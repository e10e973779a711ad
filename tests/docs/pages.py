"""The pages of the documentation, and the fenced blocks and tables in them."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Final

import attrs

if TYPE_CHECKING:
    from collections.abc import Iterator

CHECKOUT: Final = Path(__file__).parents[2]
DOCS: Final = CHECKOUT / "docs"
QUICKSTART: Final = DOCS / "examples" / "quickstart"

_FENCE: Final = re.compile(
    r"^(?P<indent> *)```(?P<info>[^`\n]*)\n(?P<text>.*?)^(?P=indent)```$", re.MULTILINE | re.DOTALL
)
_TABLE: Final = re.compile(r"(?:^\|.*\|\n)+", re.MULTILINE)
_CODE: Final = re.compile(r"`([^`]+)`")


@attrs.frozen
class Block:
    """A fenced block: the words after its fence, what is in it, and the line of the page that it starts on."""

    language: str
    argument: str
    text: str
    line: int


@attrs.frozen
class Table:
    """A table: its head and its rows; a cell that is one piece of code is that code."""

    head: list[str]
    rows: list[list[str]]


def every_page() -> list[Path]:
    """All Markdown files that a reader of the repository comes to, the README first."""
    return [CHECKOUT / "README.md", *sorted(DOCS.rglob("*.md"))]


def blocks(page: Path) -> Iterator[Block]:
    """The fenced blocks of a page, in order."""
    text = page.read_text(encoding="utf-8")
    for found in _FENCE.finditer(text):
        language, _, argument = found["info"].strip().partition(" ")
        yield Block(language, argument.strip(), found["text"], text.count("\n", 0, found.start()) + 1)


def prose(page: Path) -> str:
    """The text of a page without its fenced blocks."""
    return _FENCE.sub("", page.read_text(encoding="utf-8"))


def tables(page: Path) -> Iterator[Table]:
    """The tables of a page, in order."""
    for found in _TABLE.finditer(prose(page)):
        head, _rule, *rows = ([_cell(cell) for cell in line[1:-1].split("|")] for line in found[0].splitlines())
        yield Table(head, rows)


def _cell(text: str) -> str:
    whole = _CODE.fullmatch(text.strip())
    return whole[1] if whole else text.strip()
