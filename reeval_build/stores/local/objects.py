"""Objects on disk: small ones together in packs, large ones each in a file."""

from __future__ import annotations

import io
import os
import secrets
import threading
from collections import OrderedDict
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, BinaryIO, Final

from reeval_build.digest import Digest, Domain
from reeval_build.ports.objects import LostObjectError
from reeval_build.stores.local.database import StoreAccessError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from reeval_build.stores.local.database import Database

SMALL_BYTES: Final = 256 * 1024
_CHUNK_BYTES: Final = 1024 * 1024
_LOOK_UP_AT_ONCE: Final = 500
_OPEN_PACKS: Final = 32
_FLUSH_AFTER_BYTES: Final = 16 * 1024 * 1024


class LocalObjects:
    """The objects of a store directory.

    An object is found by a row of the database: in which pack it is, where, and how long it is; no pack means a
    file of its own, `objects/ab/<64 hex>`. Bytes are durable before their row is there, so a process that is killed
    leaves an object or none, and at worst bytes that nothing names.
    """

    def __init__(self, root: Path, database: Database, *, scratch: Path) -> None:
        self._root = root
        self._database = database
        self._scratch = scratch
        self._packs: OrderedDict[int, int] = OrderedDict()
        self._verified: set[Digest] = set()
        self._is_damaged = False
        self._guard = threading.Lock()

    def read(self, domain: Domain, digest: Digest) -> bytes:
        """See `ports.objects.Objects.read`."""
        pack, offset, size = self._locate(digest)
        if pack is None:
            with self._open_file(domain, digest) as stream:
                return stream.read()
        try:
            data = self._read_pack(pack, offset, size)
        except FileNotFoundError as error:
            raise self._lost(digest, pack, "is missing") from error
        except OSError as error:
            raise StoreAccessError(self._root, error) from error
        if domain.digest(data) != digest:
            raise self._lost(digest, pack, "is corrupt")
        return data

    @contextmanager
    def open(self, domain: Domain, digest: Digest) -> Iterator[BinaryIO]:
        """See `ports.objects.Objects.open`."""
        pack, _offset, _size = self._locate(digest)
        if pack is not None:
            yield io.BytesIO(self.read(domain, digest))
            return
        with self._open_file(domain, digest) as stream:
            yield stream

    def holds(self, digest: Digest, data: bytes) -> bool:
        """Whether a small object that is kept is really these bytes; not looked at until one was found lost."""
        if not self._is_damaged:
            return True
        try:
            pack, offset, size = self._locate(digest)
            return pack is not None and self._read_pack(pack, offset, size) == data
        except (LostObjectError, OSError):
            return False

    def present(self, digests: Iterable[Digest]) -> set[Digest]:
        """See `ports.objects.Objects.present`."""
        wanted = [digest.raw for digest in digests]
        found: set[Digest] = set()
        with self._database.errors():
            for start in range(0, len(wanted), _LOOK_UP_AT_ONCE):
                some = wanted[start : start + _LOOK_UP_AT_ONCE]
                marks = ",".join("?" * len(some))
                rows = self._database.connection.execute(
                    f"SELECT digest FROM objects WHERE digest IN ({marks})",  # noqa: S608 - only question marks
                    some,
                )
                found.update(Digest(row[0]) for row in rows)
        return found

    @contextmanager
    def batch(self) -> Iterator[LocalBatch]:
        """See `ports.objects.Objects.batch`."""
        batch = LocalBatch(self, self._root, scratch=self._scratch)
        try:
            yield batch
            batch.publish(self._database)
        finally:
            batch.discard()

    def file_of(self, digest: Digest) -> Path:
        """Where a large object is."""
        return self._root / "objects" / digest.hex[:2] / digest.hex

    def close(self) -> None:
        """Close the packs."""
        with self._guard:
            for descriptor in self._packs.values():
                os.close(descriptor)
            self._packs.clear()

    def _locate(self, digest: Digest) -> tuple[int | None, int, int]:
        with self._database.errors():
            row = self._database.connection.execute(
                "SELECT pack, offset, size FROM objects WHERE digest = ?", (digest.raw,)
            ).fetchone()
        if row is None:
            self._is_damaged = True
            raise LostObjectError(digest, store=str(self._root), reason="is missing")
        return row[0], row[1], row[2]

    def _read_pack(self, pack: int, offset: int, size: int) -> bytes:
        with self._guard:
            if pack not in self._packs:
                with self._database.errors():
                    name = self._database.connection.execute("SELECT name FROM packs WHERE id = ?", (pack,)).fetchone()
                if name is None:
                    raise FileNotFoundError(pack)
                self._packs[pack] = os.open(self._root / "packs" / name[0], os.O_RDONLY | os.O_CLOEXEC)
            self._packs.move_to_end(pack)
            while len(self._packs) > _OPEN_PACKS:
                os.close(self._packs.popitem(last=False)[1])
            return os.pread(self._packs[pack], size, offset)

    @contextmanager
    def _open_file(self, domain: Domain, digest: Digest) -> Iterator[BinaryIO]:
        try:
            stream = self.file_of(digest).open("rb")
        except FileNotFoundError as error:
            raise self._lost(digest, None, "is missing") from error
        except OSError as error:
            raise StoreAccessError(self._root, error) from error
        with stream:
            self._verify(domain, digest, stream)
            yield stream

    def _verify(self, domain: Domain, digest: Digest, stream: BinaryIO) -> None:
        if digest in self._verified:
            return
        hasher = domain.hasher()
        while chunk := stream.read(_CHUNK_BYTES):
            hasher.update(chunk)
        if hasher.digest() != digest.raw:
            self._set_aside(digest, stream)
            raise self._lost(digest, None, "is corrupt")
        stream.seek(0)
        self._verified.add(digest)

    def _set_aside(self, digest: Digest, stream: BinaryIO) -> None:
        """Move a file away whose bytes are not its name's, unless another process has put a right one there."""
        path, aside = self.file_of(digest), self._root / "quarantine" / digest.hex
        with suppress(FileNotFoundError):
            if os.path.samestat(os.fstat(stream.fileno()), path.stat()):
                path.rename(aside)
                if not os.path.samestat(os.fstat(stream.fileno()), aside.stat()):
                    aside.rename(path)

    def _lost(self, digest: Digest, pack: int | None, reason: str) -> LostObjectError:
        """Stop naming an object that cannot be read where it should be, so that it can be kept again."""
        self._is_damaged = True
        with self._database.writing() as connection:
            # A file is placed before its row is written, so one that another process kept meanwhile is seen here.
            if pack is not None or not self.file_of(digest).exists():
                connection.execute("DELETE FROM objects WHERE digest = ? AND pack IS ?", (digest.raw, pack))
        return LostObjectError(digest, store=str(self._root), reason=reason)


