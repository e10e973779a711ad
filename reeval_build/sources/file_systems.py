"""Which file systems say truly whether a file has changed."""

from __future__ import annotations

import struct
import sys
import threading
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable

# Local ones, whose times are of this machine's clock. On others, of networks and of FUSE, who writes elsewhere may
# not be seen here at once, or with the times of another clock. The numbers are from statfs(2).
TRUSTED: Final = {
    0xEF53: "ext2, ext3, ext4",
    0x58465342: "xfs",
    0x9123683E: "btrfs",
    0xF2F52010: "f2fs",
    0x2FC12FC1: "zfs",
    0xCA451A4E: "bcachefs",
    0x01021994: "tmpfs",
    0x794C7630: "overlayfs",
}
# Far more than the structure has on any machine.
_STATFS_BYTES: Final = 1024


class FileSystems:
    """Asks for the kind of each file system once."""

    def __init__(self, kind_of: Callable[[int], int | None]) -> None:
        self._kind_of = kind_of
        self._trusted: dict[int, bool] = {}
        self._guard = threading.Lock()

    def trusted(self, device: int, descriptor: int) -> bool:
        """Whether what is said of files on `device` can be relied on; `descriptor` is of anything on it."""
        with self._guard:
            if device not in self._trusted:
                self._trusted[device] = self._kind_of(descriptor) in TRUSTED
            return self._trusted[device]


def kind_of(descriptor: int) -> int | None:
    """The number of the kind of a file system, or None where it is not known how to ask."""
    if sys.platform != "linux":
        return None
    import ctypes  # noqa: PLC0415 - some milliseconds that only who reads files of the host pays

    buffer = ctypes.create_string_buffer(_STATFS_BYTES)
    if ctypes.CDLL(None, use_errno=True).fstatfs(descriptor, buffer) != 0:
        return None
    kind: int = struct.unpack_from("@l", buffer)[0]
    return kind & 0xFFFFFFFF
