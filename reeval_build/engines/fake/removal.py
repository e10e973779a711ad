"""Removes the directories of sandboxes."""

from __future__ import annotations

import os
import shutil
import stat
from contextlib import suppress
from typing import TYPE_CHECKING

from reeval_build.engines.fake.processes import ProcessesRemainError, end_processes

if TYPE_CHECKING:
    from pathlib import Path


def discard(directory: Path) -> None:
    """End what still runs in the sandboxes below `directory`, which a killed process left, and remove them.

    What cannot be ended, such as another user's, runs on.
    """
    with suppress(ProcessesRemainError):
        end_processes(directory.resolve())
    remove(directory)


def remove(directory: Path) -> None:
    """Remove a directory, however deep it is and whatever a command made unreadable or read-only in it.

    What cannot be removed all the same, such as another user's, stays.
    """
    with suppress(OSError, RecursionError):
        shutil.rmtree(directory)
    with suppress(OSError):
        _flatten(os.fsencode(directory))


def _flatten(root: bytes) -> None:
    """Remove `root` by moving the directories in it up to it, so that no path gets long and nothing recurs."""
    if not os.path.lexists(root):
        return
    os.chmod(root, stat.S_IRWXU)
    moved, mark = 0, os.urandom(8).hex().encode()
    pending = [root]
    while pending:
        directory = pending.pop()
        with os.scandir(directory) as entries:
            found = [(entry.path, entry.is_dir(follow_symlinks=False)) for entry in entries]
        for path, is_directory in found:
            if not is_directory:
                os.unlink(path)
                continue
            moved += 1
            place = b"%s/%s-%d" % (root, mark, moved)
            os.chmod(path, stat.S_IRWXU)
            os.rename(path, place)
            pending.append(place)
        if directory != root:
            os.rmdir(directory)
    os.rmdir(root)
