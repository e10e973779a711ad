"""Reading the layers that a build put on an image."""

from __future__ import annotations

import json
import tarfile
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from reeval_build.engines.docker.connection import EngineRefusalError, one_line
from reeval_build.engines.docker.layer_reading import read_layer
from reeval_build.engines.docker.layers import ScratchError
from reeval_build.engines.docker.upper import read_upper

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import IO

    from reeval_build.engines.docker.connection import Connection
    from reeval_build.ports.objects import Batch
    from reeval_build.state.delta import DeltaEntry

_READ: Final = "read an image that was built"
_CHUNK_BYTES: Final = 1024 * 1024


def read_layers(
    connection: Connection,
    image: Mapping[str, Any],
    below: int,
    batch: Batch,
    *,
    scratch: Path,
    uppers_readable: bool,
) -> tuple[tuple[DeltaEntry, ...], ...]:
    """The changes of each layer of an image above its lowest `below`; the bytes of files are added to `batch`.

    Raises:
        UnkeepableChangeError: for what no layer can hold.
        EngineRefusalError: when the engine fails.
    """
    count = len(image["RootFS"].get("Layers") or ())
    if count == below:
        return ()
    directories = _directories(image) if uppers_readable else ()
    if len(directories) == count:
        # The uppermost is the first.
        return tuple(
            read_upper(directories[at], directories[at + 1 :], batch) for at in range(count - below - 1, -1, -1)
        )
    return _read_saved(connection, image["Id"], below, batch, scratch)


def _directories(image: Mapping[str, Any]) -> tuple[Path, ...]:
    """The directories of the engine's own disk that have the layers, the uppermost first; none when they cannot be."""
    data = (image.get("GraphDriver") or {}).get("Data") or {}
    upper, lower = data.get("UpperDir"), data.get("LowerDir")
    found = tuple(map(Path, filter(None, [upper, *(lower or "").split(":")])))
    return found if all(path.is_dir() for path in found) else ()


def _read_saved(
    connection: Connection, image: str, below: int, batch: Batch, scratch: Path
) -> tuple[tuple[DeltaEntry, ...], ...]:
    """From what `docker save` writes, which is kept meanwhile: where a layer is in it is said at its end."""
    scratch.mkdir(parents=True, exist_ok=True)
    try:
        with tempfile.TemporaryFile(dir=scratch) as saved:
            _save(connection, image, saved)
            saved.seek(0)
            with tarfile.open(fileobj=saved, mode="r:", encoding="utf-8") as archive:
                (described,) = json.load(_open(archive, "manifest.json"))
                return tuple(read_layer(_open(archive, name), batch) for name in described["Layers"][below:])
    except (tarfile.TarError, ValueError, KeyError) as error:
        raise EngineRefusalError(_READ, f"the saved image is broken ({error})") from error
    except OSError as error:
        raise ScratchError(scratch, error) from error


def _save(connection: Connection, image: str, target: IO[bytes]) -> None:
    api = connection.patient
    with connection.asked_to(_READ):
        response = api.get(f"{api.base_url}/v{api.api_version}/images/{image}/get", stream=True, timeout=api.timeout)
        with response:
            if not response.ok:
                raise EngineRefusalError(_READ, one_line(response.text))
            for chunk in response.iter_content(_CHUNK_BYTES):
                target.write(chunk)


def _open(archive: tarfile.TarFile, name: str) -> IO[bytes]:
    stream = archive.extractfile(name)
    if stream is None:
        raise ValueError(f"{name} is no file")
    return stream
