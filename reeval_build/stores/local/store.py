"""The directory of a store and the parts it is made of."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Self

from reeval_build.stores.local.database import Database, StoreAccessError
from reeval_build.stores.local.objects import LocalObjects
from reeval_build.stores.local.records import LocalRecords

if TYPE_CHECKING:
    from pathlib import Path
    from types import TracebackType

_DIRECTORIES: Final = ("objects", "packs", "tmp", "locks", "logs", "git", "quarantine")


class LocalStore:
    """A store in one directory; see `docs/reference/store.md` for what is in it.

    Raises:
        StoreAccessError: when the directory cannot be made, read or written.
        StoreFormatError: when another version wrote it.
    """

    def __init__(self, root: Path) -> None:
        self.root = root.absolute()
        try:
            for name in _DIRECTORIES:
                (self.root / name).mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise StoreAccessError(self.root, error) from error
        self._database = Database(self.root / "store.sqlite")
        self.objects = LocalObjects(self.root, self._database)
        self.records = LocalRecords(self._database, self.root / "locks")

    @property
    def scratch(self) -> Path:
        """Where temporary files go: the store's own file system."""
        return self.root / "tmp"

    @property
    def logs(self) -> Path:
        """Where the output of steps goes."""
        return self.root / "logs"

    @property
    def git(self) -> Path:
        """Where fetched git objects are kept."""
        return self.root / "git"

    def close(self) -> None:
        """Close files and connections."""
        self.objects.close()
        self._database.close()

    def __enter__(self) -> Self:
        """The store itself."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close."""
        self.close()
