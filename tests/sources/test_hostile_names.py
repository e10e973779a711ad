"""Paths that lead elsewhere, by every reader of trees: refused by one function, before anything is written."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Final

import pytest

from reeval_build import canon
from reeval_build.digest import BLOB
from reeval_build.engines.docker.layer_reading import read_layer
from reeval_build.errors import InfraError
from reeval_build.paths import PathError, display
from reeval_build.sources.archives import read_archive
from reeval_build.state import delta
from reeval_build.stores.local import LocalStore
from reeval_build.tree import directory
from tests.sources.conftest import Reader, at
from tests.sources.repository import Repository
from tests.sources.tars import member, pax, tar
from tests.support.projects import listing

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

LONG: Final = b"n" * 256
PATHS: Final = (b"../x", b"a/../../x", b"/etc/x", b"a//x", b"a/./x", b"..", b"a/..", LONG, b"a/" + LONG, b".wh.x/y")


def archive(path: bytes, store: LocalStore, _place: Path) -> None:
    with store.objects.batch() as batch:
        read_archive(io.BytesIO(tar(pax((b"path", b"p/" + path)) + member(b"x", b"1"))), batch, name="it")


def image_layer(path: bytes, store: LocalStore, _place: Path) -> None:
    with store.objects.batch() as batch:
        read_layer(io.BytesIO(tar(pax((b"path", path)) + member(b"x", b"1"))), batch)


def git_tree(path: bytes, store: LocalStore, place: Path) -> None:
    repository = Repository(place / "app")
    made, mode = repository.make_object("blob", b"1"), "100644"
    for name in reversed(path.split(b"/")):
        made, mode = repository.make_tree((mode, name, made)), "40000"
    repository.commit_tree(made)
    Reader(place / "cache", store.objects).digest(at(repository))


def tree_object(path: bytes, _store: LocalStore, _place: Path) -> None:
    for name in path.split(b"/"):
        directory.decode(canon.encode([[name, "f", BLOB.digest(b"1"), 1]]))


def delta_object(path: bytes, _store: LocalStore, _place: Path) -> None:
    row: list[canon.Value] = [
        path,
        delta.DeltaKind.FILE.value,
        0o644,
        0,
        0,
        BLOB.digest(b"1"),
        1,
        None,
        False,
        {},
        None,
    ]
    delta.decode(canon.encode([row]), canon.encode([0]))


def hard_link(path: bytes, _store: LocalStore, _place: Path) -> None:
    row: list[canon.Value] = [
        b"a",
        delta.DeltaKind.HARD_LINK.value,
        0o644,
        0,
        0,
        BLOB.digest(b"1"),
        1,
        path,
        False,
        {},
        None,
    ]
    delta.decode(canon.encode([row]), canon.encode([0]))


@pytest.mark.conforms("fault 40")
@pytest.mark.parametrize("read", [archive, image_layer, git_tree, tree_object, delta_object, hard_link])
@pytest.mark.parametrize("path", PATHS, ids=lambda path: display(path[:9]))
def test_a_path_that_leads_elsewhere_is_refused_before_anything_is_written(
    tmp_path: Path, read: Callable[[bytes, LocalStore, Path], None], path: bytes
) -> None:
    with LocalStore(tmp_path / "store") as store:
        with pytest.raises((PathError, InfraError)):
            read(path, store, tmp_path)

        assert listing(tmp_path / "store/packs") == listing(tmp_path / "store/objects") == []
        assert [path for path in listing(tmp_path / "store/tmp") if "/" in path] == []
