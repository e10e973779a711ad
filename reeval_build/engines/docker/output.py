"""The output of a command, as the engine sends it over a connection of its own."""

from __future__ import annotations

import select
import ssl
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

from reeval_build.engines.docker.connection import EngineRefusalError, one_line

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from io import BufferedReader
    from socket import socket
    from typing import BinaryIO

    from reeval_build.engines.docker.connection import Connection
    from reeval_build.errors import InfraError

_CHUNK_BYTES: Final = 256 * 1024
_HEADER_BYTES: Final = 8
_STREAM_AT: Final = 0
_LENGTH_AT: Final = 4
_STDOUT: Final = 1


class Demultiplexer:
    """Takes the two streams apart that the engine puts into one: frames of a header (stream, length) and content."""

    def __init__(self, stdout: BinaryIO, stderr: BinaryIO) -> None:
        self._stdout = stdout
        self._stderr = stderr
        self._header = bytearray()
        self._left = 0

    def feed(self, data: bytes) -> None:
        """Pass on what is in `data`, which may begin and end anywhere."""
        view = memoryview(data)
        while view:
            if self._left == 0:
                taken = _HEADER_BYTES - len(self._header)
                self._header += view[:taken]
                if len(self._header) < _HEADER_BYTES:
                    return
                self._left = int.from_bytes(self._header[_LENGTH_AT:])
            else:
                taken = self._left
                target = self._stdout if self._header[_STREAM_AT] == _STDOUT else self._stderr
                target.write(view[:taken])
                target.flush()
                self._left -= len(view[:taken])
            if self._left == 0:
                self._header.clear()
            view = view[taken:]


class CommandOutput:
    """The bytes that the engine sends while a command runs."""

    def __init__(self, buffered: BufferedReader, raw: socket, *, broken: Callable[[OSError], InfraError]) -> None:
        self._broken = broken
        self._buffered = buffered
        self._raw = raw
        raw.settimeout(0)

    def read(self, *, wait_s: float) -> bytes | None:
        """What has come, waiting for it no longer than `wait_s`: None for nothing yet, no bytes for the end."""
        # The first bytes may have come with the header of the answer, and TLS may hold some: neither can be polled.
        data = self._read_at_once()
        if data:
            return data
        waiting = select.poll()
        waiting.register(self._raw, select.POLLIN)
        return self._read_at_once() if waiting.poll(wait_s * 1000) else None

    def _read_at_once(self) -> bytes | None:
        try:
            return self._buffered.read1(_CHUNK_BYTES)
        except ssl.SSLWantReadError:
            return None
        except OSError as error:
            raise self._broken(error) from error


@contextmanager
def started(connection: Connection, exec_id: str) -> Iterator[CommandOutput]:
    """Start a command that was created, and have its output.

    Raises:
        EngineRefusalError: when the engine does not start it.
    """
    api = connection.quick
    with connection.asked_to("start a command"):
        # exec_start of the SDK would do, but drops the bytes that come together with the header of the answer.
        response = api.post(
            f"{api.base_url}/v{api.api_version}/exec/{exec_id}/start",
            json={"Detach": False, "Tty": False},
            headers={"Connection": "Upgrade", "Upgrade": "tcp"},
            stream=True,
            timeout=api.timeout,
        )
    with response:
        if not response.ok:
            raise EngineRefusalError("start a command", one_line(response.text))
        raw: Any = response.raw
        buffered = raw._fp.fp  # noqa: SLF001 - as the SDK does; nothing public leads to the socket
        yield CommandOutput(buffered, buffered.raw._sock, broken=connection.away)  # noqa: SLF001 - likewise
