from __future__ import annotations

from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any

import pytest

from reeval_build.engines.docker.changes import UnkeepableChangeError
from reeval_build.engines.docker.left_out import replaced_by_sockets
from reeval_build.state.delta import DeltaEntry, DeltaKind

MODIFIED, ADDED, DELETED = range(3)
SOCKET = "eyJtb2RlIjoxNjc3NzcxNn0="  # {"mode":16777216}
FILE = "eyJtb2RlIjo0MjB9"  # {"mode":420}


class Engine:
    """An engine whose every path is of one kind; it answers to nothing else than the question for that."""

    def __init__(self, status: str) -> None:
        self.quick: Any = self
        self.base_url, self.api_version, self.timeout = "http://engine", "1.41", 1
        self.asked: list[str] = []
        self._status = status

    def asked_to(self, _doing: str) -> nullcontext[None]:
        return nullcontext()

    def head(self, _url: str, *, params: dict[str, str], timeout: int) -> SimpleNamespace:
        assert timeout
        self.asked.append(params["path"])
        return SimpleNamespace(ok=True, headers={"X-Docker-Container-Path-Stat": self._status})


def deletions(engine: Engine, changes: list[tuple[str, int]], *entries: DeltaEntry) -> list[bytes]:
    told = [{"Path": path, "Kind": kind} for path, kind in changes]
    found = list(replaced_by_sockets(engine, "container", told, entries))  # type: ignore[arg-type]
    assert all(entry == DeltaEntry(parts=entry.parts, kind=DeltaKind.DELETED) for entry in found)
    return [entry.path for entry in found]


def entry(*parts: bytes, kind: DeltaKind = DeltaKind.FILE, opaque: bool = False) -> DeltaEntry:
    return DeltaEntry(parts=parts, kind=kind, opaque=opaque)


@pytest.mark.parametrize(
    ("name", "told"),
    [
        (b"a", "a"),
        ("é".encode(), "é"),
        (b"\xff", "\ufffd"),
        (b"\xe2\x82x", "\ufffd\ufffdx"),
        ("\ufffd".encode(), "\ufffd"),
    ],
)
def test_what_is_in_the_layer_is_not_deleted_however_the_engine_tells_its_name(name, told):
    engine = Engine(SOCKET)

    assert deletions(engine, [("/w", MODIFIED), (f"/w/{told}", MODIFIED)], entry(b"w"), entry(b"w", name)) == []
    assert engine.asked == []


def test_only_a_socket_where_something_was_is_a_deletion():
    directory = entry(b"w", kind=DeltaKind.DIRECTORY)
    changes = [("/", MODIFIED), ("/w", MODIFIED), ("/w/old", MODIFIED), ("/w/new", ADDED), ("/w/gone", DELETED)]

    assert deletions(Engine(SOCKET), changes, directory, entry(b"w", b"gone", kind=DeltaKind.DELETED)) == [b"w/old"]


@pytest.mark.parametrize(
    "above", [entry(b"w", kind=DeltaKind.DIRECTORY, opaque=True), entry(b"w", kind=DeltaKind.DELETED)]
)
def test_what_is_hidden_already_is_not_deleted_once_more(above):
    assert deletions(Engine(SOCKET), [("/w/d/a", MODIFIED)], above) == []


@pytest.mark.parametrize(("status", "path"), [(FILE, "w/a"), (SOCKET, "w/\ufffd")])
def test_anything_else_that_the_layer_lacks_is_refused_and_never_taken_for_a_deletion(status, path):
    with pytest.raises(UnkeepableChangeError) as caught:
        deletions(Engine(status), [(f"/{path}", MODIFIED)])

    assert caught.value.path == path.encode()
