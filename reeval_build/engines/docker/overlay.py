"""What the directories of an overlay mean, from https://docs.kernel.org/filesystems/overlayfs.html."""

from __future__ import annotations

import errno
import os
import stat
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

    from reeval_build.paths import Parts

_OPAQUE: Final = "trusted.overlay.opaque"
_YES: Final = b"y"
_WHITEOUT_DEVICE: Final = os.makedev(0, 0)


def is_whiteout(status: os.stat_result) -> bool:
    """Whether it stands for nothing being there, whatever the directories below have."""
    return stat.S_ISCHR(status.st_mode) and status.st_rdev == _WHITEOUT_DEVICE


def is_opaque(path: bytes) -> bool:
    """Whether a directory hides what the directories below have in it."""
    return attribute(path, _OPAQUE) == _YES


def attribute(path: bytes, name: str) -> bytes | None:
    """An extended attribute, or None."""
    try:
        return os.getxattr(path, name, follow_symlinks=False)
    except OSError as error:
        if error.errno in {errno.ENODATA, errno.ENOTSUP}:
            return None
        raise


def is_visible(parts: Parts, layers: Iterable[bytes]) -> bool:
    """Whether a path is there in what `layers`, the uppermost first, make up."""
    for layer in layers:
        path, hides = layer, False
        for depth, name in enumerate(parts, 1):
            path = path + b"/" + name
            try:
                status = os.lstat(path)
            except FileNotFoundError:
                break
            if is_whiteout(status):
                return False
            if depth == len(parts):
                return True
            if not stat.S_ISDIR(status.st_mode):
                return False
            hides = hides or is_opaque(path)
        if hides:
            return False
    return False
