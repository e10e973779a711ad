"""Reads what others may write to meanwhile: again, until it was the same before and after."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final, TypeVar

if TYPE_CHECKING:
    import os
    from collections.abc import Callable

Result = TypeVar("Result")

_PAUSES_S: Final = (0.0, 0.1, 0.2, 0.4)


class ChangedError(Exception):
    """What is read was written to while it was read."""


def read_steadily(read: Callable[[], Result]) -> Result:
    """What `read` gives the first time that it does not raise ChangedError.

    Raises:
        ChangedError: when it did a few times in a row, with pauses in between.
    """
    *earlier, last_s = _PAUSES_S
    for pause_s in earlier:
        time.sleep(pause_s)
        try:
            return read()
        except ChangedError:
            continue
    time.sleep(last_s)
    return read()


def version(status: os.stat_result) -> tuple[int, int, int]:
    """What differs when a file or a directory was written to, or its permissions were changed."""
    return status.st_size, status.st_mtime_ns, status.st_ctime_ns
