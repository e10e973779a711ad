"""Writes tar archives byte by byte, also those that no program would write."""

from __future__ import annotations

import gzip
import json
from typing import Final

BLOCK: Final = 512
END: Final = bytes(2 * BLOCK)


def member(
    path: bytes,
    data: bytes = b"",
    *,
    kind: bytes = b"0",
    mode: int = 0o644,
    target: bytes = b"",
    size: bytes | None = None,
    prefix: bytes = b"",
) -> bytes:
    """A header and the bytes that follow it; `size` is what the header says when that is not true."""
    said = b"%011o\0" % len(data) if size is None else size
    start = path.ljust(100, b"\0") + b"%07o\0" % mode + b"0000000\0" * 2 + said + b"00000000000\0"
    end = kind + target.ljust(100, b"\0") + b"ustar\00000" + bytes(64) + b"0000000\0" * 2 + prefix.ljust(167, b"\0")
    assert (len(start), len(end)) == (148, 356), "a field is too long for a header"
    checksum = sum(start) + sum(end) + 8 * ord(" ")
    return start + b"%06o\0 " % checksum + end + data + bytes(-len(data) % BLOCK)


def pax(*records: tuple[bytes, bytes], kind: bytes = b"x") -> bytes:
    """An extended header for the member that follows."""
    return member(b"PaxHeaders/x", b"".join(_record(key, value) for key, value in records), kind=kind)


def tar(*members: bytes) -> bytes:
    """A whole archive."""
    return b"".join(members) + END


def package(name: str, version: str, *more: bytes, files: dict[str, bytes] | None = None) -> bytes:
    """What `npm pack` makes, with members of one's own behind."""
    manifest = json.dumps({"name": name, "version": version}).encode()
    found = {"package.json": manifest, **(files or {})}
    return zipped(tar(*(member(f"package/{path}".encode(), data) for path, data in found.items()), *more))


def zipped(data: bytes) -> bytes:
    return gzip.compress(data, 1, mtime=0)


def _record(key: bytes, value: bytes) -> bytes:
    rest = b" " + key + b"=" + value + b"\n"
    length = len(rest)
    while len(b"%d" % length) + len(rest) != length:
        length = len(b"%d" % length) + len(rest)
    return b"%d" % length + rest
