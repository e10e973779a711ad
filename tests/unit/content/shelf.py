"""A store in memory with what content needs of one, and trees written as paths and text."""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs

from reeval_build.content.material import Material
from reeval_build.digest import BLOB, Digest
from reeval_build.model.harnesses import HARNESSES
from reeval_build.tree.directory import Entry, Kind, walk
from reeval_build.tree.draft import Draft
from tests.support.directories import Directories

if TYPE_CHECKING:
    from collections.abc import Mapping

    from reeval_build.model.harness_facts import Harness

KINDS = ("antigravity", "claude-code", "codex", "cursor", "fake", "fx", "goose", "grok-build", "opencode", "pi")
LINK = "link to "
SCRIPT = "#!"


class Shelf:
    """Keeps trees and bytes."""

    def __init__(self) -> None:
        self._directories = Directories()
        self._blobs: dict[Digest, bytes] = {}
        self.read: list[Digest] = []
        self.loaded = self._directories.loaded
        self.material = Material(
            load=self._directories.load, read=self._read, save=self._directories.save, add=self._add
        )

    def _add(self, data: bytes) -> Digest:
        digest = BLOB.digest(data)
        self._blobs[digest] = data
        return digest

    def _read(self, digest: Digest) -> bytes:
        self.read.append(digest)
        return self._blobs[digest]

    def tree(self, files: Mapping[str, str | bytes]) -> Digest:
        """A tree: `link to x` is a symbolic link, a path that ends in `/` an empty directory."""
        draft = Draft(self.material.load)
        for path, content in files.items():
            parts = tuple(path.removesuffix("/").encode("utf-8", "surrogateescape").split(b"/"))
            if path.endswith("/"):
                draft.make_directory(parts)
            elif isinstance(content, str) and content.startswith(LINK):
                draft.put(parts, Entry.symlink(content.removeprefix(LINK).encode()))
            else:
                data = content if isinstance(content, bytes) else content.encode()
                draft.put(parts, self.material.file(data, executable=data.startswith(SCRIPT.encode())))
        return draft.save(self.material.save)

    def files(self, tree: Digest | None) -> dict[str, bytes]:
        """The files of a tree and their bytes; a link is what it points at."""
        assert tree is not None, "there is a tree"
        return {
            b"/".join(parts).decode("utf-8", "surrogateescape"): entry.target or b""
            if entry.kind is Kind.SYMLINK
            else self._blobs[entry.content]
            for parts, entry in walk(tree, self.material.load)
            if entry.kind is not Kind.DIRECTORY
        }

    def paths(self, tree: Digest | None) -> list[str]:
        """The paths of the files and links of a tree."""
        return sorted(self.files(tree))


def skill(name: str | None = None, description: str = "Does it.", body: str = "Do it.\n") -> str:
    """The text of a SKILL.md."""
    named = "" if name is None else f"name: {name}\n"
    return f"---\n{named}description: {description}\n---\n\n{body}"


def harness(kind: str) -> Harness:
    """The harness of a kind; one that is not in the table is told apart by its kind alone."""
    return HARNESSES.get(kind) or attrs.evolve(HARNESSES["fake"], kind=kind)
