"""Which files of the host, each named by itself, are what they were when they were read."""

from __future__ import annotations

import os
import threading
from typing import TYPE_CHECKING

import attrs

from reeval_build.sources.freshness import KnownFile, Scan, as_known, files_of, row_of

if TYPE_CHECKING:
    from reeval_build.digest import Digest
    from reeval_build.sources.freshness import Freshness

_HERE = b""


@attrs.define
class _Directory:
    """The files of one directory that are known, and whether one was added."""

    scan: Scan
    files: dict[bytes, KnownFile]
    changed: bool = False


class KnownHostFiles:
    """Asks for what is known of a directory once, when the first file in it is asked for."""

    def __init__(self, freshness: Freshness) -> None:
        self._freshness = freshness
        self._directories: dict[bytes, _Directory] = {}
        self._guard = threading.Lock()

    def find(self, path: str, status: os.stat_result, descriptor: int) -> Digest | None:
        """The content of an open file that is what it was."""
        directory, name = self._open(path)
        known = directory.files.get(name)
        if known is None or known.row != row_of(status) or not directory.scan.trusts(status.st_dev, descriptor):
            return None
        return known.digest

    def add(self, path: str, status: os.stat_result, descriptor: int, digest: Digest) -> None:
        """What an open file was, before and after it was read."""
        directory, name = self._open(path)
        row = directory.scan.settled(status)
        if row is not None and directory.scan.trusts(status.st_dev, descriptor):
            known = KnownFile(row, digest)
            with self._guard:
                directory.changed |= directory.files.get(name) != known
                directory.files[name] = known

    def save(self) -> None:
        """Remember what was added, and forget what is not there any more."""
        for above, directory in self._directories.items():
            if directory.changed:
                files = {name: file for name, file in directory.files.items() if os.path.lexists(above + b"/" + name)}
                directory.scan.found(_HERE, as_known(files))
                directory.scan.save()

    def _open(self, path: str) -> tuple[_Directory, bytes]:
        above, name = os.path.split(os.fsencode(path))
        with self._guard:
            if above not in self._directories:
                scan = self._freshness.scan(b"file " + above)
                known = scan.known(_HERE)
                self._directories[above] = _Directory(scan, {} if known is None else dict(files_of(known)))
            return self._directories[above], name
