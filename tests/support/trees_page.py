"""Writes the table of docs/reference/trees.md: what becomes of hostile trees. Run `python -m tests.support.trees_page`.

A test holds the page to the table, and every row of the table to what readers and writers do.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

from reeval_build.paths import display_briefly
from tests.support.hostile_trees import ROUTES, TREES, HostileTree, Refusal, Route, kept

PAGE: Final = Path(__file__).parents[2] / "docs" / "reference" / "trees.md"
_BEGIN: Final = "<!-- Written by `python -m tests.support.trees_page`. -->\n"
_NOTHING: Final = "\N{EN DASH}"
_END: Final = "<!-- The end of what is written. -->\n"


def page(text: str) -> str:
    """The page with its table as it should be."""
    before, _, rest = text.partition(_BEGIN)
    _, _, after = rest.partition(_END)
    return before + _BEGIN + "\n" + table() + "\n" + _END + after


def table() -> str:
    """The table."""
    lines = ["| | " + " | ".join(f"`{route}`" if "(" in route else route for route in ROUTES) + " | fake sandbox |"]
    lines.append("|---" * (len(ROUTES) + 2) + "|")
    lines += [f"| {tree.name} | {' | '.join(_cells(tree))} |" for tree in TREES]
    return "\n".join(lines) + "\n"


def _cells(tree: HostileTree) -> list[str]:
    written = _NOTHING if isinstance(tree.outcome, Refusal) else "equal"
    if tree.refused_on_writing is not None:
        written = _refused(tree.refused_on_writing)
    return [*(_cell(tree, route) for route in ROUTES), written]


def _cell(tree: HostileTree, route: Route) -> str:
    expected = tree.expected(route)
    if expected is None:
        return _NOTHING
    if isinstance(expected, Refusal):
        return _refused(expected)
    if expected == kept(*tree.things):
        return "kept"
    return "kept: " + ", ".join(
        f"`{display_briefly(path)}` {kind.name.lower()}" for path, (kind, _data) in sorted(expected.items())
    )


def _refused(refusal: Refusal) -> str:
    return f"refused: {refusal.reason}".replace("|", "\\|").rstrip(":")


if __name__ == "__main__":
    PAGE.write_text(page(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
