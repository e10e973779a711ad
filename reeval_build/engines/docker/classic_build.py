"""Building with the builder that the engine's own API has."""

from __future__ import annotations

import json
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any, BinaryIO, Final

from reeval_build.engines.docker.build_context import DOCKERFILE_NAME, context_archive
from reeval_build.engines.docker.connection import EngineRefusalError, one_line
from reeval_build.engines.docker.output import CommandOutput
from reeval_build.errors import CancelledError
from reeval_build.ports.builds import BuildFailedError
from reeval_build.ports.engine import CommandTimeoutError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from reeval_build.engines.docker.client_build import Build
    from reeval_build.engines.docker.connection import Connection
    from reeval_build.ports.engine import Cancellation
    from reeval_build.ports.objects import Objects

_BUILD: Final = "build an image"
_TICK_S: Final = 0.2


def build_with_engine(
    connection: Connection,
    build: Build,
    objects: Objects,
    *,
    scratch: Path,
    output: BinaryIO,
    timeout_s: float,
    cancel: Cancellation,
) -> None:
    """Build an image. Raises as `client_build.build_with_client` does, and when the engine does not answer."""
    api = connection.patient
    archive = context_archive(build.context, build.dockerfile, objects, scratch=scratch)
    params: dict[str, Any] = {
        "dockerfile": DOCKERFILE_NAME,
        "t": build.name,
        "rm": True,
        "forcerm": True,
        "labels": json.dumps(dict(build.labels)),
    }
    if build.platform is not None:
        params["platform"] = build.platform
    with connection.asked_to(_BUILD):
        response = api.post(
            f"{api.base_url}/v{api.api_version}/build",
            params=params,
            data=_until(cancel, archive),
            headers={"Content-Type": "application/x-tar"},
            stream=True,
            timeout=api.timeout,
        )
    with response:
        if not response.ok:
            with suppress(ValueError):
                raise BuildFailedError(one_line(response.json()["message"]))
            raise EngineRefusalError(_BUILD, one_line(response.text))
        raw: Any = response.raw
        buffered = raw._fp.fp  # noqa: SLF001 - as the SDK does; nothing public leads to the socket
        stream = CommandOutput(buffered, buffered.raw._sock, broken=connection.away)  # noqa: SLF001 - likewise
        limits = _Limits(cancel, timeout_s)
        _follow(_lines(_unchunked(stream, limits)), output)


def _until(cancel: Cancellation, chunks: Iterable[bytes]) -> Iterator[bytes]:
    for chunk in chunks:
        if cancel.is_set():
            raise CancelledError
        # A chunk of nothing would be the end.
        if chunk:
            yield chunk


class _Limits:
    def __init__(self, cancel: Cancellation, timeout_s: float) -> None:
        self._cancel = cancel
        self._timeout_s = timeout_s
        self._deadline = time.monotonic() + timeout_s

    def check(self) -> None:
        if self._cancel.is_set():
            raise CancelledError
        if time.monotonic() >= self._deadline:
            raise CommandTimeoutError(self._timeout_s)


def _received(stream: CommandOutput, limits: _Limits) -> Iterator[bytes]:
    while (data := stream.read(wait_s=_TICK_S)) != b"":
        limits.check()
        if data is not None:
            yield data


def _unchunked(stream: CommandOutput, limits: _Limits) -> Iterator[bytes]:
    """The content of an answer in chunks, read without waiting for longer than there is time."""
    waiting = bytearray()
    left = 0
    for data in _received(stream, limits):
        waiting += data
        while waiting:
            if left > 2:  # noqa: PLR2004 - the end of the line after a chunk
                taken = bytes(waiting[: left - 2])
                del waiting[: left - 2]
                left -= len(taken)
                yield taken
            elif left:
                end_of_line = min(left, len(waiting))
                left -= end_of_line
                del waiting[:end_of_line]
            else:
                head, end, rest = waiting.partition(b"\r\n")
                if not end:
                    break
                size = int(head.partition(b";")[0], 16)
                if size == 0:
                    return
                waiting, left = rest, size + 2
    raise EngineRefusalError(_BUILD, "its answer ended before the build did")


def _lines(chunks: Iterable[bytes]) -> Iterator[bytes]:
    rest = b""
    for chunk in chunks:
        *whole, rest = (rest + chunk).split(b"\n")
        yield from whole
    yield rest


def _follow(lines: Iterable[bytes], output: BinaryIO) -> None:
    """Write what a builder says to `output`. Raises BuildFailedError when it says that it failed."""
    for line in lines:
        if not line.strip():
            continue
        event = json.loads(line)
        text = event.get("stream") or event.get("status") or ""
        if "error" in event:
            output.write(f"{event['error']}\n".encode())
            raise BuildFailedError(one_line(event["error"]))
        output.write(text.encode("utf-8", "surrogateescape"))
        output.flush()
