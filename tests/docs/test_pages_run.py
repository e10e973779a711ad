"""What a page tells its reader to do works, and prints what the page says."""

from __future__ import annotations

import pytest

from tests.docs.pages import CHECKOUT, DOCS, QUICKSTART, blocks, every_page
from tests.docs.sessions import CONSOLE, play

TUTORIALS = sorted((DOCS / "tutorial").glob("*.md"))
README = CHECKOUT / "README.md"
WITH_SESSIONS = [
    page for page in every_page() if page not in TUTORIALS and any(block.language == CONSOLE for block in blocks(page))
]


@pytest.mark.parametrize("page", TUTORIALS, ids=lambda page: page.name)
def test_a_tutorial_does_what_it_says(page, tmp_path, reader):
    directory = tmp_path / "empty"
    directory.mkdir()

    differences = play(page, directory, env=reader)

    assert not differences, "\n\n".join(differences)


@pytest.mark.parametrize("page", WITH_SESSIONS, ids=lambda page: page.name)
def test_a_page_does_what_it_says_in_the_quickstart(page, quickstart, reader):
    differences = play(page, quickstart, env=reader)

    assert not differences, "\n\n".join(differences)


def test_every_shell_block_of_a_tutorial_is_run():
    languages = {block.language for page in TUTORIALS for block in blocks(page)}

    assert languages & {"", "sh", "bash", "shell"} == set()


def test_the_readme_defines_what_the_quickstart_does():
    shown = next(block for block in blocks(README) if block.argument == "environments.py")

    assert shown.text == (QUICKSTART / "environments.py").read_text(encoding="utf-8")


def test_python_blocks_are_valid_python():
    for page in every_page():
        for block in blocks(page):
            if block.language == "python":
                compile(block.text, f"{page.relative_to(CHECKOUT)}:{block.line}", "exec")
