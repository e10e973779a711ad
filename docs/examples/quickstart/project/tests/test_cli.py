from __future__ import annotations

import contextlib
import io
import tempfile
import unittest
from pathlib import Path

from shelf.cli import main

DATA = Path(__file__).parent.parent / "data"


def shelf(*arguments: str) -> tuple[int, str]:
    output = io.StringIO()
    with contextlib.redirect_stdout(output), contextlib.redirect_stderr(output):
        code = main(list(arguments))
    return code, output.getvalue()


class CommandLine(unittest.TestCase):
    def setUp(self) -> None:
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.index = str(Path(directory.name) / "index.json")

    def test_what_was_indexed_is_found(self) -> None:
        shelf("--index", self.index, "index", "--data", str(DATA))

        assert shelf("--index", self.index, "search", "whale") == (
            0,
            "1851  Moby-Dick; or, The Whale, Herman Melville\n",
        )

    def test_a_word_of_no_book_is_an_exit_code(self) -> None:
        shelf("--index", self.index, "index", "--data", str(DATA))

        assert shelf("--index", self.index, "search", "zeppelin") == (1, "")

    def test_without_an_index_it_says_what_to_do(self) -> None:
        said = f"shelf: there is no {self.index}; run `shelf index` first\n"

        assert shelf("--index", self.index, "search", "whale") == (2, said)
