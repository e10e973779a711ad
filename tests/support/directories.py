"""Trees in memory: directories by their digests, and a nested dictionary as the plainest thing a tree can be."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from reeval_build.tree.directory import Directory, Entry, Kind, tree_digest

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from reeval_build.digest import Digest
    from reeval_build.paths import Parts

Model: TypeAlias = "dict[bytes, Entry | Model]"


class Directories:
    """A `Loader` and a `Saver` in one, which remembers what was asked of it."""

    def __init__(self) -> None:
        self._kept: dict[Digest, Directory] = {}
        self.loaded: list[Digest] = []
        self.saved: list[Digest] = []

    def load(self, digest: Digest) -> Directory:
        self.loaded.append(digest)
        return dict(self._kept[digest])

    def save(self, entries: Mapping[bytes, Entry]) -> Digest:
        digest = tree_digest(entries)
        self._kept[digest] = dict(entries)
        self.saved.append(digest)
        return digest

    def keep(self, model: Model) -> Digest:
        """The digest of a tree that has what `model` has; all of it can be loaded."""
        entries = {
            name: Entry.directory(self.keep(item)) if isinstance(item, dict) else item for name, item in model.items()
        }
        digest = tree_digest(entries)
        self._kept[digest] = entries
        return digest

    def read(self, digest: Digest) -> Model:
        """The model of a tree."""
        return {
            name: self.read(entry.content) if entry.kind is Kind.DIRECTORY else entry
            for name, entry in self._kept[digest].items()
        }


def leaves(model: Model, above: Parts = ()) -> Iterator[tuple[Parts, Entry]]:
    """Every file and link of a model."""
    for name, item in model.items():
        if isinstance(item, dict):
            yield from leaves(item, (*above, name))
        else:
            yield (*above, name), item


def directories(model: Model, above: Parts = ()) -> Iterator[Parts]:
    """Every directory of a model but the root."""
    for name, item in model.items():
        if isinstance(item, dict):
            yield (*above, name)
            yield from directories(item, (*above, name))


def at(model: Model, parts: Parts) -> Entry | Model | None:
    """What a model has at a path, or None."""
    item: Entry | Model | None = model
    for name in parts:
        item = item.get(name) if isinstance(item, dict) else None
    return item
