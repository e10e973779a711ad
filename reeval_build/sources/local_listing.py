"""A directory of the host that is being read, beside what is known of it."""

from __future__ import annotations

import os
import stat
import sys
from itertools import islice
from typing import TYPE_CHECKING, Final

import attrs

from reeval_build.sources.freshness import KnownFile, as_known, files_of, rows_of
from reeval_build.sources.steady import version
from reeval_build.tree.directory import Directory, Entry, Kind, encode
from reeval_build.tree.selection import Choice

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from reeval_build.digest import Digest
    from reeval_build.paths import Parts
    from reeval_build.ports.stats import KnownDirectory
    from reeval_build.sources.freshness import Scan
    from reeval_build.tree.selection import Selection

_LEFT_OUT: Final = b".git"
# What os.fsencode does, which looks each of them up every time.
_NAMES: Final = sys.getfilesystemencoding()
_NAME_ERRORS: Final = sys.getfilesystemencodeerrors()


class Listing:
    """A directory that is being read: what is `left` to read of it, files that were read, and `others` than files.

    Files whose rows are those that are known are not left; `known_files` counts them, and `known_bytes` what is in
    them. Of directories that a `selection` has `entered` only, those are dropped that nothing is kept of.
    """

    def __init__(
        self, parts: Parts, descriptor: int, scan: Scan, *, most: int, selection: Selection | None = None
    ) -> None:
        self.parts = parts
        self.descriptor = descriptor
        status = os.fstat(descriptor)
        self.version = version(status)
        self._device = status.st_dev
        self._path = b"/".join(parts)
        self._scan = scan
        self.entered: set[bytes] = set()
        with os.scandir(descriptor) as items:
            if selection is None:
                found = {item.name.encode(_NAMES, _NAME_ERRORS): item for item in islice(items, most)}
                found.pop(_LEFT_OUT, None)
            else:
                found = self._selected(items, selection, most)
        self._kinds = {name: _kind(found[name]) for name in sorted(found)}
        self._trusts = scan.trusts(self._device, descriptor)
        self._unchanged: KnownDirectory | None = None
        self._files: dict[bytes, KnownFile] = {}
        self._entries: Directory = {}
        self.others: Directory = {}
        self._is_settled = True
        self.known_files = self.known_bytes = 0
        known = scan.known(self._path) if self._trusts else None
        if known is not None:
            self._compare(known, found)
        self.left = self._list_left()

    def _selected(
        self, items: Iterable[os.DirEntry[str]], selection: Selection, most: int
    ) -> dict[bytes, os.DirEntry[str]]:
        found: dict[bytes, os.DirEntry[str]] = {}
        for item in items:
            name = item.name.encode(_NAMES, _NAME_ERRORS)
            choice = selection.choose((*self.parts, name), is_directory=item.is_dir(follow_symlinks=False))
            if choice is Choice.LEFT_OUT:
                continue
            if choice is Choice.ENTERED:
                self.entered.add(name)
            found[name] = item
            if len(found) == most:
                break
        return found

    def _compare(self, known: KnownDirectory, found: dict[bytes, os.DirEntry[str]]) -> None:
        names = [name for name, kind in self._kinds.items() if kind == stat.S_IFREG]
        statuses = [found[name].stat(follow_symlinks=False) for name in names]
        rows = rows_of(statuses)
        if known.names == b"\0".join(names) and known.stats == b"".join(rows):
            # What everything here is for: no value is made of a file that is what it was.
            self._unchanged = known
            self.known_files = len(names)
            self.known_bytes = sum([status.st_size for status in statuses])
        else:
            before = dict(files_of(known))
            now = zip(names, rows, strict=True)
            self._know({name: before[name] for name, row in now if name in before and before[name].row == row})
            self.known_files = len(self._files)
            sizes = zip(names, statuses, strict=True)
            self.known_bytes = sum(status.st_size for name, status in sizes if name in self._files)

    def _know(self, files: dict[bytes, KnownFile]) -> None:
        self._files = files
        self._entries |= {name: file.entry for name, file in files.items()}

    def _list_left(self) -> Iterator[tuple[bytes, int]]:
        all_files = self._unchanged is not None
        kinds = self._kinds.items()
        return iter([item for item in kinds if not (item[1] == stat.S_IFREG if all_files else item[0] in self._files)])

    def distrust(self) -> None:
        """Have everything read after all."""
        self._unchanged = None
        self._files, self._entries, self.known_files, self.known_bytes = {}, {}, 0, 0
        self.left = self._list_left()

    @property
    def known_digests(self) -> bytes:
        """The digests of files that are known, one after the other, before anything is added."""
        if self._unchanged is not None:
            return self._unchanged.digests
        return b"".join(file.digest.raw for file in self._files.values())

    def add(self, name: bytes, status: os.stat_result, digest: Digest) -> None:
        """A file that was read, and what it was before and after that."""
        kind = Kind.EXECUTABLE if status.st_mode & stat.S_IXUSR else Kind.FILE
        self._entries[name] = Entry(kind, digest, status.st_size)
        row = self._scan.settled(status) if self._trusts and status.st_dev == self._device else None
        if row is None:
            self._is_settled = False
        else:
            self._files[name] = KnownFile(row, digest)

    @property
    def entries(self) -> Directory:
        """All there is, when no object of the directory is known."""
        return self._entries | self.others

    def known_tree(self) -> Digest | None:
        """The object of the directory, if it is known."""
        known = self._unchanged
        if known is None:
            return None
        if known.tree is not None and known.rest == encode(self.others):
            return known.tree
        self._unchanged = None
        self._know(dict(files_of(known)))
        return None

    def remember(self, tree: Digest) -> None:
        """Say what the directory is, for the next time."""
        if self._unchanged is not None:
            self._scan.found(self._path, self._unchanged)
        elif self._trusts:
            found = as_known(self._files)
            if self._is_settled:
                found = attrs.evolve(found, rest=encode(self.others), tree=tree)
            self._scan.found(self._path, found)


def _kind(item: os.DirEntry[str]) -> int:
    """The kind of an entry as in its mode, mostly from the listing alone."""
    if item.is_file(follow_symlinks=False):
        return stat.S_IFREG
    if item.is_dir(follow_symlinks=False):
        return stat.S_IFDIR
    if item.is_symlink():
        return stat.S_IFLNK
    return stat.S_IFMT(item.stat(follow_symlinks=False).st_mode)
