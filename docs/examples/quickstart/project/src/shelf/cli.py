"""The command line."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from shelf.catalogue import read_catalogue
from shelf.index import Index


def main(arguments: list[str] | None = None) -> int:
    options = _parser().parse_args(arguments)
    if options.command == "index":
        index = Index.of(read_catalogue(options.data))
        index.save(options.index)
        print(f"{options.index}: {len(index.books)} books, {len(index.places)} words")
        return 0
    if not options.index.exists():
        print(f"shelf: there is no {options.index}; run `shelf index` first", file=sys.stderr)
        return 2
    found = Index.load(options.index).search(" ".join(options.words))
    for book in found:
        print(f"{book.year}  {book.title}, {book.author}")
    return 0 if found else 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="shelf", description="Find books in a catalogue.")
    default = Path(os.environ.get("SHELF_INDEX", "build/index.json"))
    parser.add_argument("--index", type=Path, default=default, help="the index (default: $SHELF_INDEX)")
    commands = parser.add_subparsers(dest="command", required=True)
    index = commands.add_parser("index", help="make the index")
    index.add_argument("--data", type=Path, default=Path("data"), help="the directory with the catalogue")
    search = commands.add_parser("search", help="print the books that have a word")
    search.add_argument("words", nargs="+")
    return parser
