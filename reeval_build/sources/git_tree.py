"""Turns a git tree into a tree of ours: every name, link and mode checked, every object read once."""

from __future__ import annotations

import stat
from typing import TYPE_CHECKING, Final

from pygit2.enums import ObjectType

from reeval_build.digest import BLOB, TREE, Digest
from reeval_build.paths import PathError, check_link, check_name, display
from reeval_build.sources.git_errors import HugeRepositoryError, RefusedTreeError
from reeval_build.sources.git_known import KnownTree, KnownTrees
from reeval_build.sources.git_pack import GITLINK
from reeval_build.tree.directory import EMPTY, Directory, Entry, encode

if TYPE_CHECKING:
    from collections.abc import Iterator

    from reeval_build.paths import Parts
    from reeval_build.ports.objects import Batch
    from reeval_build.sources.git_known import Place
    from reeval_build.sources.git_objects import GitEntry, GitObjects
    from reeval_build.sources.git_pack import PackWriter

# Deeper than any project, and well within what recursion over a tree can take.
_MAX_DEPTH: Final = 255


class TreeReader:
    """Reads one git tree into a batch, and into a pack when there is to be a `.git`."""

    def __init__(
        self, objects: GitObjects, batch: Batch, pack: PackWriter | None = None, *, known: KnownTrees | None = None
    ) -> None:
        self._objects = objects
        self._batch = batch
        self._pack = pack
        self._known = KnownTrees() if known is None else known
        self._blobs: dict[bytes, tuple[Digest, int]] = {}
        # By depth too: whether a link leaves the tree depends on how deep it is.
        self._trees: dict[Place, KnownTree] = {}
        self._read: dict[Place, KnownTree] = {}

    def read(self, tree: bytes, parts: Parts = ()) -> Directory:
        """The directory that a git tree is; `parts` is where it is.

        Raises:
            LostGitObjectError: when an object is missing or corrupt.
            RefusedTreeError: naming the path of an entry that must not be placed.
            HugeRepositoryError: when there is more in the tree than the limits of the objects allow.
        """
        directory, _entries, _size = self._read_directory(tree, parts)
        return directory

    def remember(self) -> None:
        """Have what was read known."""
        self._known.keep(self._read.items())

    def _read_directory(self, tree: bytes, parts: Parts) -> tuple[Directory, int, int]:
        directory: Directory = {}
        entries = size = 0
        items = self._objects.tree(tree)
        self._look_up([(item.object_id, len(parts) + 1) for item in items if item.kind == stat.S_IFDIR])
        for item in items:
            below = (*parts, item.name)
            try:
                entry = directory[_check(below, directory)] = self._entry(below, item)
            except PathError as error:
                raise RefusedTreeError(self._objects.workspace, b"/".join(below), error.reason) from error
            entries, size = entries + 1, size + entry.size
            if item.kind == stat.S_IFDIR:
                inner = self._trees[item.object_id, len(below)]
                entries, size = entries + inner.entries, size + inner.size
            self._check_amount(entries, size, below)
        if self._pack is not None:
            self._pack.add(ObjectType.TREE, tree, self._objects.read(tree, ObjectType.TREE))
        return directory, entries, size

    def _look_up(self, places: list[Place]) -> None:
        """Find out which are in the store. A pack needs the objects of all."""
        if self._pack is None:
            self._trees.update(self._known.find([place for place in places if place not in self._trees]))

    def keep(self, directory: Directory) -> Digest:
        """Add a directory to the batch."""
        return self._batch.add(TREE, encode(directory))

    def leaves(self, tree: bytes, above: bytes = b"") -> Iterator[tuple[bytes, int, bytes]]:
        """The path, mode and object id of all that is not a directory, modes as git writes them today."""
        for item in self._objects.tree(tree):
            path = above + item.name
            if item.kind == stat.S_IFDIR:
                yield from self.leaves(item.object_id, path + b"/")
            else:
                permissions = 0o755 if _is_executable(item) else 0o644
                yield path, item.kind | (permissions if item.kind == stat.S_IFREG else 0), item.object_id

    def _check_amount(self, entries: int, size: int, parts: Parts) -> None:
        limits, too_much = self._objects.limits, None
        if entries > limits.entries:
            too_much = f"{limits.entries:,} files and directories"
        elif size > limits.total_bytes:
            too_much = f"{limits.total_bytes:,} bytes in its files"
        if too_much is not None:
            here = display(b"/".join(parts))
            raise HugeRepositoryError(self._objects.workspace, f'has more than {too_much}, counted to "{here}"')

    def _entry(self, parts: Parts, item: GitEntry) -> Entry:
        if item.kind == stat.S_IFDIR:
            return Entry.directory(self._directory(parts, item.object_id))
        if item.kind == stat.S_IFREG:
            digest, size = self._file(item.object_id)
            return Entry.file(digest, size, executable=_is_executable(item))
        if item.kind == stat.S_IFLNK:
            return Entry.symlink(check_link(parts, self._blob(item.object_id)))
        if item.kind == GITLINK:
            return Entry.directory(self.keep(EMPTY))
        raise PathError(item.name, f"has the mode {item.mode:o}, which is no file, link or directory")

    def _directory(self, parts: Parts, tree: bytes) -> Digest:
        place = tree, len(parts)
        if place not in self._trees:
            directory, entries, size = self._read_directory(tree, parts)
            self._trees[place] = self._read[place] = KnownTree(self.keep(directory), entries, size)
        return self._trees[place].digest

    def _file(self, blob: bytes) -> tuple[Digest, int]:
        if blob not in self._blobs:
            data = self._blob(blob)
            self._blobs[blob] = self._batch.add(BLOB, data), len(data)
        return self._blobs[blob]

    def _blob(self, blob: bytes) -> bytes:
        data = self._objects.read(blob, ObjectType.BLOB)
        if self._pack is not None:
            self._pack.add(ObjectType.BLOB, blob, data)
        return data


def _check(parts: Parts, taken: Directory) -> bytes:
    name = check_name(parts[-1])
    if name in taken:
        raise PathError(name, "is there twice")
    if name.lower() == b".git":
        raise PathError(name, 'is called ".git", a name that git keeps for itself')
    if len(parts) > _MAX_DEPTH:
        raise PathError(name, f"is more than {_MAX_DEPTH} directories deep")
    return name


def _is_executable(item: GitEntry) -> bool:
    return bool(item.mode & stat.S_IXUSR)
