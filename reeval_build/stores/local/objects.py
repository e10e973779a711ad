"""Objects on disk: small ones together in packs, large ones each in a file."""

from __future__ import annotations

import io
import os
import threading
from collections import OrderedDict
from contextlib import contextmanager, suppress
from itertools import islice
from typing import TYPE_CHECKING, BinaryIO, Final, cast

import attrs

from reeval_build.digest import Digest, Domain
from reeval_build.ports.objects import LostObjectError
from reeval_build.stores.local.batch import SMALL_BYTES, LocalBatch
from reeval_build.stores.local.compression import Decompressing, GarbledError, decompressed
from reeval_build.stores.local.database import StoreAccessError
from reeval_build.stores.local.leases import raw

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from reeval_build.stores.local.database import Database
    from reeval_build.stores.local.leases import Leases
    from reeval_build.stores.local.tally import Tally

_LOOK_UP_AT_ONCE: Final = 500
_OPEN_PACKS: Final = 32


# A pack is known by its name: the number of one that is gone may be that of another one now.
_LOCATE: Final = (
    "SELECT objects.digest, packs.name, objects.offset, objects.size, objects.full_size"
    " FROM objects LEFT JOIN packs ON packs.id = objects.pack WHERE objects.digest IN "
)


@attrs.frozen
class Place:
    """Where an object is: in which pack, from where, and how long it is there; no pack means a file of its own.

    `full_size` is how many bytes an object has that is compressed, and None for others.
    """

    pack: str | None
    offset: int
    size: int
    full_size: int | None


