"""What is known of files by their looks is what is found by reading them, whatever was done to them."""

from __future__ import annotations

import mmap
import os
import shutil
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Final

import attrs
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from reeval_build.errors import InfraError
from reeval_build.execute.integrity import is_whole
from reeval_build.plan.outputs import TreeOutput
from reeval_build.sources.freshness import Freshness
from reeval_build.sources.host_files import HostFileReader
from reeval_build.sources.local_trees import LocalDirectories
from reeval_build.stores.unread_stats import UnreadStats
from tests.support.memory_store import MemoryObjects, MemoryStats
from tests.support.torture import examples

if TYPE_CHECKING:
    from collections.abc import Callable

    from reeval_build.digest import Digest, Domain
    from reeval_build.ports.objects import Batch

SECOND: Final = 10**9
HOUR: Final = 3600 * SECOND
FILES: Final = ("a", "b", "d/a", "d/b", "d/e/a")
DIRECTORIES: Final = ("d", "d/e", "f")
# Before and after what 64 bits of nanoseconds hold, too.
TIMES: Final = (-3 * 10**9 * SECOND, 0, 1_700_000_000 * SECOND, 4 * 10**9 * SECOND, 13 * 10**9 * SECOND)


class World:
    """A directory, what was remembered of it, and a store."""

    def __init__(self, root: Path) -> None:
        self.root = root / "root"
        self.root.mkdir()
        self._aside = root / "aside"
        self._probe = root / "probe"
        self._probe.touch()
        self._objects = MemoryObjects()
        self._cache = MemoryStats()
        self._is_trusting = False

    def path(self, name: str) -> Path:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        return path

    def edit(self, edit: Edit) -> None:
        """Do something to the directory. What is not possible now is not done."""
        if self._is_trusting:
            self._await_other_times()
            self._is_trusting = False
        with suppress(OSError):
            edit.do(self)

    def scan(self, scan: Scan) -> None:
        """Look at the directory at a time that is `hours` from now, and at every file by itself."""
        self._is_trusting = scan.hours > 0
        freshness = Freshness(self._cache, clock=lambda: time.time_ns() + scan.hours * HOUR)
        trees = LocalDirectories(self._objects, freshness)
        with suppress(InfraError), self._objects.batch() as batch:
            trees.identify(str(self.root), Meddling(batch, scan.meddling, self.edit))
        self._is_trusting = scan.hours > 0
        files = HostFileReader(self._objects, freshness)
        for name in FILES:
            with suppress(InfraError):
                files.read(str(self.root / name))
        files.close()

    def check(self) -> None:
        """What is known agrees with what is read, and the store has all of it."""
        knowing, rehashing = Freshness(self._cache), Freshness(UnreadStats(MemoryStats()))
        trees = [LocalDirectories(self._objects, freshness) for freshness in (knowing, rehashing)]
        with self._objects.batch() as batch:
            known, read = (one.identify(str(self.root), batch).tree for one in trees)
        with self._objects.batch() as batch:
            complete = trees[0].read(str(self.root), batch)
        assert known == read == complete
        assert is_whole(TreeOutput(workspace=complete), self._objects) is None
        files = [HostFileReader(self._objects, freshness) for freshness in (knowing, rehashing)]
        for name in FILES:
            if (self.root / name).is_file():
                one, other = (reader.read(str(self.root / name)) for reader in files)
                assert one == other

    def lose(self) -> None:
        """Have the store lose everything."""
        self._objects.kept.clear()

    def replace(self, name: str, data: bytes) -> None:
        self._aside.write_bytes(data)
        self._aside.rename(self.path(name))

    def swap(self, one: str, other: str) -> None:
        self.path(one).rename(self._aside)
        self.path(other).rename(self.path(one))
        self._aside.rename(self.path(other))

    def _await_other_times(self) -> None:
        """Wait until what is written gets other times than what was: a scan an hour later would have."""
        before = self._probe.stat().st_ctime_ns
        os.utime(self._probe)
        while self._probe.stat().st_ctime_ns == before:
            time.sleep(0.001)
            os.utime(self._probe)


@attrs.frozen
class Edit:
    """Something that is done to files, which may need more than one of them."""

    kind: str
    name: str
    other: str
    data: bytes
    time_ns: int

    def do(self, world: World) -> None:
        EDITS[self.kind](world, self)


@attrs.frozen
class Scan:
    """A scan so many hours from now, in which an edit is made when so many objects were added."""

    hours: int
    meddling: tuple[int, Edit] | None


class Meddling:
    """A batch in whose place somebody edits the directory at some point."""

    def __init__(self, batch: Batch, meddling: tuple[int, Edit] | None, edit: Callable[[Edit], None]) -> None:
        self._batch = batch
        self._left = -1 if meddling is None else meddling[0]
        self._meddling = None if meddling is None else meddling[1]
        self._edit = edit

    def add(self, domain: Domain, data: bytes) -> Digest:
        self._disturb()
        return self._batch.add(domain, data)

    def add_stream(self, domain: Domain, source: BinaryIO) -> tuple[Digest, int]:
        self._disturb()
        return self._batch.add_stream(domain, source)

    def _disturb(self) -> None:
        self._left -= 1
        if self._left == -1 and self._meddling is not None:
            self._edit(self._meddling)


def _write(world: World, edit: Edit) -> None:
    world.path(edit.name).write_bytes(edit.data)


def _rewrite(world: World, edit: Edit) -> None:
    """Other bytes of the same number, and the time of the last change put back."""
    path = world.path(edit.name)
    before = path.stat()
    path.write_bytes(bytes(byte ^ edit.data[0] for byte in path.read_bytes()))
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


