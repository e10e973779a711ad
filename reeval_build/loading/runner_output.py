"""What a runner writes to its standard error: passed on to ours, apart from what our own message says."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from typing import TextIO

NOT_INSTALLED: Final = "No module named reeval_python"
OTHER_PROTOCOL: Final = " speaks runner protocol "
_SENTENCES: Final = (NOT_INSTALLED.encode(), OTHER_PROTOCOL.encode())
_TRACEBACK: Final = b"Traceback (most recent call last):"
_OF_THE_RUNNER: Final = b"reeval_python"
_MOST_BYTES_KEPT: Final = 256 * 1024


class RunnerOutput:
    """Passes whole lines on as they come; holds a traceback, or a sentence about the runner, until its end is known."""

    def __init__(self, to: TextIO) -> None:
        self._to = to
        self._partial = b""
        self._held: list[bytes] = []
        self._held_bytes = 0
        self.last_line = ""

    @property
    def held(self) -> str:
        """The last traceback, and what came after it."""
        return _text(b"".join(self._held))

    def take(self, chunk: bytes) -> None:
        """Take what the runner wrote."""
        *lines, self._partial = (self._partial + chunk).splitlines(keepends=True) or [b""]
        if self._partial.endswith(b"\n") or len(self._partial) > _MOST_BYTES_KEPT:
            lines, self._partial = [*lines, self._partial], b""
        for line in lines:
            self._take_line(line)

    def finish(self, *, died: bool) -> None:
        """Pass on what is left; of a runner that died not what it says of that itself, for a message does."""
        if self._partial:
            self._take_line(self._partial + b"\n")
            self._partial = b""
        if died and any(_OF_THE_RUNNER in line or _tells(line) for line in self._held[:2]):
            self._held.clear()
        self._release()

    def _take_line(self, line: bytes) -> None:
        if line.strip():
            self.last_line = _text(line).strip()
        if line.rstrip() == _TRACEBACK or _tells(line):
            self._release()
        elif not self._held:
            self._pass_on(line)
            return
        self._held.append(line)
        self._held_bytes += len(line)
        if self._held_bytes > _MOST_BYTES_KEPT:
            self._release()

    def _release(self) -> None:
        self._pass_on(b"".join(self._held))
        self._held.clear()
        self._held_bytes = 0

    def _pass_on(self, said: bytes) -> None:
        if said:
            self._to.write(_text(said))
            self._to.flush()


def _tells(line: bytes) -> bool:
    return any(sentence in line for sentence in _SENTENCES)


def _text(said: bytes) -> str:
    return said.decode("utf-8", "backslashreplace")
