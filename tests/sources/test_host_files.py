"""Files of the host on their way into the store."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pytest

from reeval_build.digest import BLOB
from reeval_build.sources.host_files import HostFileError, HostFileReader
from tests.sources.conftest import knowing_nothing, without_privileges

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

    from reeval_build.digest import Digest
    from reeval_build.ports.objects import Objects

SIZES = [0, 1, 1024 * 1024, 1024 * 1024 + 1, 3_000_000]

# So long that whoever else wants the processor cannot keep a writer from it while this is read.
LONG = 64 * 1024 * 1024


@pytest.fixture
def reader(objects: Objects) -> HostFileReader:
    return HostFileReader(objects, knowing_nothing())


@pytest.mark.parametrize("size", SIZES)
def test_the_bytes_are_kept(reader: HostFileReader, objects: Objects, tmp_path: Path, size: int) -> None:
    data = os.urandom(size)
    (tmp_path / "file").write_bytes(data)

    for _ in range(2):
        read = reader.read(str(tmp_path / "file"))

        assert (read.digest, read.size, read.executable) == (BLOB.digest(data), size, False)
        assert objects.read(BLOB, read.digest) == data


def test_only_the_owner_decides_what_is_executable(reader: HostFileReader, tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"x")

    for mode, executable in [(0o755, True), (0o700, True), (0o655, False), (0o644, False)]:
        path.chmod(mode)
        assert reader.read(str(path)).executable is executable


def test_a_link_to_a_file_is_followed(reader: HostFileReader, tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"x")
    (tmp_path / "link").symlink_to("file")

    assert reader.read(str(tmp_path / "link")) == reader.read(str(tmp_path / "file"))


def _make_socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(str(path))


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (lambda _path: None, "does not exist"),
        (lambda path: path.mkdir(), "is a directory"),
        (lambda path: path.symlink_to("nowhere"), "does not exist"),
        (lambda path: path.symlink_to(path.name), "cannot be read: too many levels of symbolic links"),
        (os.mkfifo, "is not a regular file"),
        (_make_socket, "cannot be read: no such device or address"),
        (lambda path: path.symlink_to("/dev/zero"), "is not a regular file"),
    ],
    ids=["missing", "directory", "dangling", "loop", "fifo", "socket", "device"],
)
@pytest.mark.timeout(10)
def test_what_is_no_file_is_refused_by_its_path(
    reader: HostFileReader, tmp_path: Path, make: Callable[[Path], None], reason: str
) -> None:
    path = tmp_path / "thing"
    make(path)

    with pytest.raises(HostFileError) as caught:
        reader.read(str(path))

    assert caught.value.message == f'file("{path}") {reason}'
    assert caught.value.hint


@pytest.mark.parametrize("path", ["/a\0b", "/a\ud800"])
def test_a_path_that_no_file_can_have_is_refused(reader: HostFileReader, path: str) -> None:
    with pytest.raises(HostFileError) as caught:
        reader.read(path)

    assert caught.value.reason == "is no path that a file can have"
    assert str(caught.value).isprintable()


def test_a_path_through_a_file_is_refused(reader: HostFileReader, tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"x")

    with pytest.raises(HostFileError, match="cannot be read: not a directory"):
        reader.read(str(tmp_path / "file/x"))


def test_a_file_without_access_is_refused(reader: HostFileReader, tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"x")
    (tmp_path / "file").chmod(0o000)

    with without_privileges(), pytest.raises(HostFileError, match="cannot be read: permission denied"):
        reader.read(str(tmp_path / "file"))


@pytest.fixture
def writer(tmp_path: Path) -> Iterator[Callable[[float], Path]]:
    """Starts a process that keeps appending to a file for some seconds."""
    started: list[subprocess.Popen[bytes]] = []

    def write(seconds: float) -> Path:
        path = tmp_path / "log"
        with path.open("wb") as log:
            log.truncate(LONG)
        program = (
            "import sys, time\n"
            "until = time.monotonic() + float(sys.argv[2])\n"
            "with open(sys.argv[1], 'ab', buffering=0) as log:\n"
            "    while time.monotonic() < until: log.write(b'y')\n"
        )
        started.append(subprocess.Popen([sys.executable, "-c", program, path, str(seconds)]))
        while path.stat().st_size == LONG:
            time.sleep(0.01)
        return path

    yield write
    for process in started:
        process.kill()
        process.wait()


def test_a_file_that_changes_while_it_is_read_is_read_again(
    reader: HostFileReader, objects: Objects, writer: Callable[[float], Path]
) -> None:
    path = writer(0.2)

    read = reader.read(str(path))

    assert objects.read(BLOB, read.digest) == path.read_bytes()


def test_a_file_that_never_stays_the_same_is_refused(reader: HostFileReader, writer: Callable[[float], Path]) -> None:
    path = writer(60)

    with pytest.raises(HostFileError) as caught:
        reader.read(str(path))

    assert caught.value.reason == "changed each time it was read"


class _Meddling:
    """A store that is told to look for an object just when somebody writes to the file."""

    def __init__(self, objects: Objects, meddle: Callable[[], None]) -> None:
        self._objects = objects
        self._meddle = meddle
        self.read, self.read_all, self.open, self.batch = objects.read, objects.read_all, objects.open, objects.batch
        self.present_trees = objects.present_trees

    def present(self, digests: Iterable[Digest]) -> set[Digest]:
        found = self._objects.present(digests)
        self._meddle()
        return found


@pytest.mark.parametrize("size", SIZES[1:])
def test_what_is_kept_is_what_was_hashed(objects: Objects, tmp_path: Path, size: int) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"a" * size)
    reader = HostFileReader(_Meddling(objects, lambda: _write(path, b"b" * size)), knowing_nothing())

    read = reader.read(str(path))

    assert BLOB.digest(objects.read(BLOB, read.digest)) == read.digest
    assert read.size == size


def _write(path: Path, data: bytes) -> None:
    path.write_bytes(data)
