"""What running processes were told is in a store, so that nothing of it is collected."""

from __future__ import annotations

import fcntl
import os
import threading
from collections import Counter
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

import attrs

from reeval_build.digest import BLOB, DIGEST_BYTES, TREE, Digest, Domain
from reeval_build.stores.local.database import StoreAccessError
from reeval_build.stores.local.locks import this_process

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

# What a digest is of: a record by its key, a directory with everything below it, or any other object.
Leased: TypeAlias = Literal["record", "tree", "object"]

# An entry is a letter and a digest; the letter in upper case ends the lease.
_LETTERS: Final[dict[Leased, bytes]] = {"record": b"r", "tree": b"t", "object": b"o"}
_ENTRY_BYTES: Final = 1 + DIGEST_BYTES


@attrs.frozen(kw_only=True)
class Lease:
    """What one process uses: raw digests by what they are of."""

    owner: str
    held: dict[Leased, frozenset[bytes]]

    @property
    def objects(self) -> Iterator[tuple[Domain, bytes]]:
        """What is held besides records: directories with all below them, and other objects."""
        yield from ((TREE, raw) for raw in self.held["tree"])
        yield from ((BLOB, raw) for raw in self.held["object"] - self.held["tree"])


class _LeaseFile:
    """A file in `leases/`, made when there is something to lease, and held locked."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._guard = threading.Lock()
        self._path: Path | None = None
        self._descriptor = -1
        self._end = 0
        self._held: dict[Leased, Counter[bytes]] = {kind: Counter() for kind in _LETTERS}

    def hold(self, kind: Leased, digests: Iterable[bytes]) -> None:
        """Lease things, each once more. What a full disk does not take is not held."""
        with self._guard:
            held, times = self._held[kind], Counter(digests)
            new = times.keys() - held.keys()
            if new and not self._write(_LETTERS[kind] + digest for digest in new):
                times = Counter({digest: count for digest, count in times.items() if digest in held})
            held.update(times)

    def give_up(self, kind: Leased, digests: Iterable[bytes]) -> None:
        """Lease things once less; those that are leased no more can be collected."""
        with self._guard:
            held, gone = self._held[kind], []
            for digest in digests:
                held[digest] -= 1
                if held[digest] <= 0:
                    del held[digest]
                    gone.append(digest)
            if gone:
                # Of what cannot be written the rest stays held, which harms nobody.
                self._write(_LETTERS[kind].upper() + digest for digest in gone)

    def close(self) -> None:
        """Give everything up."""
        with self._guard:
            if self._path is not None:
                with suppress(OSError):
                    self._path.unlink(missing_ok=True)
                os.close(self._descriptor)
                self._path = None

    def _write(self, entries: Iterable[bytes]) -> bool:
        data = b"".join(entries)
        with suppress(OSError):
            if self._path is None:
                self._path, self._descriptor, self._end = self._make()
            if os.pwrite(self._descriptor, data, self._end) == len(data):
                self._end += len(data)
                return True
            # What was cut short must not be read after what is written there next.
            os.ftruncate(self._descriptor, self._end)
        return False

    def _make(self) -> tuple[Path, int, int]:
        head = f"{this_process()}\n".encode()
        while True:
            path = self._directory / f"{os.getpid()}-{os.urandom(4).hex()}"
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                # Whoever clears away may have taken it for one that nobody holds, before this held it.
                if os.fstat(descriptor).st_nlink:
                    return path, descriptor, os.pwrite(descriptor, head, 0)
            except BlockingIOError:
                pass
            except OSError:
                os.close(descriptor)
                raise
            os.close(descriptor)


class Leases:
    """What this process uses, in files in `leases/` that it holds locked, and what others do.

    What the store answers is leased before anything can be collected: look-ups and their leases are made in
    `taking()`, which many may be in at once, and deletions in `alone()`. The kernel drops the locks of a process that
    ends, however it ends, and with them its leases.
    """

    def __init__(self, root: Path) -> None:
        self._root = root
        self._directory = root / "leases"
        self._inside = threading.local()
        self._own = _LeaseFile(self._directory)
        self._guard = threading.Lock()
        self._given_up = 0

    @contextmanager
    def taking(self) -> Iterator[None]:
        """Look something up and lease it, while nothing is deleted. May be nested."""
        if getattr(self._inside, "depth", 0):
            yield
            return
        with self._locked(self._directory, fcntl.LOCK_SH, by_way_of=fcntl.LOCK_SH):
            self._inside.depth = 1
            try:
                yield
            finally:
                self._inside.depth = 0

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Delete, while nobody looks anything up. Short: every build waits."""
        with self._locked(self._directory, fcntl.LOCK_EX, by_way_of=fcntl.LOCK_EX):
            yield

    def hold(self, kind: Leased, digests: Iterable[bytes]) -> None:
        """Lease things for as long as this process has the store open, or less; only in `taking()`.

        Records until they are given up as often, what else there is until the end of the `working()` that this thread
        is in. A full disk is no reason to fail: what is collected all the same is missed, and built again in the same
        run.
        """
        work: _LeaseFile | None = getattr(self._inside, "work", None)
        (self._own if work is None or kind == "record" else work).hold(kind, digests)

    @property
    def given_up(self) -> int:
        """How often this process gave something up: each time, more may be collected."""
        return self._given_up

    def give_up(self, keys: Iterable[bytes]) -> None:
        """Lease records no more that were leased as often."""
        self._own.give_up("record", keys)
        self._note_given_up()

    @contextmanager
    def working(self) -> Iterator[None]:
        """See `ports.records.Records.working`."""
        self._inside.work = _LeaseFile(self._directory)
        try:
            yield
        finally:
            self._inside.work.close()
            self._inside.work = None
            self._note_given_up()

    def all(self) -> list[Lease]:
        """The leases of every process that runs, this one's among them. Those of others that ended are removed."""
        found = []
        for path in sorted(self._directory.iterdir()):
            with suppress(FileNotFoundError):
                if _is_held(path):
                    found.append(_read(path))
                else:
                    path.unlink()
        return found

    def close(self) -> None:
        """Give everything up."""
        self._own.close()

    def _note_given_up(self) -> None:
        with self._guard:
            self._given_up += 1

    @contextmanager
    def _locked(self, path: Path, how: int, *, by_way_of: int) -> Iterator[None]:
        """Hold the directory at `path`.

        Who comes by has to pass the directory above, which whoever wants to be alone holds from when it begins to
        wait: else it could wait for ever, for one comes in before the other goes out.
        """
        with _open_directory(self._root) as gate, _open_directory(path) as inner:
            try:
                fcntl.flock(gate, by_way_of)
                fcntl.flock(inner, how)
                if how == fcntl.LOCK_SH:
                    fcntl.flock(gate, fcntl.LOCK_UN)
            except OSError as error:
                raise StoreAccessError(self._root, error) from error
            yield


@contextmanager
def _open_directory(path: Path) -> Iterator[int]:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError as error:
        raise StoreAccessError(path, error) from error
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _is_held(path: Path) -> bool:
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
    return False


def _read(path: Path) -> Lease:
    head, _newline, data = path.read_bytes().partition(b"\n")
    # A process that was stopped while it wrote has not been told yet.
    entries = [data[at : at + _ENTRY_BYTES] for at in range(0, len(data) - _ENTRY_BYTES + 1, _ENTRY_BYTES)]
    held: dict[bytes, set[bytes]] = {letter: set() for letter in _LETTERS.values()}
    for entry in entries:
        letter, digest = entry[:1], entry[1:]
        if letter in held:
            held[letter].add(digest)
        elif letter.lower() in held:
            held[letter.lower()].discard(digest)
    return Lease(
        owner=head.decode("utf-8", "replace"),
        held={kind: frozenset(held[letter]) for kind, letter in _LETTERS.items()},
    )


def raw(digests: Iterable[Digest]) -> list[bytes]:
    """The bytes of digests, as leases have them."""
    return [digest.raw for digest in digests]
