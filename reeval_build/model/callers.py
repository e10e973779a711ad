"""Which file of the author's called into this package."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from types import FrameType

_PACKAGE: Final = str(Path(__file__).parent.parent) + os.sep


def calling_file() -> Path | None:
    """The file of the nearest caller outside this package, or None when its code is not from a file."""
    frame: FrameType | None = sys._getframe(1)  # noqa: SLF001 - there is no public way to the caller's file
    while frame is not None and frame.f_code.co_filename.startswith(_PACKAGE):
        frame = frame.f_back
    if frame is None or frame.f_code.co_filename.startswith("<"):
        return None
    return Path(frame.f_code.co_filename).absolute()
