"""Directories of the host on their way into the store."""

from __future__ import annotations

import os
import socket
import stat
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from reeval_build.digest import TREE
from reeval_build.sources.local_place import LocalEntryError, LocalTreeError, NoLocalTreeError
from reeval_build.sources.local_trees import LocalDirectories
from reeval_build.tree.directory import EMPTY, Kind, encode
from tests.sources.conftest import an_hour_later, knowing_nothing, without_privileges
from tests.sources.trees import show, write_out
from tests.support.memory_store import MemoryStats
from tests.support.torture import examples

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from reeval_build.digest import Digest
    from reeval_build.ports.objects import Objects
    from reeval_build.ports.sources import LocalTrees
    from tests.sources.trees import Shown

FILE, EXECUTABLE, DIRECTORY, SYMLINK = Kind.FILE, Kind.EXECUTABLE, Kind.DIRECTORY, Kind.SYMLINK
MIB = 1024 * 1024


class Reader:
    """Reads directories into a store and shows what has come of them."""

    def __init__(self, objects: Objects) -> None:
        self._objects = objects

    def digest(self, directory: Path | str) -> Digest:
        """What is read, and then is known, is the same."""
        directories: LocalTrees = LocalDirectories(self._objects, an_hour_later(MemoryStats()))
        with self._objects.batch() as batch:
            read = directories.read(str(directory), batch)
        with self._objects.batch() as batch:
            assert directories.identify(str(directory), batch).tree == read
            assert directories.read(str(directory), batch) == read
        return read

    def __call__(self, directory: Path | str) -> Shown:
        return show(self._objects, self.digest(directory))


@pytest.fixture
def read(objects: Objects) -> Reader:
    return Reader(objects)


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """An empty directory."""
    directory = tmp_path / "tree"
    directory.mkdir()
    return directory


def refused(read: Reader, tree: Path) -> LocalEntryError:
    with pytest.raises(LocalEntryError) as caught:
        read(tree)
    return caught.value


# What is read.


@pytest.mark.conforms("fault 38", "fault 39")
def test_files_links_and_directories_are_read(read: Reader, tree: Path) -> None:
    (tree / "d/empty").mkdir(parents=True)
    (tree / "d/run").write_bytes(b"#!/bin/sh\n")
    (tree / "d/run").chmod(0o755)
    (tree / "a").write_bytes(b"1")
    (tree / "to").symlink_to("d/run")
    (tree / "d/up").symlink_to(".././a")
    (tree / "to-directory").symlink_to("d")
    (tree / "dangling").symlink_to("d/nowhere")

    assert read(tree) == {
        b"a": (FILE, b"1"),
        b"d": (DIRECTORY, None),
        b"d/empty": (DIRECTORY, None),
        b"d/run": (EXECUTABLE, b"#!/bin/sh\n"),
        b"d/up": (SYMLINK, b".././a"),
        b"dangling": (SYMLINK, b"d/nowhere"),
        b"to": (SYMLINK, b"d/run"),
        b"to-directory": (SYMLINK, b"d"),
    }


def test_an_empty_directory_is_an_empty_tree(read: Reader, tree: Path) -> None:
    assert read.digest(tree) == TREE.digest(encode(EMPTY))


def test_the_directory_may_be_named_by_a_link_and_with_a_slash(read: Reader, tree: Path, tmp_path: Path) -> None:
    (tree / "a").write_bytes(b"1")
    (tmp_path / "one").symlink_to("tree")
    (tmp_path / "two").symlink_to("one")

    assert read.digest(tmp_path / "two") == read.digest(f"{tree}/") == read.digest(tree)


def test_dot_git_is_left_out_at_any_depth(read: Reader, tree: Path) -> None:
    for directory in (tree, tree / "d/e"):
        (directory / ".git").mkdir(parents=True)
        (directory / ".git/HEAD").write_bytes(b"1")
        (directory / ".gitignore").write_bytes(b"2")
    (tree / "d/.git").write_bytes(b"gitdir: elsewhere\n")

    assert {*read(tree)} == {b".gitignore", b"d", b"d/e", b"d/e/.gitignore"}


def test_only_the_owner_decides_what_is_executable(read: Reader, tree: Path) -> None:
    for mode in (0o755, 0o700, 0o655, 0o644):
        (tree / f"{mode:o}").write_bytes(b"1")
        (tree / f"{mode:o}").chmod(mode)

    assert {name: kind for name, (kind, _) in read(tree).items()} == {
        b"755": EXECUTABLE,
        b"700": EXECUTABLE,
        b"655": FILE,
        b"644": FILE,
    }


