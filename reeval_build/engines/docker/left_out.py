"""What an engine leaves out of the image that it commits, and what was there before."""

from __future__ import annotations

import base64
import json
from typing import TYPE_CHECKING, Final

from reeval_build.engines.docker.changes import UnkeepableChangeError
from reeval_build.engines.docker.connection import EngineRefusalError
from reeval_build.state.delta import DeltaEntry, DeltaKind

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from typing import Any

    from reeval_build.engines.docker.connection import Connection
    from reeval_build.paths import Parts

_MODIFIED: Final = 0
_UNKNOWN: Final = "\N{REPLACEMENT CHARACTER}"
_LOOK: Final = "look at a changed file"
# https://pkg.go.dev/io/fs#FileMode
_SOCKET_BIT: Final = 1 << 24


def replaced_by_sockets(
    connection: Connection, container: str, changes: Iterable[Mapping[str, Any]], entries: Sequence[DeltaEntry]
) -> Iterator[DeltaEntry]:
    """Deletions of what a socket is in the place of: a committed layer has neither, so the old file would be back.

    `changes` is what the engine says has changed in the container, `entries` what the layer says.

    Raises:
        UnkeepableChangeError: for anything else that the layer should have and has not.
    """
    # The root, which is in no layer, is an empty name here.
    kept = {("",), *(_as_told(entry.parts) for entry in entries)}
    hiding = {_as_told(entry.parts) for entry in entries if entry.opaque or entry.kind is not DeltaKind.DIRECTORY}
    for change in changes:
        path = tuple(change["Path"].strip("/").split("/"))
        if change["Kind"] != _MODIFIED or path in kept or any(path[:depth] in hiding for depth in range(len(path))):
            continue
        parts = tuple(name.encode("utf-8", "surrogateescape") for name in path)
        if any(_UNKNOWN in name for name in path):
            raise UnkeepableChangeError(b"/".join(parts), "is in no image layer, and its name is not UTF-8")
        if not _is_socket(connection, container, change["Path"]):
            raise UnkeepableChangeError(b"/".join(parts), "was left out of the image layer by the engine")
        yield DeltaEntry(parts=parts, kind=DeltaKind.DELETED)


def _as_told(parts: Parts) -> tuple[str, ...]:
    """A path as the engine's JSON has it, where each byte that is not UTF-8 is a replacement character."""
    return tuple("".join(map(_told, name.decode("utf-8", "surrogateescape"))) for name in parts)


def _told(character: str) -> str:
    return _UNKNOWN if "\udc80" <= character <= "\udcff" else character


def _is_socket(connection: Connection, container: str, path: str) -> bool:
    api = connection.quick
    with connection.asked_to(_LOOK):
        answer = api.head(
            f"{api.base_url}/v{api.api_version}/containers/{container}/archive",
            params={"path": path},
            timeout=api.timeout,
        )
        if not answer.ok:
            raise EngineRefusalError(_LOOK, f"{path}: {answer.reason}")
        status = json.loads(base64.b64decode(answer.headers["X-Docker-Container-Path-Stat"]))
    return bool(status["mode"] & _SOCKET_BIT)
