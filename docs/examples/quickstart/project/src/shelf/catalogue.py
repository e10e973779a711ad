"""Reads the catalogue."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path


@dataclass(frozen=True, order=True)
class Book:
    year: int
    title: str
    author: str
    subjects: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """All that a search looks at."""
        return " ".join((self.title, self.author, *self.subjects))


def read_catalogue(directory: Path) -> list[Book]:
    """The books of every CSV file in `directory`, oldest first; a book that is listed twice is there once."""
    books = set()
    for path in directory.glob("*.csv"):
        with path.open(encoding="utf-8", newline="") as file:
            books.update(_book(row) for row in csv.DictReader(file))
    return sorted(books)


def _book(row: dict[str, str]) -> Book:
    subjects = tuple(subject.strip() for subject in row["subjects"].split(";"))
    return Book(year=int(row["year"]), title=row["title"], author=row["author"], subjects=subjects)
