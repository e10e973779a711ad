"""Objects on their way into a store directory."""

from __future__ import annotations

import io
import os
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, BinaryIO, Final, TypeAlias

from reeval_build.digest import CHUNK_BYTES, TREE, Digest, Domain
from reeval_build.stores.local.compression import Compressing, compressed, frames
from reeval_build.stores.local.database import StoreAccessError
from reeval_build.stores.local.leases import raw

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from reeval_build.stores.local.database import Database
    from reeval_build.stores.local.leases import Leases
    from reeval_build.stores.local.objects import LocalObjects
    from reeval_build.stores.local.tally import Tally

SMALL_BYTES: Final = 256 * 1024
_FLUSH_AFTER_BYTES: Final = 16 * 1024 * 1024


# The bytes of a digest, where in the pack it is, how long it is there, and how many bytes it has when it is compressed.
Row: TypeAlias = tuple[bytes, int, int, int | None]


class LocalBatch:
    """Objects that wait in memory and in temporary files until they are published together."""

    def __init__(self, objects: LocalObjects, root: Path, leases: Leases, tally: Tally, *, scratch: Path) -> None:
        self._objects = objects
        self._root = root
        self._leases = leases
        self._tally = tally
        self._taken = 0
        self._scratch = scratch
        # By the bytes of digests, of which there are tens of thousands.
        self._seen: set[bytes] = set()
        self._trees: set[bytes] = set()
        self._small: dict[bytes, bytes] = {}
        self._small_bytes = 0
        self._rows: list[Row] = []
        self._large: dict[Digest, tuple[Path, int, int | None]] = {}
        self._pack: io.FileIO | None = None
        self._pack_path = self._temporary()
        self._pack_bytes = 0

    def add(self, domain: Domain, data: bytes) -> Digest:
        """See `ports.objects.Batch.add`."""
        if len(data) > SMALL_BYTES:
            return self.add_stream(domain, io.BytesIO(data))[0]
        digest = domain.digest(data)
        name = digest.raw
        if name not in self._seen:
            self._seen.add(name)
            if domain is TREE:
                self._trees.add(name)
            self._small[name] = data
            self._small_bytes += len(data)
            if self._small_bytes > _FLUSH_AFTER_BYTES:
                self._flush()
        return digest

    def add_stream(self, domain: Domain, source: BinaryIO) -> tuple[Digest, int]:
        """See `ports.objects.Batch.add_stream`."""
        head = _read_up_to(source, SMALL_BYTES + 1)
        if len(head) <= SMALL_BYTES:
            return self.add(domain, head), len(head)
        path = self._temporary()
        try:
            digest, size, (written, full_size) = self._write(path, domain, head, source)
        except BaseException:
            with suppress(OSError):
                path.unlink(missing_ok=True)
            raise
        if domain is TREE:
            self._trees.add(digest.raw)
        if digest in self._large:
            path.unlink()
            self._give_back(written)
        else:
            self._large[digest] = path, written, full_size
        return digest, size

    def _write(
        self, path: Path, domain: Domain, head: bytes, source: BinaryIO
    ) -> tuple[Digest, int, tuple[int, int | None]]:
        """The digest and the size of what was written; the size of the file, and again the first if it is a frame."""
        hasher, size, written, chunk = domain.wide_hasher(), 0, 0, head
        frame = Compressing() if compressed(head) is not None else None
        with self._own_files():
            # Without a buffer, for closing a file writes what is in it, and fails again where writing has failed.
            target = path.open("xb", buffering=0)
        with target:
            while chunk:
                hasher.update(chunk)
                self._take(len(chunk))
                size += len(chunk)
                with self._own_files():
                    done = _write_all(target, chunk if frame is None else frame.add(chunk))
                # What a frame still holds back is written with the next.
                self._give_back(len(chunk) - done)
                written += done
                chunk = source.read(CHUNK_BYTES)
            with self._own_files():
                if frame is not None:
                    written += _write_all(target, frame.finish())
                os.fsync(target.fileno())
        return Digest(hasher.digest()), size, (written, None if frame is None else size)

    def publish(self, database: Database) -> None:
        """Make everything durable, then visible. What cannot be made visible is removed."""
        self._flush()
        if self._rows or self._large:
            self._publish(database)
        self._taken = 0

    def _publish(self, database: Database) -> None:
        pack_name = None if self._pack is None else f"{os.urandom(16).hex()}.pack"
        # In one go: a file that no row names yet is not taken for one that is left over.
        with self._leases.taking():
            try:
                with self._own_files():
                    self._place(pack_name)
                self._name(database, pack_name)
                self._leases.hold("object", [row[0] for row in self._rows])
                self._leases.hold("object", raw(self._large))
                self._leases.hold("tree", self._trees)
            except BaseException:
                self._withdraw(pack_name)
                raise

    def _place(self, pack_name: str | None) -> None:
        if self._pack is not None and pack_name is not None:
            make_durable(self._pack)
            self._pack.close()
            self._pack_path.rename(self._root / "packs" / pack_name)
            sync_directory(self._root / "packs")
        for digest, (path, _size, _full_size) in self._large.items():
            target = self._objects.file_of(digest)
            target.parent.mkdir(exist_ok=True)
            path.rename(target)
            sync_directory(target.parent)

    def _name(self, database: Database, pack_name: str | None) -> None:
        with database.writing() as connection:
            pack = None
            if pack_name is not None:
                pack = connection.execute("INSERT INTO packs (name) VALUES (?)", (pack_name,)).lastrowid
            insert = "INSERT OR REPLACE INTO objects (digest, pack, offset, size, full_size) VALUES (?, ?, ?, ?, ?)"
            connection.executemany(insert, ((digest, pack, *where) for digest, *where in self._rows))
            connection.executemany(
                insert, ((digest.raw, None, 0, *sizes) for digest, (_path, *sizes) in self._large.items())
            )

    def _withdraw(self, pack_name: str | None) -> None:
        """Remove what was placed and that no row names."""
        with suppress(StoreAccessError, OSError):
            if pack_name is not None:
                (self._root / "packs" / pack_name).unlink(missing_ok=True)
            for digest in self._large.keys() - self._objects.present(self._large):
                self._objects.file_of(digest).unlink(missing_ok=True)

    def discard(self) -> None:
        """Remove what was not published. What cannot be removed now is when the directory it is in is."""
        self._give_back(self._taken)
        with suppress(OSError):
            if self._pack is not None:
                self._pack.close()
        for path in (self._pack_path, *(path for path, *_sizes in self._large.values())):
            with suppress(OSError):
                path.unlink(missing_ok=True)

    def _take(self, count: int) -> None:
        self._taken += count
        self._tally.take(count)

    def _give_back(self, count: int) -> None:
        self._taken -= count
        if count:
            self._tally.give_back(count)

    def _flush(self) -> None:
        coming, before = self._small_bytes, self._pack_bytes
        self._take(coming)
        with self._leases.taking():
            known = self._objects.named(self._small)
            self._leases.hold("tree", known & self._trees)
        new = [(name, data) for name, data in self._small.items() if not self._has(name, data, known)]
        self._small.clear()
        self._small_bytes = 0
        # Directories by themselves: they are alike, whatever is in the files.
        self._append([item for item in new if item[0] in self._trees])
        self._append([item for item in new if item[0] not in self._trees])
        self._give_back(coming - (self._pack_bytes - before))

    def _has(self, name: bytes, data: bytes, known: set[bytes]) -> bool:
        return name in known and self._objects.holds(Digest(name), data)

    def _append(self, new: Sequence[tuple[bytes, bytes]]) -> None:
        """Write objects to the pack, each in whichever form is smaller."""
        if not new:
            return
        written = []
        for (name, data), frame in zip(new, frames([data for _name, data in new]), strict=True):
            kept, full_size = (data, None) if frame is None else (frame, len(data))
            self._rows.append((name, self._pack_bytes, len(kept), full_size))
            self._pack_bytes += len(kept)
            written.append(kept)
        with self._own_files():
            if self._pack is None:
                self._pack = self._pack_path.open("xb", buffering=0)
            _write_all(self._pack, b"".join(written))

    @contextmanager
    def _own_files(self) -> Iterator[None]:
        """What goes wrong with the store's files is the store's trouble; what goes wrong with a source is not."""
        try:
            yield
        except OSError as error:
            raise StoreAccessError(self._root, error) from error

    def _temporary(self) -> Path:
        return self._scratch / os.urandom(8).hex()


def _read_up_to(source: BinaryIO, size: int) -> bytes:
    parts = []
    while size > 0 and (part := source.read(size)):
        parts.append(part)
        size -= len(part)
    return b"".join(parts)


def _write_all(target: io.FileIO, data: bytes) -> int:
    rest = memoryview(data)
    while rest:
        rest = rest[target.write(rest) :]
    return len(data)


def make_durable(stream: BinaryIO) -> None:
    """Have what was written to a file survive a loss of power."""
    stream.flush()
    os.fsync(stream.fileno())


def sync_directory(path: Path) -> None:
    """Have the names in a directory survive a loss of power."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