def _replace_alike(world: World, edit: Edit) -> None:
    """Another file of the same size and time in the place of one."""
    path = world.path(edit.name)
    before = path.stat()
    world.replace(edit.name, bytes(byte ^ edit.data[0] for byte in path.read_bytes()))
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


def _link_symbolically(world: World, edit: Edit) -> None:
    path = world.path(edit.name)
    path.unlink(missing_ok=True)
    path.symlink_to(Path(edit.other).name)


def _set_time(world: World, edit: Edit) -> None:
    os.utime(world.path(edit.name), ns=(edit.time_ns, edit.time_ns))


def _link(world: World, edit: Edit) -> None:
    path = world.path(edit.name)
    path.unlink(missing_ok=True)
    path.hardlink_to(world.path(edit.other))


def _move_directory(world: World, edit: Edit) -> None:
    """One directory in the place of another, whose files may have the same names."""
    shutil.rmtree(world.root / "f", ignore_errors=True)
    (world.root / "d").rename(world.root / "f")


def _swap_directories(world: World, edit: Edit) -> None:
    """Two directories in each other's place, with files that keep all their times."""
    aside = world.root / "f" if edit.data == b"1" else world.root.parent / "directory aside"
    (world.root / "d").rename(aside)
    (aside / "e").rename(world.root / "d")
    aside.rename(world.root / "d/e")


def _map(world: World, edit: Edit) -> None:
    """Other bytes by way of memory, and the time of the last change put back."""
    path = world.path(edit.name)
    before = path.stat()
    with path.open("r+b") as stream, mmap.mmap(stream.fileno(), 0) as memory:
        memory[0] = memory[0] ^ edit.data[0]
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


def _write_from_outside(world: World, edit: Edit) -> None:
    """Other bytes by a name that the file has elsewhere."""
    outside = world.root.parent / "outside"
    outside.unlink(missing_ok=True)
    outside.hardlink_to(world.path(edit.name))
    before = outside.stat()
    outside.write_bytes(bytes(byte ^ edit.data[0] for byte in outside.read_bytes()))
    os.utime(outside, ns=(before.st_atime_ns, before.st_mtime_ns))


def _empty_and_fill(world: World, edit: Edit) -> None:
    """Truncated to nothing, and as long as before again, with other bytes."""
    path = world.path(edit.name)
    size = path.stat().st_size
    with path.open("r+b") as stream:
        stream.truncate(0)
        stream.write(edit.data)
        stream.truncate(size)


EDITS: Final[dict[str, Callable[[World, Edit], object]]] = {
    "write": _write,
    "rewrite": _rewrite,
    "replace": lambda world, edit: world.replace(edit.name, edit.data),
    "replace alike": _replace_alike,
    "swap": lambda world, edit: world.swap(edit.name, edit.other),
    "swap directories": _swap_directories,
    "map": _map,
    "write from outside": _write_from_outside,
    "empty and fill": _empty_and_fill,
    "set time": _set_time,
    "link": _link,
    "link symbolically": _link_symbolically,
    "remove": lambda world, edit: world.path(edit.name).unlink(),
    "make executable": lambda world, edit: world.path(edit.name).chmod(0o755),
    "make readable": lambda world, edit: world.path(edit.name).chmod(0o644),
    "make a directory": lambda world, _edit: world.path("f").mkdir(),
    "remove a directory": lambda world, _edit: shutil.rmtree(world.root / "d/e"),
    "move a directory": _move_directory,
    "lose": lambda world, _edit: world.lose(),
}

names = st.sampled_from(FILES)
edits = st.builds(
    Edit,
    kind=st.sampled_from(sorted(EDITS)),
    name=names,
    other=names,
    # Mostly of one size, which is what makes it hard.
    data=st.sampled_from([b"1", b"2", b"3", b"12"]),
    time_ns=st.sampled_from(TIMES),
)
scans = st.builds(Scan, hours=st.sampled_from([-1, 0, 1, 1]), meddling=st.none() | st.tuples(st.integers(0, 6), edits))
BEGINNING: Final = [Edit("write", name, name, b"1", 0) for name in FILES]


@pytest.mark.conforms("fault 9", "fault 10", "fault 19")
@settings(max_examples=examples(300), suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(edits | scans, max_size=16))
@example([Scan(1, None), Edit("rewrite", "a", "a", b"2", 0)])
@example([Scan(1, None), Edit("replace alike", "a", "a", b"2", 0)])
@example([Scan(1, None), Edit("swap", "a", "b", b"2", 0)])
@example([Edit("set time", "a", "a", b"1", TIMES[-1]), Scan(1, None), Edit("rewrite", "a", "a", b"2", 0)])
@example([Scan(1, None), Edit("map", "a", "a", b"2", 0)])
@example([Scan(1, None), Edit("write from outside", "a", "a", b"2", 0)])
@example([Scan(1, None), Edit("swap directories", "a", "a", b"2", 0)])
@example([Scan(1, None), Edit("lose", "a", "a", b"1", 0)])
@example([Scan(1, (2, Edit("rewrite", "a", "a", b"2", 0)))])
def test_what_is_known_of_files_is_what_reading_them_finds(steps: list[Edit | Scan]) -> None:
    with tempfile.TemporaryDirectory() as directory:
        world = World(Path(directory))
        for step in [*BEGINNING, *steps]:
            if isinstance(step, Scan):
                world.scan(step)
                world.check()
            else:
                world.edit(step)
        world.check()
