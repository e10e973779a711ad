"""What was fetched and is kept besides objects: repositories, and archives of packages."""

from __future__ import annotations

import fcntl
import os
import re
import secrets
import shutil
import time
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

import attrs

from reeval_build.stores.local.tally import bytes_below

if TYPE_CHECKING:
    from collections.abc import Iterator

_REPOSITORY: Final = re.compile("[0-9a-f]{64}")
_DAY_S: Final = 24 * 60 * 60


@attrs.frozen(kw_only=True)
class Fetched:
    """A repository, the archive of a package, or what is known of a package, which is small and only ages.

    `age_days` is how long ago it was last used.
    """

    path: Path
    bytes: int
    age_days: int
    is_used: bool = False
    only_ages: bool = False


def fetched_in(root: Path) -> list[Fetched]:
    """All of it, as it is now."""
    found = []
    for directory, only_ages in (("git", False), ("npm/archives", False), ("npm/known", True)):
        for path in _entries(root / directory):
            if directory != "git" or _REPOSITORY.fullmatch(path.name):
                # Others may remove it meanwhile; what may not be read is of another user, who collects it.
                with suppress(FileNotFoundError, PermissionError):
                    found.append(_looked_at(path, only_ages=only_ages))
    return found


def remove_fetched(path: Path, *, scratch: Path) -> bool:
    """Remove something that was fetched, unless a process uses it.

    It is moved away while it is held, so that whoever comes then begins anew.
    """
    with _held(path) as is_ours:
        if not is_ours:
            return False
        aside = scratch / f"fetched-{secrets.token_hex(8)}"
        path.rename(aside)
    with suppress(OSError):
        _remove(aside)
    return True


def remove_abandoned(root: Path) -> None:
    """Remove what killed processes were fetching a day ago or before that."""
    for directory in ("git", "npm/incoming"):
        for path in _entries(root / directory):
            if not _REPOSITORY.fullmatch(path.name):
                with suppress(OSError):
                    if time.time() - path.lstat().st_mtime > _DAY_S:
                        _remove(path)


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink()


def _looked_at(path: Path, *, only_ages: bool) -> Fetched:
    with _held(path) as is_ours:
        used_s = time.time() - path.stat().st_mtime
        return Fetched(
            path=path,
            bytes=bytes_below(path) if path.is_dir() else path.stat().st_size,
            age_days=max(0, int(used_s // _DAY_S)),
            is_used=not is_ours,
            only_ages=only_ages,
        )


@contextmanager
def _held(path: Path) -> Iterator[bool]:
    """Whether nobody uses what is at `path`; nobody begins to meanwhile."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        is_ours = False
    else:
        is_ours = True
    try:
        yield is_ours
    finally:
        os.close(descriptor)


def _entries(directory: Path) -> list[Path]:
    try:
        return sorted(directory.iterdir())
    except FileNotFoundError:
        return []
