"""Links inside the repository lead somewhere, and every page can be reached."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from tests.docs.pages import CHECKOUT, DOCS, every_page, prose

if TYPE_CHECKING:
    from pathlib import Path

LINK = re.compile(r"\]\((?P<target>[^)\s]+)\)")
HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)
ELSEWHERE = ("http://", "https://", "mailto:")
EXAMPLES = DOCS / "examples"


def relative_links(page: Path) -> list[str]:
    found = [link["target"] for link in LINK.finditer(prose(page))]
    return [target for target in found if not target.startswith(ELSEWHERE)]


def anchors(page: Path) -> set[str]:
    """What a heading is called in a link, by the rule of the site that shows these pages."""
    headings = (heading.lower() for heading in HEADING.findall(prose(page)))
    return {re.sub(r"[^\w\- ]", "", heading).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", every_page(), ids=lambda page: str(page.relative_to(CHECKOUT)))
def test_links_lead_somewhere(page):
    dead = []
    for target in relative_links(page):
        path, _, anchor = target.partition("#")
        linked = (page.parent / path).resolve() if path else page
        if not linked.exists() or (anchor and anchor not in anchors(linked)):
            dead.append(target)

    assert dead == []


def test_every_page_can_be_reached_from_the_index():
    reached, pending = set(), [DOCS / "README.md"]
    while pending:
        page = pending.pop()
        if page not in reached and page.suffix == ".md":
            reached.add(page)
            linked = [(page.parent / link.partition("#")[0]).resolve() for link in relative_links(page)]
            pending += [target for target in linked if target.exists()]

    pages = {page for page in every_page() if not page.is_relative_to(EXAMPLES)}
    assert pages - reached == set()
