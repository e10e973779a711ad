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
    """Remove a directory, what a command made unreadable or read-only in it as well.

    What cannot be removed all the same, such as another user's, stays.
    """
    with suppress(OSError):
        shutil.rmtree(directory)
        return
    with suppress(OSError):
        _open_up(directory)
    shutil.rmtree(directory, ignore_errors=True)


def _open_up(directory: Path) -> None:
    os.chmod(directory, stat.S_IRWXU)
    for above, names, _files in os.walk(directory):
        for name in names:
            path = os.path.join(above, name)
            if not os.path.islink(path):
                os.chmod(path, stat.S_IRWXU)
