"""Reads directories of the host into the store."""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING, BinaryIO, Final, cast

from reeval_build.digest import BLOB, TREE, Digest
from reeval_build.paths import PathError, check_link, check_name, display
from reeval_build.ports.sources import IdentifiedTree
from reeval_build.sources.known_objects import KnownObjects
from reeval_build.sources.limits import GENEROUS, MAX_DEPTH, Limits
from reeval_build.sources.local_listing import Listing
from reeval_build.sources.local_place import Content, LocalEntryError, LocalTreeError, NoLocalTreeError, Place
from reeval_build.sources.steady import ChangedError, read_steadily, version
from reeval_build.tree.directory import Entry, encode

if TYPE_CHECKING:
    from reeval_build.paths import Parts
    from reeval_build.ports.objects import Batch, Objects
    from reeval_build.sources.freshness import Freshness, Scan
    from reeval_build.tree.selection import Selection

_SMALL_BYTES: Final = 1024 * 1024
_EMPTY: Final = TREE.digest(encode({}))

_RUNS_AS_ITS_OWNER: Final = stat.S_ISUID | stat.S_ISGID

_ROOT_FLAGS: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
_DIRECTORY_FLAGS: Final = _ROOT_FLAGS | os.O_NOFOLLOW
# Not blocking, or a pipe that takes the place of a file meanwhile would hold us for ever.
_FILE_FLAGS: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY

_SPECIAL: Final = {
    stat.S_IFIFO: "a fifo",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}


class LocalDirectories:
    """See `ports.sources.LocalTrees`.

    What is hashed is what is stored, in one pass. When a file or a directory was written to while it was read, all of
    it is read again, a few times. Each directory is opened from the one above it, so that one that is replaced by a
    link meanwhile cannot lead out of the tree. There may be as much in it as `limits` allow in an archive. Files that
    `freshness` knows are not read; `objects` says whether the store has them.
    """

    def __init__(self, objects: Objects, freshness: Freshness, *, limits: Limits = GENEROUS) -> None:
        self._objects = objects
        self._freshness = freshness
        self._limits = limits

    def identify(self, path: str, batch: Batch, *, selection: Selection | None = None) -> IdentifiedTree:
        """See `ports.sources.LocalTrees.identify`."""
        walk = self._walk(path, batch, selection)
        return IdentifiedTree(walk.tree, is_whole=lambda: walk.known.are_in(self._objects))

    def read(self, path: str, batch: Batch, *, selection: Selection | None = None) -> Digest:
        """See `ports.sources.LocalTrees.read`."""
        walk = self._walk(path, batch, selection)
        if not walk.known.are_all_in(self._objects):
            walk = self._walk(path, batch, selection, trusting=False)
        return walk.tree

    def _walk(self, path: str, batch: Batch, selection: Selection | None, *, trusting: bool = True) -> _Walk:
        place = Place(path)

        def once() -> _Walk:
            walk = _Walk(path, place, batch, self._objects, self._limits, selection)
            walk.read(self._freshness, trusting=trusting)
            return walk

        try:
            return read_steadily(once)
        except ChangedError as error:
            hint = "stop what writes to it, or copy the directory first"
            raise LocalEntryError(path, place.parts, "changed each time it was read", hint=hint) from error


