"""A store of one process: what must not outlive it."""

from __future__ import annotations

import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from reeval_build.ports.objects import LostObjectError
from reeval_build.stores.local import LocalStore

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from contextlib import AbstractContextManager
    from pathlib import Path
    from typing import BinaryIO

    from reeval_build.digest import Digest, Domain
    from reeval_build.ports.objects import Batch

_DIRECTORY: Final = "private"


class PrivateObjects:
    """See `ports.objects.Objects`; they are below `scratch`, where nothing is before the first, nor after `close`.

    `scratch` is this process's alone, and removed by others when it is killed.
    """

    def __init__(self, *, scratch: Path) -> None:
        self._root = scratch / _DIRECTORY
        self._store: LocalStore | None = None
        self._guard = threading.Lock()

    def read(self, domain: Domain, digest: Digest) -> bytes:
        """See `ports.objects.Objects.read`."""
        return self._holding(digest).objects.read(domain, digest)

    def read_all(self, domain: Domain, digests: Iterable[Digest]) -> Iterator[bytes]:
        """See `ports.objects.Objects.read_all`."""
        return (self.read(domain, digest) for digest in digests)

    def open(self, domain: Domain, digest: Digest) -> AbstractContextManager[BinaryIO]:
        """See `ports.objects.Objects.open`."""
        return self._holding(digest).objects.open(domain, digest)

    def present(self, digests: Iterable[Digest]) -> set[Digest]:
        """See `ports.objects.Objects.present`."""
        return set() if self._store is None else self._store.objects.present(digests)

    def present_trees(self, digests: Iterable[Digest]) -> set[Digest]:
        """See `ports.objects.Objects.present_trees`."""
        return set() if self._store is None else self._store.objects.present_trees(digests)

    @contextmanager
    def batch(self) -> Iterator[Batch]:
        """See `ports.objects.Objects.batch`."""
        with self._guard:
            if self._store is None:
                self._root.mkdir(mode=0o700)
                self._store = LocalStore(self._root)
        with self._store.objects.batch() as batch:
            yield batch

    def close(self) -> None:
        """Remove them all; nothing is asked of it afterwards."""
        with self._guard:
            if self._store is not None:
                self._store.close()
                self._store = None
        if self._root.exists():
            import shutil  # noqa: PLC0415 - only for who has something private

            shutil.rmtree(self._root, ignore_errors=True)

    def _holding(self, digest: Digest) -> LocalStore:
        if self._store is None:
            raise LostObjectError(digest, store=str(self._root), reason="is missing")
        return self._store
