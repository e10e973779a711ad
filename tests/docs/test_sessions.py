"""What compares a page with what happens can fail: else it would prove nothing."""

from __future__ import annotations

from textwrap import dedent

import pytest

from tests.docs.sessions import play


@pytest.fixture
def differences(tmp_path, monkeypatch):
    """Plays a page that consists of a text, and gives the differences."""

    def play_text(text):
        monkeypatch.setattr("tests.docs.sessions.CHECKOUT", tmp_path)
        page, directory = tmp_path / "page.md", tmp_path / "there"
        page.write_text(dedent(text), encoding="utf-8")
        directory.mkdir()
        return play(page, directory, env={"PATH": "/usr/bin:/bin", "HOME": str(tmp_path)})

    return play_text


def test_a_page_that_is_right_has_no_difference(differences):
    page = """
        ```text greeting.txt
        hello
        ```

        ```console
        $ cd . && cat greeting.txt
        hello
        $ echo 0.12 s; false
        0.34 s
        $ echo $?
        1
        ```
    """

    assert differences(page) == []


def test_other_output_is_a_difference(differences):
    assert differences("```console\n$ echo hello\nhallo\n```\n") == ["page.md:2: $ echo hello\nprinted:\nhello\n"]


def test_missing_output_is_a_difference(differences):
    assert differences("```console\n$ true\nhallo\n```\n") == ["page.md:2: $ true\nprinted:\n"]


def test_output_beside_any_lines_must_be_there(differences):
    assert differences("```console\n$ seq 3\n...\n2\n```\n") == []


def test_a_failure_that_the_page_does_not_show_is_a_difference(differences):
    assert differences("```console\n$ false\n```\n") == ["page.md:2: $ false\nended with 1:\n"]