class LocalObjects:
    """The objects of a store directory.

    An object is found by a row of the database: in which pack it is, where, and how long it is; no pack means a
    file of its own, `objects/ab/<64 hex>`. Either may have a frame of zstd there; a digest is of what was kept.
    Bytes are durable before their row is there, so a process that is killed leaves an object or none, and at worst
    bytes that nothing names.
    """

    def __init__(self, root: Path, database: Database, leases: Leases, tally: Tally, *, scratch: Path) -> None:
        self._root = root
        self._database = database
        self._leases = leases
        self._tally = tally
        self._scratch = scratch
        self._packs: OrderedDict[str, int] = OrderedDict()
        self._verified: set[Digest] = set()
        self._is_damaged = False
        self._guard = threading.Lock()

    def read(self, domain: Domain, digest: Digest) -> bytes:
        """See `ports.objects.Objects.read`."""
        place = self._locate(digest)
        while place.pack is not None:
            try:
                data = self._read_pack(place)
            except FileNotFoundError as error:
                # Packs are written anew when much in them is not needed any more.
                if (moved := self._locate(digest)) == place:
                    raise self._lost(digest, place.pack, "is missing") from error
                place = moved
                continue
            except OSError as error:
                raise StoreAccessError(self._root, error) from error
            if data is None or domain.digest(data) != digest:
                raise self._lost(digest, place.pack, "is corrupt")
            return data
        with self._open_file(domain, digest, place) as stream:
            return stream.read()

    def read_all(self, domain: Domain, digests: Iterable[Digest]) -> Iterator[bytes]:
        """See `ports.objects.Objects.read_all`."""
        rest = iter(digests)
        while some := list(islice(rest, _LOOK_UP_AT_ONCE)):
            places = self._places_of([digest.raw for digest in some])
            for digest in some:
                place, data = places.get(digest.raw), None
                if place is not None and place.pack is not None:
                    with suppress(OSError):
                        data = self._read_pack(place)
                # Whatever is the matter with one, reading it by itself finds out.
                yield self.read(domain, digest) if data is None or domain.digest(data) != digest else data

    def peek(self, domain: Domain, digest: Digest) -> bytes | None:
        """The bytes of an object, or None when they are not there or not right. Nothing is done about that."""
        place = self._place_of(digest)
        try:
            if place is None:
                return None
            with self._raw(place, digest) as stream:
                data = stream.read()
        except (FileNotFoundError, GarbledError):
            return None
        except OSError as error:
            raise StoreAccessError(self._root, error) from error
        return data if domain.digest(data) == digest else None

    def problem_of(self, digest: Digest, domains: Iterable[Domain]) -> str | None:
        """The end of a sentence about what is wrong with an object that is in one of `domains`; None when it is right.

        Nothing is done about that. One that is not known, or not any more, is right.
        """
        place = self._place_of(digest)
        if place is None:
            return None
        try:
            for domain in domains:
                with self._raw(place, digest) as stream:
                    if domain.digest_stream(stream)[0] == digest:
                        return None
        except FileNotFoundError:
            return "is missing"
        except GarbledError:
            return "is corrupt"
        except OSError as error:
            return f"cannot be read: {error.strerror}"
        return "is corrupt"

    def drop(self, digest: Digest) -> None:
        """Stop naming an object that was found lost; a file of its own that is corrupt is set aside."""
        place = self._place_of(digest)
        if place is not None and place.pack is None:
            with suppress(FileNotFoundError), self.file_of(digest).open("rb") as stream:
                self._set_aside(digest, stream)
        if place is not None:
            self._lost(digest, place.pack, "is dropped")

    @contextmanager
    def _raw(self, place: Place, digest: Digest) -> Iterator[BinaryIO]:
        """The bytes that are where an object should be. Raises GarbledError when they cannot be decompressed."""
        if place.pack is not None:
            data = self._read_pack(place)
            if data is None:
                raise GarbledError
            yield io.BytesIO(data)
            return
        with self.file_of(digest).open("rb") as stream:
            yield _content(stream, place)

    @contextmanager
    def open(self, domain: Domain, digest: Digest) -> Iterator[BinaryIO]:
        """See `ports.objects.Objects.open`."""
        place = self._locate(digest)
        if place.pack is not None:
            yield io.BytesIO(self.read(domain, digest))
            return
        with self._open_file(domain, digest, place) as stream:
            yield stream

    def holds(self, digest: Digest, data: bytes) -> bool:
        """Whether a small object that is kept is really these bytes; not looked at until one was found lost."""
        if not self._is_damaged:
            return True
        try:
            place = self._locate(digest)
            return place.pack is not None and self._read_pack(place) == data
        except (LostObjectError, OSError):
            return False

    def present(self, digests: Iterable[Digest]) -> set[Digest]:
        """See `ports.objects.Objects.present`. What was found stays until this process ends."""
        return set(map(Digest, self.named(raw(digests))))

    def present_trees(self, digests: Iterable[Digest]) -> set[Digest]:
        """See `ports.objects.Objects.present_trees`. They stay, with all below them, until this process ends."""
        with self._leases.taking():
            found = self.named(raw(digests))
            self._leases.hold("tree", found)
        return set(map(Digest, found))

    def named(self, wanted: Iterable[bytes]) -> set[bytes]:
        """The same, by the bytes of digests."""
        found: set[bytes] = set()
        rest = iter(wanted)
        with self._database.errors(), self._leases.taking():
            while some := list(islice(rest, _LOOK_UP_AT_ONCE)):
                rows = self._database.connection.execute(
                    f"SELECT digest FROM objects WHERE digest IN ({_marks(some)})",  # noqa: S608 - only question marks
                    some,
                )
                found.update(row[0] for row in rows)
            self._leases.hold("object", found)
        return found

    @contextmanager
    def batch(self) -> Iterator[LocalBatch]:
        """See `ports.objects.Objects.batch`."""
        batch = LocalBatch(self, self._root, self._leases, self._tally, scratch=self._scratch)
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

    def _place_of(self, digest: Digest) -> Place | None:
        return self._places_of([digest.raw]).get(digest.raw)

    def _places_of(self, digests: Sequence[bytes]) -> dict[bytes, Place]:
        with self._database.errors():
            rows = self._database.connection.execute(f"{_LOCATE}({_marks(digests)})", digests)
            return {digest: Place(*place) for digest, *place in rows}

    def _locate(self, digest: Digest) -> Place:
        place = self._place_of(digest)
        if place is None:
            self._is_damaged = True
            raise LostObjectError(digest, store=str(self._root), reason="is missing")
        return place

    def _read_pack(self, place: Place) -> bytes | None:
        """What is in a pack; None when nothing can be there, or it cannot be decompressed."""
        assert place.pack is not None, "it is not in a file of its own"
        with self._guard:
            if place.pack not in self._packs:
                self._packs[place.pack] = os.open(self._root / "packs" / place.pack, os.O_RDONLY | os.O_CLOEXEC)
            self._packs.move_to_end(place.pack)
            while len(self._packs) > _OPEN_PACKS:
                os.close(self._packs.popitem(last=False)[1])
            data = read_packed(self._packs[place.pack], place.size, place.offset)
        if data is None or place.full_size is None:
            return data
        try:
            # What packs have is small: nothing else is a reason to make room.
            return decompressed(data, place.full_size) if place.full_size <= SMALL_BYTES else None
        except GarbledError:
            return None

    @contextmanager
    def _open_file(self, domain: Domain, digest: Digest, place: Place) -> Iterator[BinaryIO]:
        try:
            stream = self.file_of(digest).open("rb")
        except FileNotFoundError as error:
            raise self._lost(digest, None, "is missing") from error
        except OSError as error:
            raise StoreAccessError(self._root, error) from error
        with stream:
            try:
                self._verify(domain, digest, stream, place)
                yield _content(stream, place)
            except GarbledError as error:
                self._set_aside(digest, stream)
                raise self._lost(digest, None, "is corrupt") from error

    def _verify(self, domain: Domain, digest: Digest, stream: BinaryIO, place: Place) -> None:
        if digest in self._verified:
            return
        if domain.digest_stream(_content(stream, place))[0] != digest:
            raise GarbledError
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

    def _lost(self, digest: Digest, pack: str | None, reason: str) -> LostObjectError:
        """Stop naming an object that cannot be read where it should be, so that it can be kept again."""
        self._is_damaged = True
        with self._database.writing() as connection:
            # A file is placed before its row is written, so one that another process kept meanwhile is seen here.
            if pack is not None or not self.file_of(digest).exists():
                connection.execute(
                    "DELETE FROM objects WHERE digest = ? AND (SELECT name FROM packs WHERE id = pack) IS ?",
                    (digest.raw, pack),
                )
        return LostObjectError(digest, store=str(self._root), reason=reason)


def read_packed(descriptor: int, size: int, offset: int) -> bytes | None:
    """What a pack has there; None when the index says what no object has: it can be damaged like any other file."""
    return os.pread(descriptor, size, offset) if 0 <= size <= SMALL_BYTES and offset >= 0 else None


def _content(stream: BinaryIO, place: Place) -> BinaryIO:
    """What is in the file of an object."""
    return stream if place.full_size is None else cast("BinaryIO", Decompressing(stream, place.full_size))


def _marks(values: Sequence[bytes]) -> str:
    return ",".join("?" * len(values))
