"""Reading a container's changes out of an image committed from it: works wherever the engine is."""

from __future__ import annotations

import json
import os
import posixpath
import tarfile
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Final

from reeval_build.engines.docker.changes import RESERVED_NAME, UnkeepableChangeError
from reeval_build.engines.docker.connection import EngineRefusalError, one_line
from reeval_build.engines.docker.layer_reading import read_layer
from reeval_build.engines.docker.layers import WHITEOUT
from reeval_build.engines.docker.left_out import replaced_by_sockets
from reeval_build.errors import InfraError
from reeval_build.state.delta import in_order

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import IO, Any

    from reeval_build.engines.docker.connection import Connection
    from reeval_build.ports.objects import Batch
    from reeval_build.state.delta import DeltaEntry

_SAVE: Final = "read what a container changed"
_READ_BYTES: Final = 1024 * 1024


def read_committed(connection: Connection, container: str, batch: Batch) -> tuple[DeltaEntry, ...]:
    """The changes of an ended container; the bytes of files are added to `batch`.

    The engine writes out the whole image, of which only the top layer is looked at, as it passes.

    Raises:
        UnkeepableChangeError: for what no layer can hold.
        EngineRefusalError: when the engine fails.
    """
    with connection.asked_to(_SAVE):
        details = connection.quick.inspect_container(container)
        changes = connection.patient.diff(container) or ()
    for change in changes:
        _refuse_reserved(change["Path"])
    entries = _read_top_layer(connection, details, batch)
    return in_order([*entries, *replaced_by_sockets(connection, container, changes, entries)])


def _read_top_layer(connection: Connection, details: Mapping[str, Any], batch: Batch) -> tuple[DeltaEntry, ...]:
    before = _layers(connection, details["Image"])
    with _committed(connection, details["Id"]) as image:
        after = _layers(connection, image)
        if len(after) == len(before):
            return ()
        with _top_layer(connection, image, diff_id=after[-1], container_id=details["Id"]) as layer:
            return read_layer(layer, batch)


def _layers(connection: Connection, image: str) -> list[str]:
    details = connection.find_image(image)
    if details is None:
        raise EngineRefusalError(_SAVE, f"image {image} is gone")
    layers: list[str] = details["RootFS"].get("Layers") or []
    return layers


def _refuse_reserved(path: str) -> None:
    """Refuse what would be taken for a deletion, or breaks the engine when it writes the image out."""
    if any(name.startswith(os.fsdecode(WHITEOUT)) for name in path.split("/")):
        raise UnkeepableChangeError(path.lstrip("/").encode(), RESERVED_NAME)


@contextmanager
def _committed(connection: Connection, container: str) -> Iterator[str]:
    with connection.asked_to(_SAVE):
        image = connection.patient.commit(container)["Id"]
    try:
        yield image
    finally:
        with suppress(InfraError), connection.asked_to("remove an image"):
            connection.quick.remove_image(image, force=True, noprune=True)


@contextmanager
def _top_layer(connection: Connection, image: str, *, diff_id: str, container_id: str) -> Iterator[IO[bytes]]:
    """The tar of an image's top layer.

    It is called by its digest, or, by engines before Docker 25, after a directory whose `json` names the container
    that was committed. A layer that is the same as a lower one is a link to that.
    """
    wanted = {f"blobs/{diff_id.replace(':', '/')}"}
    # Twice, for a link can lead to what has passed already.
    for _ in range(2):
        with _saved(connection, image) as archive:
            for member in archive:
                directory, file = posixpath.split(member.name)
                if file == "json" and _content(archive, member).get("container") == container_id:
                    wanted.add(posixpath.join(directory, "layer.tar"))
                elif member.name in wanted and member.issym():
                    wanted.add(posixpath.normpath(posixpath.join(directory, member.linkname)))
                elif member.name in wanted:
                    yield _open(archive, member)
                    return
    raise EngineRefusalError(_SAVE, "its top layer is not in the saved image")


@contextmanager
def _saved(connection: Connection, image: str) -> Iterator[tarfile.TarFile]:
    api = connection.patient
    with connection.asked_to(_SAVE):
        response = api.get(f"{api.base_url}/v{api.api_version}/images/{image}/get", stream=True, timeout=api.timeout)
        with response:
            if not response.ok:
                raise EngineRefusalError(_SAVE, one_line(response.text))
            try:
                with tarfile.open(fileobj=response.raw, mode="r|", bufsize=_READ_BYTES, encoding="utf-8") as archive:
                    yield archive
            except tarfile.TarError as error:
                raise EngineRefusalError(_SAVE, f"the saved image is broken ({error})") from error


def _content(archive: tarfile.TarFile, member: tarfile.TarInfo) -> dict[str, object]:
    content: dict[str, object] = json.load(_open(archive, member))
    return content


def _open(archive: tarfile.TarFile, member: tarfile.TarInfo) -> IO[bytes]:
    stream = archive.extractfile(member)
    assert stream is not None, "it is a file"
    return stream
