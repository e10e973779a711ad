"""Keeps the archives of packages by what is in them, and which version has which."""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import tempfile
import time
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

import attrs

from reeval_build.canon import encode
from reeval_build.digest import Domain
from reeval_build.sources.npm_errors import PackageCacheError
from reeval_build.sources.npm_integrity import hex_of, integrity_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from io import BufferedReader

_FOUND: Final = Domain("npm package", 1)
_ABANDONED_AFTER_S: Final = 24 * 60 * 60


@attrs.frozen(kw_only=True)
class KnownPackage:
    """What is written down of a package: `integrity` is that of its archive."""

    name: str
    version: str
    integrity: str

    def check(self, what: tuple[str, ...]) -> str:
        """What says whether all of it can still be read as it was written."""
        return _FOUND.digest(encode([what, self.name, self.version, self.integrity])).hex


class PackageCache:
    """Archives of packages, and small files that say what is known of them.

    Processes share it without a lock. Everything gets its name in one step and when it is whole, and is verified when
    it is read, so what is lost or damaged is only fetched again. All of it may be removed at any time.
    """

    def __init__(self, root: Path) -> None:
        self.root = root.absolute()
        self._archives = self.root / "archives"
        self._known = self.root / "known"
        self._incoming = self.root / "incoming"

    @contextmanager
    def errors(self) -> Iterator[None]:
        """Say so when the disk is full, or the cache may not be written."""
        try:
            yield
        except OSError as error:
            raise PackageCacheError(self.root, error) from error

    @contextmanager
    def scratch(self) -> Iterator[Path]:
        """A directory for what is not whole yet; what a killed process left is removed when it is a day old."""
        for directory in (self._archives, self._known, self._incoming):
            directory.mkdir(parents=True, exist_ok=True)
        for left in self._incoming.iterdir():
            if _age_s(left) > _ABANDONED_AFTER_S:
                shutil.rmtree(left, ignore_errors=True)
        with tempfile.TemporaryDirectory(dir=self._incoming, ignore_cleanup_errors=True) as made:
            yield Path(made)

    def keep(self, archive: Path, integrity: str) -> None:
        """Take in an archive from `scratch`, whose bytes have `integrity`."""
        archive.replace(self._archive(integrity))

    @contextmanager
    def opened(self, integrity: str) -> Iterator[BufferedReader | None]:
        """The archive whose bytes have `integrity`, verified, or None when it is not here."""
        path = self._archive(integrity)
        stream = self._open(path)
        if stream is None:
            yield None
            return
        with stream:
            _note_use(stream)
            if integrity_of(stream) == integrity:
                yield stream
            else:
                path.unlink(missing_ok=True)
                yield None

    def find(self, *what: str) -> KnownPackage | None:
        """What is known of `what`, or None."""
        stream = self._open(self._file(what))
        if stream is None:
            return None
        with stream:
            _note_use(stream)
            try:
                return _read(stream.read(), what)
            except (ValueError, RecursionError):
                return None

    def remember(self, *what: str, known: KnownPackage) -> None:
        """Write down what is known of `what`."""
        with self.scratch() as scratch:
            made = scratch / "known.json"
            made.write_text(json.dumps({"of": what, **attrs.asdict(known), "check": known.check(what)}, indent=1))
            made.replace(self._file(what))

    def _open(self, path: Path) -> BufferedReader | None:
        with self.errors():
            try:
                return path.open("rb")
            except FileNotFoundError:
                return None

    def _archive(self, integrity: str) -> Path:
        name = hex_of(integrity)
        assert name is not None, f"archives are kept by their SHA-512, not by {integrity!r}"
        return self._archives / name

    def _file(self, what: tuple[str, ...]) -> Path:
        return self._known / _FOUND.digest(encode(what)).hex


def _note_use(stream: BufferedReader) -> None:
    """Have a file that is open be kept while it is, and longer than what was not used for longer."""
    with suppress(OSError):
        fcntl.flock(stream.fileno(), fcntl.LOCK_SH | fcntl.LOCK_NB)
        os.utime(stream.fileno())


def _read(data: bytes, what: tuple[str, ...]) -> KnownPackage | None:
    match json.loads(data):
        case {"name": str(name), "version": str(version), "integrity": str(integrity), "check": str(check)}:
            known = KnownPackage(name=name, version=version, integrity=integrity)
            return known if check == known.check(what) else None
        case _:
            return None


def _age_s(path: Path) -> float:
    try:
        return time.time() - path.stat().st_mtime
    except FileNotFoundError:
        return 0