@pytest.mark.conforms("fault 14")
def test_times_owners_other_permissions_and_order_make_no_difference(read: Reader, tmp_path: Path) -> None:
    names = ["a", "b", "run", "z"]
    for directory, mask, order in (("one", 0o022, names), ("two", 0o077, names[::-1])):
        (tmp_path / directory / "d").mkdir(parents=True)
        (tmp_path / directory / "d").chmod(0o777 & ~mask)
        for name in order:
            path = tmp_path / directory / "d" / name
            path.write_bytes(name.encode())
            path.chmod((0o777 if name == "run" else 0o666) & ~mask)
            os.utime(path, (mask, mask))

    assert read.digest(tmp_path / "one") == read.digest(tmp_path / "two")


def test_what_is_written_out_is_read_as_the_same(read: Reader, objects: Objects, tree: Path, tmp_path: Path) -> None:
    (tree / "d").mkdir()
    (tree / "d/run").write_bytes(b"1")
    (tree / "d/run").chmod(0o700)
    (tree / "to").symlink_to("d")
    digest = read.digest(tree)

    assert read.digest(write_out(objects, digest, tmp_path / "copy")) == digest


def test_a_hard_link_is_a_file_of_its_own(read: Reader, tree: Path) -> None:
    (tree / "a").write_bytes(b"1")
    (tree / "b").hardlink_to(tree / "a")

    assert read(tree) == {b"a": (FILE, b"1"), b"b": (FILE, b"1")}


_names = st.binary(min_size=1, max_size=255).filter(
    lambda name: not {*b"/\0"} & {*name} and name not in {b".", b"..", b".git"} and not name.startswith(b".wh.")
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=examples(50))
@given(names=st.sets(_names, min_size=1, max_size=8))
def test_names_are_any_bytes(read: Reader, tmp_path_factory: pytest.TempPathFactory, names: set[bytes]) -> None:
    directory = tmp_path_factory.mktemp("names")
    for name in names:
        Path(os.fsdecode(os.fsencode(directory) + b"/" + name)).write_bytes(name)

    assert read(directory) == {name: (FILE, name) for name in names}


@pytest.mark.parametrize("names", [("a", "A"), ("\u00e9", "e\u0301"), ("line\nbreak", "line break")])
def test_names_that_some_systems_take_for_one_are_two(read: Reader, tree: Path, names: tuple[str, str]) -> None:
    for name in names:
        (tree / name).write_text(name)
    if len([*tree.iterdir()]) < len(names):
        pytest.skip("the file system takes them for one")

    assert read(tree) == {name.encode(): (FILE, name.encode()) for name in names}


@pytest.mark.parametrize("size", [0, 1, MIB, MIB + 1, 3_000_000])
def test_bytes_of_any_number_are_kept(read: Reader, tree: Path, size: int) -> None:
    data = os.urandom(size)
    (tree / "a").write_bytes(data)

    assert read(tree) == {b"a": (FILE, data)}


def test_directories_may_be_nested_deeper_than_a_path_can_say(read: Reader, tree: Path) -> None:
    name = "d" * 100
    _nest(tree, [name] * 254, b"1")

    shown = read(tree)

    assert len(shown) == 255
    assert shown[b"/".join([name.encode()] * 254 + [b"file"])] == (FILE, b"1")


# What is refused.


def test_endless_nesting_is_refused(read: Reader, tree: Path) -> None:
    _nest(tree, ["d"] * 256, b"1")

    assert refused(read, tree).reason == "is more than 255 directories deep"


def _make_socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(str(path))


def _make_file(path: Path, mode: int) -> None:
    path.write_bytes(b"")
    path.chmod(mode)


@pytest.mark.conforms("fault 39")
@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (lambda path: path.symlink_to("/etc/passwd"), "is a symbolic link out of its tree, to '/etc/passwd'"),
        (lambda path: path.symlink_to("../../x"), "is a symbolic link out of its tree, to '../../x'"),
        (lambda path: path.symlink_to("../e/../../tree/d"), 'is a symbolic link with ".." behind a name'),
        (os.mkfifo, "is a fifo"),
        (_make_socket, "is a socket"),
        (lambda path: _make_file(path, 0o4755), "runs with the rights of its owner"),
        (lambda path: _make_file(path, 0o2755), "runs with the rights of its owner"),
    ],
    ids=["absolute", "up", "up-and-back", "fifo", "socket", "setuid", "setgid"],
)
@pytest.mark.timeout(10)
def test_what_must_not_be_placed_is_refused_by_its_path(
    read: Reader, tree: Path, make: Callable[[Path], None], reason: str
) -> None:
    (tree / "d").mkdir()
    make(tree / "d/thing")

    error = refused(read, tree)

    assert error.message.startswith(f'directory "{tree}" has "d/thing", which {reason}')
    assert error.path == b"d/thing"
    assert error.hint


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make devices")
def test_a_device_is_refused_by_its_path(read: Reader, tree: Path) -> None:
    try:
        os.mknod(tree / "null", stat.S_IFCHR | 0o600, os.makedev(1, 3))
    except PermissionError:
        pytest.skip("devices cannot be made here")

    assert refused(read, tree).reason == "is a device"


