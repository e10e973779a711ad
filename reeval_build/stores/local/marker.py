"""Whether a directory is a store, so that nothing is ever removed from one that is not."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Final

from reeval_build.errors import InfraError
from reeval_build.stores.local.database import StoreAccessError

if TYPE_CHECKING:
    from collections.abc import Container
    from pathlib import Path

INDEX: Final = "store.sqlite"
_MARKER: Final = "CACHEDIR.TAG"
# The first line is what programs that back up go by: https://bford.info/cachedir/
_OURS: Final = b"Signature: 8a477f597d28d172789f06886806bc55\n# A store of reeval-build."
_TEXT: Final = _OURS + b" All that is in here can be made again, and what else is put here may be removed.\n"
# What a new file system has in it.
_NO_MATTER: Final = "lost+found"


class NotAStoreError(InfraError):
    """A directory that is to be a store has something of somebody else's in it."""

    def __init__(self, path: Path, found: str) -> None:
        super().__init__(
            f"the directory {path} is not a store of reeval-build: it has {found} in it",
            hint="name one that is empty or not there yet with --store or $REEVAL_BUILD_HOME",
        )
        self.path, self.found = path, found


def check_is_store(root: Path, names: Container[str]) -> None:
    """See that a directory that is there is a store, or has nothing in it but empty directories among `names`.

    A process that makes a store makes those first, and may have been killed there.

    Raises:
        NotAStoreError: when it is not.
        StoreAccessError: when it cannot be read.
    """
    try:
        if (root / INDEX).exists():
            return
        found = _something_else(root, names)
        # Another process may have made a store of it meanwhile.
        if found is not None and not _marker(root).startswith(_OURS):
            raise NotAStoreError(root, found)
    except OSError as error:
        raise StoreAccessError(root, error) from error


def mark(root: Path) -> None:
    """Say in a directory that it is a store: when a damaged index is removed nothing else does."""
    # A disk that is full takes it later, all of it.
    with suppress(OSError):
        if len(found := _marker(root)) < len(_OURS) and _OURS.startswith(found):
            (root / _MARKER).write_bytes(_TEXT)


def _marker(root: Path) -> bytes:
    with suppress(FileNotFoundError), (root / _MARKER).open("rb") as file:
        return file.read(len(_OURS))
    return b""


def _something_else(root: Path, names: Container[str]) -> str | None:
    """The name of what no store has that is only begun."""
    with suppress(FileNotFoundError):
        for path in root.iterdir():
            is_begun = path.name in names and path.is_dir() and not any(path.iterdir())
            if not is_begun and path.name not in {_MARKER, _NO_MATTER}:
                return path.name
    return None
