from __future__ import annotations

import tempfile
import unittest
from pathlib import Path

from shelf.catalogue import Book, read_catalogue
from shelf.index import Index, words

WHALE = Book(1851, "Moby-Dick; or, The Whale", "Herman Melville", ("sea", "whales"))
BEAGLE = Book(1839, "The Voyage of the Beagle", "Charles Darwin", ("science", "sea"))
EYRE = Book(1847, "Jane Eyre", "Charlotte Brontë", ("governess",))


class Words(unittest.TestCase):
    def test_case_and_accents_do_not_count(self) -> None:
        assert words("Charlotte Brontë") == {"charlotte", "bronte"}


class Search(unittest.TestCase):
    def setUp(self) -> None:
        self.index = Index.of([BEAGLE, EYRE, WHALE])

    def test_the_oldest_comes_first(self) -> None:
        assert self.index.search("sea") == [BEAGLE, WHALE]

    def test_more_words_win(self) -> None:
        assert self.index.search("sea whale") == [WHALE, BEAGLE]

    def test_an_index_comes_back_as_it_was_saved(self) -> None:
        with tempfile.TemporaryDirectory() as directory:
            path = Path(directory) / "new" / "index.json"
            self.index.save(path)

            assert Index.load(path) == self.index


class Catalogue(unittest.TestCase):
    def test_a_book_of_two_files_is_there_once(self) -> None:
        with tempfile.TemporaryDirectory() as directory:
            for name in ("one.csv", "two.csv"):
                (Path(directory) / name).write_text(
                    "title,author,year,subjects\nWalden,Henry David Thoreau,1854,nature; solitude\n", encoding="utf-8"
                )

            assert [book.title for book in read_catalogue(Path(directory))] == ["Walden"]

    def test_every_book_of_ours_is_found_by_its_title(self) -> None:
        books = read_catalogue(Path(__file__).parent.parent / "data")
        index = Index.of(books)

        assert [book for book in books if book not in index.search(book.title)] == []