class _Walk:
    """Reads one directory once; then it has its `tree`, and which objects in it are `known` and were not added."""

    tree: Digest
    _scan: Scan

    def __init__(
        self,
        root: str,
        place: Place,
        batch: Batch,
        objects: Objects,
        limits: Limits,
        selection: Selection | None,
    ) -> None:
        self._root = root
        self._place = place
        self._batch = batch
        self._objects = objects
        self._limits = limits
        self._selection = selection
        self._entries = self._bytes = 0
        self._open: list[Listing] = []
        self.known = KnownObjects()

    def read(self, freshness: Freshness, *, trusting: bool) -> None:
        try:
            descriptor = self._open_root()
            self._scan = freshness.scan(self._scanned, trusting=trusting)
            self._enter((), descriptor)
            while self._open:
                above = self._open[-1]
                if self._take_files(above):
                    continue
                self.tree = self._leave()
                if self._open and (self.tree != _EMPTY or above.parts[-1] not in self._open[-1].entered):
                    self._open[-1].others[above.parts[-1]] = Entry.directory(self.tree)
        finally:
            for directory in self._open:
                os.close(directory.descriptor)
        self._scan.save()

    @property
    def _scanned(self) -> bytes:
        """What is scanned, as freshness names it: what is selected differently is known apart."""
        root = os.fsencode(self._root)
        return b"tree " + root if self._selection is None else b"\0".join((b"part " + root, self._selection.key))

    def _open_root(self) -> int:
        try:
            return os.open(self._root, _ROOT_FLAGS)
        except FileNotFoundError as error:
            raise NoLocalTreeError(self._root, "does not exist", hint="check its spelling") from error
        except NotADirectoryError as error:
            raise NoLocalTreeError(self._root, "is not a directory", hint="name the directory that has it") from error
        except OSError as error:
            raise self._place.unreadable(error) from error
        except ValueError as error:
            # A NUL, or what no encoding of names has.
            hint = "check its spelling"
            raise NoLocalTreeError(self._root, "is no path that a directory can have", hint=hint) from error

    def _enter(self, parts: Parts, descriptor: int) -> None:
        try:
            with self._place:
                # One more than may be there, and one that may be left out.
                listing = Listing(
                    parts, descriptor, self._scan, most=self._limits.members + 2, selection=self._selection
                )
        except BaseException:
            os.close(descriptor)
            raise
        self._open.append(listing)
        if not self._may_have(listing.known_files, listing.known_bytes):
            listing.distrust()
        self._entries += listing.known_files
        self._bytes += listing.known_bytes
        self.known.enter(listing.known_digests)

    def _may_have(self, entries: int, size: int) -> bool:
        return self._entries + entries <= self._limits.members and self._bytes + size <= self._limits.unpacked_bytes

    def _leave(self) -> Digest:
        listing = self._open[-1]
        self._place.parts = listing.parts
        with self._place:
            after = os.fstat(listing.descriptor)
        if version(after) != listing.version:
            raise ChangedError
        os.close(self._open.pop().descriptor)
        known = listing.known_tree()
        self.known.leave(known)
        digest = self._batch.add(TREE, encode(listing.entries)) if known is None else known
        listing.remember(digest)
        return digest

    def _take_files(self, above: Listing) -> bool:
        """Take what is left of a directory, up to one in it, which is entered; whether there was one."""
        for name, kind in above.left:
            parts = self._place.parts = (*above.parts, name)
            self._entries += 1
            if self._entries > self._limits.members:
                raise self._too_much(f"has more than {self._limits.members:,} files and directories")
            try:
                check_name(name)
                if kind == stat.S_IFLNK:
                    above.others[name] = Entry.symlink(check_link(parts, self._target(above, name)))
            except PathError as error:
                raise self._place.refused(error.reason) from error
            if kind == stat.S_IFREG:
                self._file(above, name)
            elif kind == stat.S_IFDIR:
                if len(parts) > MAX_DEPTH:
                    raise self._place.refused(f"is more than {MAX_DEPTH} directories deep")
                self._enter(parts, self._open_below(above, name, _DIRECTORY_FLAGS))
                return True
            elif kind != stat.S_IFLNK:
                raise self._place.refused(f"is {_SPECIAL.get(kind, 'no file, link or directory')}")
        return False

    def _too_much(self, problem: str) -> LocalTreeError:
        here = display(b"/".join(self._place.parts))
        return LocalTreeError(self._root, f'{problem}; the one too many is "{here}"', hint="name a smaller directory")

    def _target(self, above: Listing, name: bytes) -> bytes:
        with self._place:
            return os.readlink(name, dir_fd=above.descriptor)

    def _file(self, above: Listing, name: bytes) -> None:
        with self._place:
            descriptor = os.open(name, _FILE_FLAGS, dir_fd=above.descriptor)
        try:
            with self._place:
                before = os.fstat(descriptor)
                self._check(before)
                size = before.st_size
                data = _read(descriptor, size) if size <= _SMALL_BYTES else None
            if data is None:
                digest, read = self._keep(Content(self._place, descriptor, size))
            else:
                digest, read = self._batch.add(BLOB, data), len(data)
            with self._place:
                after = os.fstat(descriptor)
        finally:
            os.close(descriptor)
        if read != size or version(after) != version(before):
            raise ChangedError
        above.add(name, before, digest)

    def _keep(self, content: Content) -> tuple[Digest, int]:
        """Add a large file, unless the store has it: to read it twice is less than to write it."""
        stream = cast("BinaryIO", content)
        digest, size = BLOB.digest_stream(stream)
        if not self._objects.present([digest]):
            content.rewind()
            if self._batch.add_stream(BLOB, stream) != (digest, size):
                raise ChangedError
        return digest, size

    def _check(self, status: os.stat_result) -> None:
        if not stat.S_ISREG(status.st_mode):
            raise ChangedError
        if status.st_mode & _RUNS_AS_ITS_OWNER:
            raise self._place.refused("runs with the rights of its owner or group (setuid or setgid)")
        self._bytes += status.st_size
        if self._bytes > self._limits.unpacked_bytes:
            raise self._too_much(f"has more than {self._limits.unpacked_bytes:,} bytes in its files")

    def _open_below(self, above: Listing, name: bytes, flags: int) -> int:
        with self._place:
            return os.open(name, flags, dir_fd=above.descriptor)


def _read(descriptor: int, size: int) -> bytes:
    # One byte more, so that a file that has grown is seen at once.
    data = os.read(descriptor, size + 1)
    while len(data) < size and (more := os.read(descriptor, size - len(data))):
        data += more
    return data
