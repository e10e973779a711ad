"""The index: for every word, the books that have it."""

from __future__ import annotations

import json
import re
import unicodedata
from collections import Counter, defaultdict
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from shelf.catalogue import Book

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path


def words(text: str) -> set[str]:
    """The words of a text, without case and accents: `Brontë` is found as `bronte`."""
    plain = unicodedata.normalize("NFKD", text.casefold())
    letters = "".join(character for character in plain if not unicodedata.combining(character))
    return set(re.findall(r"\w+", letters))


@dataclass(frozen=True)
class Index:
    books: list[Book]
    places: dict[str, list[int]]

    @classmethod
    def of(cls, books: Iterable[Book]) -> Index:
        books = list(books)
        places: dict[str, list[int]] = defaultdict(list)
        for place, book in enumerate(books):
            for word in words(book.text):
                places[word].append(place)
        return cls(books, dict(places))

    @classmethod
    def load(cls, path: Path) -> Index:
        kept = json.loads(path.read_text(encoding="utf-8"))
        books = [Book(**{**book, "subjects": tuple(book["subjects"])}) for book in kept["books"]]
        return cls(books, kept["places"])

    def save(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        kept = {"books": [asdict(book) for book in self.books], "places": self.places}
        path.write_text(json.dumps(kept, indent=1, sort_keys=True), encoding="utf-8")

    def search(self, query: str) -> list[Book]:
        """The books that have any word of `query`: those with the most of them first, then the oldest."""
        counts = Counter(place for word in words(query) for place in self.places.get(word, ()))
        return [self.books[place] for place in sorted(counts, key=lambda place: (-counts[place], place))]