class LocalBatch:
    """Objects that wait in memory and in temporary files until they are published together."""

    def __init__(self, objects: LocalObjects, root: Path, *, scratch: Path) -> None:
        self._objects = objects
        self._root = root
        self._scratch = scratch
        self._seen: set[Digest] = set()
        self._small: dict[Digest, bytes] = {}
        self._small_bytes = 0
        self._rows: list[tuple[bytes, int, int]] = []
        self._large: dict[Digest, tuple[Path, int]] = {}
        self._pack: BinaryIO | None = None
        self._pack_path = self._temporary()
        self._pack_bytes = 0

    def add(self, domain: Domain, data: bytes) -> Digest:
        """See `ports.objects.Batch.add`."""
        if len(data) > SMALL_BYTES:
            return self.add_stream(domain, io.BytesIO(data))[0]
        digest = domain.digest(data)
        if digest not in self._seen:
            self._seen.add(digest)
            self._small[digest] = data
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
            digest, size = self._write(path, domain, head, source)
        except BaseException:
            with suppress(OSError):
                path.unlink(missing_ok=True)
            raise
        if digest in self._large:
            path.unlink()
        else:
            self._large[digest] = path, size
        return digest, size

    def _write(self, path: Path, domain: Domain, head: bytes, source: BinaryIO) -> tuple[Digest, int]:
        hasher, size, chunk = domain.hasher(), 0, head
        with self._own_files():
            # Without a buffer, for closing a file writes what is in it, and fails again where writing has failed.
            target = path.open("xb", buffering=0)
        with target:
            while chunk:
                hasher.update(chunk)
                with self._own_files():
                    _write_all(target, chunk)
                size += len(chunk)
                chunk = source.read(_CHUNK_BYTES)
            with self._own_files():
                os.fsync(target.fileno())
        return Digest(hasher.digest()), size

    def publish(self, database: Database) -> None:
        """Make everything durable, then visible. What cannot be made visible is removed."""
        self._flush()
        if not self._rows and not self._large:
            return
        pack_name = None if self._pack is None else f"{secrets.token_hex(16)}.pack"
        try:
            with self._own_files():
                self._place(pack_name)
            self._name(database, pack_name)
        except BaseException:
            self._withdraw(pack_name)
            raise

    def _place(self, pack_name: str | None) -> None:
        if self._pack is not None and pack_name is not None:
            _make_durable(self._pack)
            self._pack.close()
            self._pack_path.rename(self._root / "packs" / pack_name)
            _sync_directory(self._root / "packs")
        for digest, (path, _size) in self._large.items():
            target = self._objects.file_of(digest)
            target.parent.mkdir(exist_ok=True)
            path.rename(target)
            _sync_directory(target.parent)

    def _name(self, database: Database, pack_name: str | None) -> None:
        with database.writing() as connection:
            pack = None
            if pack_name is not None:
                pack = connection.execute("INSERT INTO packs (name) VALUES (?)", (pack_name,)).lastrowid
            insert = "INSERT OR REPLACE INTO objects (digest, pack, offset, size) VALUES (?, ?, ?, ?)"
            connection.executemany(insert, [(digest, pack, offset, size) for digest, offset, size in self._rows])
            large = [(digest.raw, None, 0, size) for digest, (_path, size) in self._large.items()]
            connection.executemany(insert, large)

    def _withdraw(self, pack_name: str | None) -> None:
        """Remove what was placed and that no row names."""
        with suppress(StoreAccessError, OSError):
            if pack_name is not None:
                (self._root / "packs" / pack_name).unlink(missing_ok=True)
            for digest in self._large.keys() - self._objects.present(self._large):
                self._objects.file_of(digest).unlink(missing_ok=True)

    def discard(self) -> None:
        """Remove what was not published. What cannot be removed now is when the directory it is in is."""
        with suppress(OSError):
            if self._pack is not None:
                self._pack.close()
        for path in (self._pack_path, *(path for path, _size in self._large.values())):
            with suppress(OSError):
                path.unlink(missing_ok=True)

    def _flush(self) -> None:
        known = self._objects.present(self._small)
        for digest, data in self._small.items():
            if digest in known and self._objects.holds(digest, data):
                continue
            with self._own_files():
                if self._pack is None:
                    self._pack = self._pack_path.open("xb")
                self._pack.write(data)
            self._rows.append((digest.raw, self._pack_bytes, len(data)))
            self._pack_bytes += len(data)
        self._small.clear()
        self._small_bytes = 0

    @contextmanager
    def _own_files(self) -> Iterator[None]:
        """What goes wrong with the store's files is the store's trouble; what goes wrong with a source is not."""
        try:
            yield
        except OSError as error:
            raise StoreAccessError(self._root, error) from error

    def _temporary(self) -> Path:
        return self._scratch / secrets.token_hex(8)


def _read_up_to(source: BinaryIO, size: int) -> bytes:
    parts = []
    while size > 0 and (part := source.read(size)):
        parts.append(part)
        size -= len(part)
    return b"".join(parts)


def _write_all(target: io.FileIO, data: bytes) -> None:
    rest = memoryview(data)
    while rest:
        rest = rest[target.write(rest) :]


def _make_durable(stream: BinaryIO) -> None:
    stream.flush()
    os.fsync(stream.fileno())


def _sync_directory(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
