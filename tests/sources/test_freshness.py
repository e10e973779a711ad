"""What is known of files from when they were read last, and when it is not relied on."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import attrs
import pytest

from reeval_build.content.docker_ignore import DockerIgnore
from reeval_build.digest import BLOB
from reeval_build.execute import trees
from reeval_build.sources.file_systems import TRUSTED, kind_of
from reeval_build.sources.freshness import Freshness, row_of
from reeval_build.sources.host_files import HostFileReader
from reeval_build.sources.limits import Limits
from reeval_build.sources.local_place import LocalTreeError
from reeval_build.sources.local_trees import LocalDirectories
from reeval_build.stores.unread_stats import UnreadStats
from reeval_build.tree.directory import walk
from tests.sources.conftest import an_hour_later, knowing_nothing
from tests.support.memory_store import MemoryObjects, MemoryStats

if TYPE_CHECKING:
    from typing import BinaryIO

    from reeval_build.digest import Digest, Domain
    from reeval_build.ports.objects import Objects
    from reeval_build.tree.directory import Entry

NFS = 0x6969
FIELDS = ["st_dev", "st_ino", "st_size", "st_mtime_ns", "st_ctime_ns", "st_mode"]


@pytest.fixture
def objects() -> MemoryObjects:
    return MemoryObjects()


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """Four files and a link, in three directories."""
    root = tmp_path / "tree"
    (root / "d/e").mkdir(parents=True)
    for name in ("a", "b", "d/a", "d/e/a"):
        (root / name).write_bytes(name.encode())
    (root / "d/to").symlink_to("a")
    return root


class Reads:
    """Identifies a directory, and says which bytes were read for that."""

    def __init__(self, objects: Objects, freshness: Freshness) -> None:
        self._objects = objects
        self._directories = LocalDirectories(objects, freshness)

    def __call__(self, tree: Path) -> list[bytes]:
        with self._objects.batch() as batch:
            watched = Watched()
            digest = self._directories.identify(str(tree), watched).tree
            read = self._directories.read(str(tree), batch)
            assert read == digest == LocalDirectories(self._objects, knowing_nothing()).read(str(tree), batch)
        return sorted(watched.added)


class Watched:
    """A batch that keeps only the contents of files."""

    def __init__(self) -> None:
        self.added: list[bytes] = []

    def add(self, domain: Domain, data: bytes) -> Digest:
        if domain == BLOB:
            self.added.append(data)
        return domain.digest(data)

    def add_stream(self, domain: Domain, source: BinaryIO) -> tuple[Digest, int]:
        data = source.read()
        return self.add(domain, data), len(data)


EVERYTHING = [b"a", b"b", b"d/a", b"d/e/a"]


def test_files_are_read_once(objects: Objects, tree: Path) -> None:
    reads = Reads(objects, an_hour_later(MemoryStats()))

    assert [reads(tree), reads(tree)] == [EVERYTHING, []]


def test_what_is_selected_is_known_apart_from_what_is_selected_differently(objects: Objects, tree: Path) -> None:
    freshness = an_hour_later(MemoryStats())
    (tree / ".git").mkdir()
    rules = {text: DockerIgnore(text) for text in (b"b\n", b"d\n!d/e/a\n", b"d\n!d/x\n")}

    def read(rule: bytes, *, batch: Watched) -> dict[bytes, Entry]:
        directories = LocalDirectories(objects, freshness)
        with objects.batch() as kept:
            found = directories.read(str(tree), kept, selection=rules[rule])
        assert directories.identify(str(tree), batch, selection=rules[rule]).tree == found
        return {b"/".join(parts): entry for parts, entry in walk(found, trees.loader(objects))}

    again = Watched()
    found = {rule: [*read(rule, batch=again)] for rule in [*rules, *rules]}

    assert found == {
        b"b\n": [b".git", b"a", b"d", b"d/a", b"d/e", b"d/to", b"d/e/a"],
        b"d\n!d/e/a\n": [b".git", b"a", b"b", b"d", b"d/e", b"d/e/a"],
        b"d\n!d/x\n": [b".git", b"a", b"b"],
    }
    assert again.added == []
    (tree / "d/x").write_bytes(b"new")
    assert b"d/x" in read(b"d\n!d/x\n", batch=again)


def test_only_what_changed_is_read(objects: Objects, tree: Path) -> None:
    reads = Reads(objects, an_hour_later(MemoryStats()))
    reads(tree)

    (tree / "d/new").write_bytes(b"new")
    (tree / "b").unlink()
    (tree / "a").write_bytes(b"changed")

    assert reads(tree) == [b"changed", b"new"]


def test_a_directory_that_is_the_same_one_elsewhere_is_known_by_its_path_only(objects: Objects, tree: Path) -> None:
    reads = Reads(objects, an_hour_later(MemoryStats()))
    reads(tree)

    tree.rename(tree.with_name("moved"))

    assert reads(tree.with_name("moved")) == EVERYTHING


def test_everything_is_read_again_when_asked_for_and_then_known(objects: Objects, tree: Path) -> None:
    cache = MemoryStats()
    rehashing, knowing = Reads(objects, an_hour_later(UnreadStats(cache))), Reads(objects, an_hour_later(cache))

    assert [rehashing(tree), rehashing(tree), knowing(tree)] == [EVERYTHING, EVERYTHING, []]


def test_what_was_just_written_is_not_known(objects: Objects, tree: Path) -> None:
    reads = Reads(objects, Freshness(MemoryStats()))

    assert [reads(tree), reads(tree)] == [EVERYTHING, EVERYTHING]


@pytest.mark.conforms("fault 9")
def test_an_edit_right_after_a_scan_is_seen_though_the_clock_did_not_move(objects: Objects, tmp_path: Path) -> None:
    (tmp_path / "tree").mkdir()
    path = tmp_path / "tree/a"
    freshness = Freshness(MemoryStats())
    directories, files = LocalDirectories(objects, freshness), HostFileReader(objects, freshness)

    for number in range(100):
        data = b"%03d" % number
        path.write_bytes(data)
        with objects.batch() as batch:
            tree = directories.identify(str(tmp_path / "tree"), batch).tree
            assert tree == LocalDirectories(objects, knowing_nothing()).read(str(tmp_path / "tree"), batch)
        assert files.read(str(path)).digest == BLOB.digest(data)


@pytest.mark.parametrize("year", [2100, 2400])
def test_a_time_in_the_future_is_never_settled(objects: Objects, tree: Path, year: int) -> None:
    time_s = (year - 1970) * 365 * 24 * 3600
    os.utime(tree / "a", (time_s, time_s))
    reads = Reads(objects, an_hour_later(MemoryStats()))

    assert [reads(tree), reads(tree)] == [EVERYTHING, [b"a"]]


def test_what_was_written_before_the_clock_was_set_back_is_not_known(objects: Objects, tree: Path) -> None:
    reads = Reads(objects, Freshness(MemoryStats(), clock=lambda: (tree / "a").stat().st_mtime_ns - 3600 * 10**9))

    assert [reads(tree), reads(tree)] == [EVERYTHING, EVERYTHING]


@pytest.mark.parametrize("kind", [NFS, None])
def test_on_other_file_systems_everything_is_read(objects: Objects, tree: Path, kind: int | None) -> None:
    cache = MemoryStats()
    reads = Reads(objects, Freshness(cache, clock=lambda: 1 << 62, kind_of=lambda _descriptor: kind))

    assert [reads(tree), reads(tree)] == [EVERYTHING, EVERYTHING]
    assert not any(cache.kept.values())


@pytest.mark.skipif(kind_of(0) is None and not Path("/proc/self").exists(), reason="asks Linux")
def test_the_kind_of_a_file_system_is_asked_of_the_system(tmp_path: Path) -> None:
    kinds = []
    for path in (tmp_path, Path("/proc")):
        descriptor = os.open(path, os.O_RDONLY)
        kinds.append(kind_of(descriptor))
        os.close(descriptor)

    assert (kinds[0] in TRUSTED, kinds[1]) == (True, 0x9FA0)


def test_what_the_store_has_lost_is_read_again(objects: MemoryObjects, tree: Path) -> None:
    directories = LocalDirectories(objects, an_hour_later(MemoryStats()))
    with objects.batch() as batch:
        directories.read(str(tree), batch)
    before = dict(objects.kept)

    for digest in before:
        del objects.kept[digest]
        with objects.batch() as batch:
            directories.read(str(tree), batch)

        assert objects.kept == before


def test_what_is_known_counts_for_the_limits(objects: Objects, tree: Path) -> None:
    freshness = an_hour_later(MemoryStats())
    for limits in (Limits(members=7, unpacked_bytes=10), Limits(members=6), Limits(unpacked_bytes=9)):
        is_enough = limits == Limits(members=7, unpacked_bytes=10)
        messages = []
        for one in (freshness, knowing_nothing()):
            try:
                with objects.batch() as batch:
                    LocalDirectories(objects, one, limits=limits).read(str(tree), batch)
            except LocalTreeError as error:
                messages.append(error.message)
        assert len(messages) == (0 if is_enough else 2)
        assert messages[:1] == messages[1:]


def test_a_host_file_that_is_known_is_not_read(objects: MemoryObjects, tree: Path) -> None:
    cache, path = MemoryStats(), str(tree / "a")
    for name in ("a", "b"):
        reader = HostFileReader(objects, an_hour_later(cache))
        reader.read(str(tree / name))
        reader.close()
    ((root, directories),) = cache.kept.items()
    a, b = BLOB.digest(b"a"), BLOB.digest(b"b")

    # Nobody can know that this is wrong without reading it.
    cache.save(root, {b"": attrs.evolve(directories[b""], digests=b.raw + a.raw)})

    assert HostFileReader(objects, an_hour_later(cache)).read(path).digest == b
    assert HostFileReader(objects, an_hour_later(UnreadStats(cache))).read(path).digest == a


def test_a_host_file_that_the_store_has_lost_is_read_again(objects: MemoryObjects, tree: Path) -> None:
    reader = HostFileReader(objects, an_hour_later(MemoryStats()))
    found = reader.read(str(tree / "a"))
    objects.kept.clear()

    assert reader.read(str(tree / "a")) == found
    assert objects.kept == {found.digest: b"a"}


@pytest.mark.parametrize("field", FIELDS)
def test_every_integer_of_a_file_is_compared(field: str) -> None:
    assert row_of(status()) == row_of(status())
    assert row_of(status(**{field: 7})) != row_of(status())


@pytest.mark.parametrize("time_ns", [2**63, -(2**63) - 1])
def test_a_time_that_does_not_fit_is_never_settled(time_ns: int) -> None:
    scan = Freshness(MemoryStats(), clock=lambda: 2**80).scan(b"root")

    assert scan.settled(status()) == row_of(status())
    assert scan.settled(status(st_mtime_ns=time_ns)) is None


def status(**fields: int) -> os.stat_result:
    """What the system would say of a file."""
    every = dict.fromkeys(FIELDS, 1) | fields
    seconds = {f"st_{name}": every[f"st_{name}_ns"] / 1e9 for name in ("mtime", "ctime")}
    order = ["st_mode", "st_ino", "st_dev"]
    return os.stat_result(
        (*(every[name] for name in order), 1, 0, 0, every["st_size"], 0, 0, 0),
        {**{name: every[name] for name in FIELDS if name.endswith("_ns")}, **seconds},
    )
