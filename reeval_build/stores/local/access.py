"""Whether a store may be written to: every command does, for what it uses is leased."""

from __future__ import annotations

import os
import pwd
from typing import TYPE_CHECKING

from reeval_build.stores.local.database import StoreAccessError

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path


class NotWritableError(StoreAccessError):
    """The store may be read and not written."""

    def __init__(self, path: Path, reason: str) -> None:
        super().__init__(
            path,
            PermissionError(reason),
            hint="every command writes to its store: give yourself write access to all of it, or name one of your own"
            " with --store or $REEVAL_BUILD_HOME, which may begin as a copy of this one",
        )
        self.reason = reason


def check_writable(root: Path, names: Iterable[str]) -> None:
    """Raise a `NotWritableError` when `root`, a file of its own or a directory among `names` may only be read."""
    if os.statvfs(root).f_flag & os.ST_RDONLY:
        raise NotWritableError(root, "its file system is mounted read-only")
    files = [path for path in (root / "store.sqlite", root / "tally") if path.exists()]
    for path in (root, *(root / name for name in names), *files):
        if not os.access(path, os.R_OK | os.W_OK | (0 if path in files else os.X_OK)):
            raise NotWritableError(root, f"you may not write to {_name(path, root)}{_of_whom(path)}")


def _name(path: Path, root: Path) -> str:
    return "it" if path == root else f"{path.name} in it"


def _of_whom(path: Path) -> str:
    owner = path.stat().st_uid
    if owner == os.geteuid():
        return ""
    try:
        return f", which belongs to {pwd.getpwuid(owner).pw_name}"
    except KeyError:
        return f", which belongs to user {owner}"
