"""Waits for what must come, for as long as a slow machine may need."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable

_PATIENCE_S: Final = 60.0


def wait_until(holds: Callable[[], object]) -> None:
    """Wait until something holds; a test that waits in vain fails."""
    deadline = time.monotonic() + _PATIENCE_S
    while not holds():
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.005)
