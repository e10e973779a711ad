"""Hostile trees by every route into the store, and out of it again: equal, or refused by their path."""

from __future__ import annotations

import errno
import io
import os
import tempfile
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pytest

from reeval_build.digest import TREE, Digest
from reeval_build.engines.fake.restore import restore
from reeval_build.errors import InfraError, ReevalError
from reeval_build.model.helpers.directories import directory
from reeval_build.paths import display
from reeval_build.sources.archives import read_archive
from reeval_build.sources.host_files import HostFileReader
from reeval_build.sources.local_trees import LocalDirectories
from reeval_build.state.state import PlacedTree, State
from reeval_build.tree.directory import Entry, encode
from reeval_build.tree.draft import Draft
from tests.sources.conftest import Reader, at, knowing_nothing, without_privileges
from tests.sources.repository import Repository
from tests.sources.tars import member, pax, tar
from tests.sources.trees import show
from tests.support.hostile_trees import ROUTES, TREES, HostileTree, Made, Refusal, Route, Thing, make
from tests.support.trees_page import PAGE, page

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager

    from reeval_build.ports.objects import Objects


def read_directory(tree: HostileTree, place: Path, objects: Objects) -> Digest:
    source = made(tree, place)
    with objects.batch() as batch, user_of(tree):
        return LocalDirectories(objects, knowing_nothing()).read(str(source), batch)


def read_with_helper(tree: HostileTree, place: Path, objects: Objects) -> Digest:
    files = HostFileReader(objects, knowing_nothing())
    draft = Draft(lambda _digest: {})
    source = made(tree, place)
    with user_of(tree):
        for destination, host_file in directory(str(source)).items():
            found = files.read(host_file.path)
            entry = Entry.file(found.digest, found.size, executable=found.executable)
            draft.put(tuple(os.fsencode(destination).split(b"/")), entry)
    with objects.batch() as batch:
        return draft.save(lambda entries: batch.add(TREE, encode(entries)))


def read_git(tree: HostileTree, place: Path, objects: Objects) -> Digest:
    repository = Repository(place / "app")
    repository.commit_tree(git_tree(repository, tree.things, ()))
    return Reader(place / "cache", objects).digest(at(repository))


def git_tree(repository: Repository, things: tuple[Thing, ...], above: tuple[bytes, ...]) -> str:
    """The object of one directory of a tree; names are what git's own index would refuse, too."""
    rows: dict[bytes, tuple[str, bytes, str]] = {}
    depth = len(above)
    for thing in things:
        parts = tuple(thing.path.split(b"/"))
        if parts[:depth] != above or parts[depth] in rows:
            continue
        name = parts[depth]
        if len(parts) > depth + 1:
            below = tuple(one for one in things if one.path.startswith(b"/".join((*above, name)) + b"/"))
            rows[name] = ("40000", name, git_tree(repository, below, (*above, name)))
        else:
            mode = "120000" if thing.made is Made.LINK else "100755" if thing.mode & 0o100 else "100644"
            rows[name] = (mode, name, repository.make_object("blob", thing.data))
    order = sorted(rows.values(), key=lambda row: row[1] + b"/" * (row[0] == "40000"))
    return repository.make_tree(*order)


def read_tar(tree: HostileTree, _place: Path, objects: Objects) -> Digest:
    kinds = {Made.HARD_LINK: b"1", Made.LINK: b"2", Made.DEVICE: b"3", Made.DIRECTORY: b"5", Made.FIFO: b"6"}
    members = []
    for thing in tree.things:
        prefix = b"p/" if thing.made is Made.HARD_LINK else b""
        is_link = thing.made in {Made.LINK, Made.HARD_LINK}
        records = [(b"path", b"p/" + thing.path)] + [(b"linkpath", prefix + thing.data)] * is_link
        data = b"" if is_link else thing.data
        members.append(pax(*records) + member(b"p/x", data, kind=kinds.get(thing.made, b"0"), mode=thing.mode))
    with objects.batch() as batch:
        return read_archive(io.BytesIO(tar(*members)), batch, name="it")


READERS: Final[dict[Route, Callable[[HostileTree, Path, Objects], Digest]]] = {
    "local directory": read_directory,
    "directory()": read_with_helper,
    "git": read_git,
    "archive": read_tar,
}


def made(tree: HostileTree, place: Path) -> Path:
    try:
        make(tree, place / "tree")
    except OSError as error:
        if error.errno not in {errno.EPERM, errno.EILSEQ, errno.EEXIST}:
            raise
        pytest.skip(f"it cannot be made here: {error}")
    return place / "tree"


def user_of(tree: HostileTree) -> AbstractContextManager[None]:
    return without_privileges() if tree.is_read_by_another else nullcontext()


@pytest.fixture
def place() -> Iterator[Path]:
    """An empty directory that everybody may look into, as they may not into those of pytest."""
    with tempfile.TemporaryDirectory() as directory:
        Path(directory).chmod(0o755)
        yield Path(directory)


CASES: Final = [
    pytest.param(tree, route, id=f"{tree.name} by {route}")
    for tree in TREES
    for route in ROUTES
    if tree.expected(route) is not None
]


@pytest.mark.conforms("fault 39", "fault 40")
@pytest.mark.parametrize(("tree", "route"), CASES)
def test_a_hostile_tree_is_read_as_it_is_or_refused_by_its_path(
    objects: Objects, place: Path, tree: HostileTree, route: Route
) -> None:
    expected = tree.expected(route)

    if isinstance(expected, Refusal):
        with pytest.raises(ReevalError) as caught:
            READERS[route](tree, place, objects)
        assert display(expected.path) in str(caught.value)
        assert expected.reason in str(caught.value)
    else:
        assert show(objects, READERS[route](tree, place, objects)) == expected


WRITTEN: Final = [tree for tree in TREES if tree.outcome is None]


@pytest.mark.conforms("fault 39")
@pytest.mark.parametrize("tree", WRITTEN, ids=lambda tree: tree.name)
def test_what_was_read_is_written_as_an_equal_tree_or_refused_by_its_path(
    objects: Objects, place: Path, tree: HostileTree
) -> None:
    before = read_tar(tree, place, objects)
    state = State(Digest(bytes(32)), (PlacedTree(at=(b"workspace",), tree=before, replaces=True),))

    (place / "sandbox").mkdir()
    if tree.refused_on_writing is not None:
        with pytest.raises(InfraError) as caught:
            restore(state, os.fsencode(place / "sandbox"), [(b"workspace",)], objects)
        assert f"workspace/{display(tree.refused_on_writing.path)}" in str(caught.value)
        assert tree.refused_on_writing.reason in str(caught.value)
        return
    restore(state, os.fsencode(place / "sandbox"), [(b"workspace",)], objects)

    with objects.batch() as batch:
        assert LocalDirectories(objects, knowing_nothing()).read(str(place / "sandbox/workspace"), batch) == before


def test_the_reference_says_what_becomes_of_each() -> None:
    text = PAGE.read_text(encoding="utf-8")

    assert page(text) == text, "run `python -m tests.support.trees_page`"
