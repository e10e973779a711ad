from __future__ import annotations

import os
from typing import TYPE_CHECKING

import attrs
import pytest

from reeval_build.digest import BLOB, DELTA
from reeval_build.engines.fake.restore import TwinNamesError, restore
from reeval_build.errors import InfraError
from reeval_build.state.delta import DeltaEntry, DeltaKind, encode
from reeval_build.state.state import State, StepDelta
from tests.support.memory_store import MemoryObjects

if TYPE_CHECKING:
    from pathlib import Path

    from reeval_build.ports.objects import Batch

BASE = BLOB.digest(b"base")
CONTENT = b"of the state"
WORK = b"work"


def file(*names: bytes) -> DeltaEntry:
    return DeltaEntry(
        parts=(WORK, *names), kind=DeltaKind.FILE, mode=0o644, digest=BLOB.digest(CONTENT), size=len(CONTENT)
    )


def directory(*names: bytes, mode: int = 0o755, opaque: bool = False) -> DeltaEntry:
    return DeltaEntry(parts=(WORK, *names), kind=DeltaKind.DIRECTORY, mode=mode, opaque=opaque)


def link(target: Path, *names: bytes) -> DeltaEntry:
    return DeltaEntry(parts=(WORK, *names), kind=DeltaKind.SYMLINK, mode=0o777, target=str(target).encode())


def hard_link(target: bytes, *names: bytes) -> DeltaEntry:
    return DeltaEntry(
        parts=(WORK, *names),
        kind=DeltaKind.HARD_LINK,
        mode=0o600,
        digest=BLOB.digest(CONTENT),
        size=len(CONTENT),
        target=target,
    )


def deleted(*names: bytes) -> DeltaEntry:
    return DeltaEntry(parts=(WORK, *names), kind=DeltaKind.DELETED)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    made = tmp_path / "root"
    made.mkdir()
    return made


def write(root: Path, *deltas: list[DeltaEntry]) -> dict[str, str]:
    """What is there after these deltas: each path with its kind and, of files, what is in it."""
    objects = MemoryObjects()
    with objects.batch() as batch:
        batch.add(BLOB, CONTENT)
        kept = [_kept(batch, entries) for entries in deltas]
    restored = restore(State(BASE, tuple(kept)), bytes(root), [(WORK,)], objects)
    there = {bytes(path.relative_to(root)): path for path in root.rglob("*")}
    assert there.keys() == {b"/".join(parts) for parts in restored.entries} == {b"/".join(p) for p in restored.stamps}
    return {str(path.relative_to(root / "work")): _what(path) for path in there.values() if path != root / "work"}


def _what(path: Path) -> str:
    if path.is_symlink():
        return "link"
    return "directory" if path.is_dir() else path.read_text()


def _kept(batch: Batch, entries: list[DeltaEntry]) -> StepDelta:
    data, times = encode(entries)
    return StepDelta(delta=batch.add(DELTA, data), times=batch.add(DELTA, times))


@pytest.mark.conforms("fault 40")
@pytest.mark.parametrize(
    "entries",
    [
        [file(b"l", b"new")],
        [file(b"l", b"a")],
        [directory(b"l", b"sub")],
        [file(b"l", b"sub", b"new")],
        [hard_link(b"work/l/a", b"h")],
        [hard_link(b"work/l", b"h")],
        [hard_link(b"work/missing", b"h")],
        [file(b"missing", b"a")],
        [file(b"f", b"a")],
    ],
    ids=lambda entries: f"{entries[0].kind.name} {entries[0].path.decode()}",
)
def test_nothing_is_written_through_a_link_or_without_a_directory_of_the_state(tmp_path, root, entries):
    theirs = tmp_path / "theirs"
    (theirs / "sub").mkdir(parents=True)
    (theirs / "a").write_text("theirs")

    with pytest.raises(InfraError, match=entries[0].path.decode()):
        write(root, [link(theirs, b"l"), file(b"f")], entries)

    assert sorted(path.name for path in theirs.rglob("*")) == ["a", "sub"]
    assert ((theirs / "a").read_text(), (theirs / "a").stat().st_nlink) == ("theirs", 1)


@pytest.mark.parametrize("entries", [[deleted(b"l", b"a")], [deleted(b"l")], [directory(b"l", opaque=True)]])
def test_nothing_is_removed_through_a_link(tmp_path, root, entries):
    theirs = tmp_path / "theirs"
    theirs.mkdir()
    (theirs / "a").write_text("theirs")

    write(root, [link(theirs, b"l")], entries)

    assert (theirs / "a").read_text() == "theirs"


DEEP = [directory(b"d"), directory(b"d", b"e"), file(b"d", b"e", b"f"), file(b"d", b"g"), file(b"d.txt")]