def test_a_name_that_image_layers_use_is_refused(read: Reader, tree: Path) -> None:
    (tree / ".wh.a").write_bytes(b"")

    assert refused(read, tree).path == b".wh.a"


def test_of_several_the_first_by_name_is_named(read: Reader, tree: Path) -> None:
    for name in ("c", "a", "b"):
        (tree / name).symlink_to("/")

    assert refused(read, tree).path == b"a"


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (lambda _path: None, "does not exist"),
        (lambda path: path.symlink_to("nowhere"), "does not exist"),
        (lambda path: path.write_bytes(b""), "is not a directory"),
        (os.mkfifo, "is not a directory"),
        (lambda path: path.symlink_to(path.name), "cannot be read: too many levels of symbolic links"),
    ],
    ids=["missing", "dangling", "file", "fifo", "loop"],
)
def test_what_is_no_directory_is_refused(
    read: Reader, tmp_path: Path, make: Callable[[Path], None], reason: str
) -> None:
    make(tmp_path / "thing")

    with pytest.raises(LocalTreeError) as caught:
        read(tmp_path / "thing")

    assert caught.value.message == f'directory "{tmp_path / "thing"}" {reason}'
    assert caught.value.hint


@pytest.fixture
def public() -> Iterator[Path]:
    """An empty directory that everybody may look into, as they may not into those of pytest."""
    with tempfile.TemporaryDirectory() as made:
        Path(made).chmod(0o755)
        yield Path(made)


@pytest.mark.parametrize(
    ("name", "mode", "named"),
    [("d/secret", 0, "d/secret"), ("d/closed/", 0, "d/closed"), ("d/unlisted/", 0o311, "d/unlisted")],
)
def test_what_cannot_be_read_is_named(objects: Objects, public: Path, name: str, mode: int, named: str) -> None:
    (public / "d").mkdir()
    if name.endswith("/"):
        (public / name).mkdir()
    else:
        (public / name).write_bytes(b"1")
    (public / name).chmod(mode)

    with objects.batch() as batch, pytest.raises(LocalEntryError) as caught, without_privileges():
        LocalDirectories(objects, knowing_nothing()).read(str(public), batch)

    assert caught.value.message == f'directory "{public}" has "{named}", which cannot be read: permission denied'


def test_a_directory_that_may_not_be_looked_into_is_named(objects: Objects, public: Path) -> None:
    (public / "d").mkdir(mode=0)

    with objects.batch() as batch, pytest.raises(LocalEntryError) as caught, without_privileges():
        LocalDirectories(objects, knowing_nothing()).read(str(public / "d"), batch)

    assert caught.value.message == f'directory "{public / "d"}" cannot be read: permission denied'


@pytest.mark.parametrize("path", ["/a\0b", "/a\ud800"])
def test_a_path_that_no_directory_can_have_is_refused(read: Reader, path: str) -> None:
    with pytest.raises(NoLocalTreeError, match="is no path that a directory can have"):
        read(path)


def test_no_descriptor_stays_open(read: Reader, tree: Path) -> None:
    _nest(tree, ["d"] * 10, b"1")
    # The store opens what it needs when it is first used.
    read.digest(tree)
    open_before = len([*Path("/proc/self/fd").iterdir()])

    read.digest(tree)
    (tree / "d/d/d/link").symlink_to("/")
    refused(read, tree)

    assert len([*Path("/proc/self/fd").iterdir()]) == open_before


def _nest(tree: Path, names: list[str], data: bytes) -> None:
    """Make directories, each in the one before it, and a file in the last."""
    descriptor = os.open(tree, os.O_RDONLY)
    for name in names:
        os.mkdir(name, dir_fd=descriptor)
        below = os.open(name, os.O_RDONLY, dir_fd=descriptor)
        os.close(descriptor)
        descriptor = below
    file = os.open("file", os.O_WRONLY | os.O_CREAT, 0o644, dir_fd=descriptor)
    os.write(file, data)
    os.close(file)
    os.close(descriptor)
