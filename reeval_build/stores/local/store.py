"""The directory of a store and the parts it is made of."""

from __future__ import annotations

from contextlib import closing, suppress
from typing import TYPE_CHECKING, Final, Self

from reeval_build.stores.local.access import check_writable
from reeval_build.stores.local.cells import LocalCells
from reeval_build.stores.local.database import Database, StoreAccessError
from reeval_build.stores.local.facts import LocalFacts
from reeval_build.stores.local.leases import Leases
from reeval_build.stores.local.locks import stale_locks
from reeval_build.stores.local.marker import INDEX, check_is_store, mark
from reeval_build.stores.local.objects import LocalObjects
from reeval_build.stores.local.records import LocalRecords
from reeval_build.stores.local.scratch import Scratch, leftover_directories
from reeval_build.stores.local.stats import LocalStats
from reeval_build.stores.local.tally import Tally

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path
    from types import TracebackType

_DIRECTORIES: Final = ("objects", "packs", "tmp", "locks", "logs", "leases", "git", "npm", "quarantine")


class LocalStore:
    """A store in one directory; see `docs/reference/store.md` for what is in it.

    Raises:
        StoreAccessError: when the directory cannot be made, read or written; a `NotWritableError` when it is there
            and may only be read.
        NotAStoreError: when there is something else in the directory.
        StoreFormatError: when another version wrote it.
    """

    def __init__(self, root: Path) -> None:
        self.root = root.absolute()
        check_is_store(self.root, _DIRECTORIES)
        try:
            for name in _DIRECTORIES:
                (self.root / name).mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise StoreAccessError(self.root, error) from error
        check_writable(self.root, _DIRECTORIES)
        mark(self.root)
        self.database = Database(self.root / INDEX)
        try:
            self._scratch = Scratch(self.root / "tmp")
        except OSError as error:
            self.database.close()
            raise StoreAccessError(self.root, error) from error
        self.leases = Leases(self.root)
        self.tally = Tally(self.root)
        self.objects = LocalObjects(self.root, self.database, self.leases, self.tally, scratch=self.scratch)
        self.records = LocalRecords(self.database, self.leases, self.root / "locks")
        self.cells = LocalCells(self.database)
        self.stats = LocalStats(self.database)
        self.facts = LocalFacts(self.database)

    @property
    def scratch(self) -> Path:
        """Where temporary files of this process go: the store's own file system."""
        return self._scratch.path

    def scratch_in(self, above: Path) -> Path:
        """Where temporary files of this process go that must be below `above`, which is made when it is not there.

        Raises:
            OSError: when it cannot be made.
        """
        return self._scratch.elsewhere(above)

    @property
    def logs(self) -> Path:
        """Where the output of steps goes."""
        return self.root / "logs"

    @property
    def git(self) -> Path:
        """Where fetched git objects are kept."""
        return self.root / "git"

    @property
    def npm(self) -> Path:
        """Where fetched archives of npm packages are kept."""
        return self.root / "npm"

    def remove_leftovers(self, discard: Callable[[Path], None]) -> None:
        """Give every directory of temporary files that a killed process left to `discard`, which removes it.

        What a process that still runs has there is left alone, on whatever machine it is.
        """
        for leftover in leftover_directories(self.root / "tmp"):
            discard(leftover)
        for path in _stale_files(self.root):
            # What cannot be removed now is tried again by the next process.
            with suppress(OSError):
                path.unlink()

    def close(self) -> None:
        """Close files and connections."""
        # Each, even when Ctrl-C comes in between.
        with closing(self._scratch), closing(self.database), closing(self.objects), closing(self.leases):
            self.tally.close()

    def __enter__(self) -> Self:
        """The store itself."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close."""
        self.close()


def leftovers(root: Path) -> list[Path]:
    """What killed processes left of the store at `root`, which the next build removes. Nothing is made or removed.

    Raises:
        StoreAccessError: when the directory cannot be read.
    """
    try:
        return [*leftover_directories(root / "tmp"), *_stale_files(root)]
    except OSError as error:
        raise StoreAccessError(root, error) from error


def _stale_files(root: Path) -> Iterator[Path]:
    for name in ("locks", "leases"):
        yield from stale_locks(root / name)