@pytest.mark.parametrize(
    ("entries", "expected"),
    [
        ([file(b"d")], {"d": "of the state", "d.txt": "of the state"}),
        ([deleted(b"d")], {"d.txt": "of the state"}),
        ([directory(b"d", opaque=True)], {"d": "directory", "d.txt": "of the state"}),
        (
            [directory(b"d", opaque=True), file(b"d", b"e")],
            {"d": "directory", "d/e": "of the state", "d.txt": "of the state"},
        ),
        (
            [directory(b"d"), deleted(b"d", b"e")],
            {"d": "directory", "d/g": "of the state", "d.txt": "of the state"},
        ),
        ([deleted()], {}),
        ([directory(opaque=True), file(b"n")], {"n": "of the state"}),
    ],
)
def test_what_is_replaced_goes_with_all_that_is_below_it_and_nothing_else(root, entries, expected):
    assert write(root, DEEP, entries) == expected


def test_something_can_be_written_again_where_something_was_replaced(root):
    once = [directory(b"d"), file(b"d", b"e")]

    assert write(root, DEEP, [file(b"d")], once, [deleted(b"d")], once) == {
        "d": "directory",
        "d/e": "of the state",
        "d.txt": "of the state",
    }


def test_modes_and_times_of_directories_are_the_last_ones_said(root):
    write(
        root,
        [directory(b"d", mode=0o700), directory(b"d", b"e", mode=0o000), file(b"d", b"e", b"f")],
        [directory(b"d", mode=0o2511), file(b"d", b"new")],
    )

    assert (root / "work/d").stat().st_mode & 0o7777 == 0o2511
    assert (root / "work/d/e").stat().st_mode & 0o7777 == 0
    assert [(root / path).stat().st_mtime for path in ("work/d", "work/d/e")] == [0, 0]


def test_a_device_is_refused_with_its_path(root):
    device = DeltaEntry(parts=(WORK, b"null"), kind=DeltaKind.CHARACTER_DEVICE, mode=0o666, device=(1, 3))

    with pytest.raises(InfraError, match="work/null"):
        write(root, [device])


@pytest.mark.parametrize(
    ("one", "other"), [("readme", "README"), ("caf\u00e9", "cafe\u0301"), ("stra\u00dfe", "STRASSE")]
)
@pytest.mark.parametrize("kind", [DeltaKind.FILE, DeltaKind.DIRECTORY, DeltaKind.SYMLINK], ids=str)
def test_names_that_a_file_system_does_not_tell_apart_are_both_named(
    root: Path, kind: DeltaKind, one: str, other: str
) -> None:
    # Where names are told apart, what is there already stands in for what a file system says that does not.
    (root / other).mkdir() if kind is DeltaKind.DIRECTORY else (root / other).touch()
    what = {"digest": BLOB.digest(CONTENT), "size": len(CONTENT)} if kind is DeltaKind.FILE else {}
    target = {"target": b"x", "size": 1} if kind is DeltaKind.SYMLINK else {}
    entries = [
        DeltaEntry(parts=(name.encode(),), kind=kind, mode=0o777, **what, **target)  # type: ignore[arg-type]
        for name in (one, other)
    ]
    objects = MemoryObjects()
    with objects.batch() as batch:
        batch.add(BLOB, CONTENT)
        batches = [[entry] for entry in entries]
        steps = [_kept(batch, some) for some in batches]

    with pytest.raises(TwinNamesError) as caught:
        restore(State(BASE, tuple(steps)), bytes(root), [], objects)

    assert caught.value.paths == ((one.encode(),), (other.encode(),))
    assert caught.value.message.endswith(f" are one name on the file system of {root}")


def test_what_is_there_without_being_of_the_state_is_no_twin(root: Path) -> None:
    (root / "work").mkdir()

    with pytest.raises(FileExistsError):
        write(root, [file(b"a")])


@pytest.mark.parametrize("last", [[deleted(b"a")], [directory(b"a")]], ids=["deleted", "replaced"])
def test_a_link_has_what_its_file_had_when_the_file_is_gone(root: Path, last: list[DeltaEntry]) -> None:
    found = write(root, [file(b"a"), hard_link(b"work/a", b"l"), hard_link(b"work/a", b"m")], last)

    assert (found["l"], found["m"]) == ("of the state", "of the state")
    assert (root / "work/l").samefile(root / "work/m")
    assert (root / "work/l").stat().st_nlink == 2


@pytest.mark.parametrize("mode", [0o000, 0o444, 0o666, 0o777, 0o4755, 0o1777])
def test_files_have_their_modes_and_times_whatever_the_umask_is(root: Path, mode: int) -> None:
    entry = attrs.evolve(file(b"a"), mode=mode, mtime_s=1_000_000_000)
    before = os.umask(0o077)
    try:
        write(root, [entry])
    finally:
        os.umask(before)

    status = (root / "work/a").stat()
    assert (status.st_mode & 0o7777, status.st_mtime) == (mode, 1_000_000_000)
