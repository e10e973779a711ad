"""Finds the values of secrets in bytes, as they are and as programs write them, and puts their names there instead."""

from __future__ import annotations

import io
import json
import re
from base64 import b64encode
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final, cast
from urllib.parse import quote_from_bytes

from reeval_build.errors import HostError, InfraError
from reeval_build.paths import display

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import BinaryIO

MINIMUM_BYTES: Final = 4
"""Shorter values are in everything: they are not looked for."""

_MINIMUM_BASE64: Final = 6
_PIECE_BASE64: Final = 32
_IN_SCRIPTS: Final = re.compile("[<>&]")
# RFC 3986 with and without slashes, encodeURIComponent and encodeURI.
_UNESCAPED: Final = ("", "/", "!'()*", ";/?:@&=+$,#!'()*")

# A quote within quotes, as shells trace it and as Python quotes it.
_SHELL_QUOTES: Final = (b"'\\''", b"'\"'\"'")


class Redactor:
    """Knows the values of some secrets, by their names; each of several mappings counts.

    A value counts without white space around it, and is found as it is, in JSON, in a URL, in base64 of either
    alphabet wherever in the encoded bytes it stands, in the single quotes of a shell, as a shell writes it that was
    not told to keep its lines, and as messages of ours show it. Nothing else is: not compressed, encrypted, split up,
    or in another case.
    """

    def __init__(self, *values: Mapping[str, str]) -> None:
        self._names: dict[bytes, str] = {}
        self._owners: dict[bytes, set[str]] = {}
        self._pieces: dict[bytes, set[str]] = {}
        for name, value in (pair for some in values for pair in some.items()):
            core = value.encode("utf-8", "surrogateescape").strip()
            if len(core) >= MINIMUM_BYTES:
                for form in _forms(core):
                    self._names.setdefault(form, name)
                    self._owners.setdefault(form, set()).add(name)
                for piece in _pieces(core):
                    self._pieces.setdefault(piece, set()).add(name)
        longest_first = sorted(self._names, key=len, reverse=True)
        self._pattern = re.compile(b"|".join(map(re.escape, longest_first)) or b"(?!)")
        self.longest = max(map(len, self._names), default=0)
        """Of how many bytes at most what is looked for consists."""

    @property
    def is_idle(self) -> bool:
        """Whether there is nothing to look for."""
        return not self._names

    def found_in(self, data: bytes) -> set[str]:
        """The names of the secrets whose values are in `data`.

        Unlike `redact` this finds long values in base64 also when it is broken into lines.
        """
        found: set[str] = set()
        for forms in (self._owners, self._pieces):
            for form, names in forms.items():
                if not names <= found and form in data:
                    found |= names
        return found

    def redact(self, data: bytes) -> bytes:
        """`data` with `[secret NAME]` in place of every value.

        Where several begin, the longest one counts; those that overlap are replaced together, by the first one's name.
        """
        return self._replaced(data, len(data))[0]

    def text(self, text: str) -> str:
        """The same of text."""
        return self.redact(text.encode("utf-8", "surrogateescape")).decode("utf-8", "surrogateescape")

    @contextmanager
    def stream(self, target: BinaryIO) -> Iterator[BinaryIO]:
        """A stream that passes what is written on to `target`, redacted; at the end of the block all of it is."""
        if self.is_idle:
            yield target
            return
        stream = _RedactedStream(self, target)
        try:
            yield cast("BinaryIO", stream)
        finally:
            stream.pass_on_rest()
            # Or it flushes when it is collected, which may be when its target is closed.
            stream.close()

    @contextmanager
    def errors(self) -> Iterator[None]:
        """Redact what the errors of a block quote, such as the name of a file. They stay of the kind they are."""
        try:
            yield
        except (InfraError, OSError) as error:
            shown = error if isinstance(error, InfraError) else HostError(error)
            message, hint = self.text(shown.message), shown.hint and self.text(shown.hint)
            if (message, hint) == (shown.message, shown.hint):
                raise
            shown.message, shown.hint, shown.args = message, hint, (message,)
            raise shown from None

    def settle(self, data: bytes, covered: int = 0) -> tuple[bytes, bytes, int]:
        """What of `data` can be passed on redacted; the rest, which may be the beginning of a value; what is covered.

        That is how many bytes of the rest belong to a value that was passed on as its name, as `covered` is of `data`.
        """
        undecided = self._undecided(data)
        passed, end = self._replaced(data, undecided, covered)
        return passed, data[undecided:], max(0, end - undecided)

    def rest(self, data: bytes, covered: int) -> bytes:
        """What `settle` held back, redacted, when nothing follows it."""
        return self._replaced(data, len(data), covered)[0]

    def _replaced(self, data: bytes, until: int, covered: int = 0) -> tuple[bytes, int]:
        """`data` redacted of the values that begin before `until`, and where it ends, or the last of them does."""
        passed, end, at = [], covered, 0
        while (match := self._pattern.search(data, at)) and match.start() < until:
            if match.start() >= end:
                passed += [data[end : match.start()], self._label(match)]
            end = max(end, match.end())
            at = match.start() + 1
        passed.append(data[end:until])
        return b"".join(passed), max(end, until)

    def _undecided(self, data: bytes) -> int:
        """Where the longest end of `data` begins that is the beginning of a value, and not all of it."""
        first = len(data)
        for form in self._names:
            start = data.find(form[:1], max(0, len(data) - len(form) + 1), first)
            while start >= 0 and not form.startswith(data[start:]):
                start = data.find(form[:1], start + 1, first)
            if start >= 0:
                first = start
        return first

    def _label(self, match: re.Match[bytes]) -> bytes:
        return b"[secret " + self._names[match[0]].encode() + b"]"


class _RedactedStream(io.RawIOBase):
    def __init__(self, redactor: Redactor, target: BinaryIO) -> None:
        self._redactor = redactor
        self._target = target
        self._held, self._covered = b"", 0

    def write(self, data: bytes | memoryview, /) -> int:  # type: ignore[override]  # what engines write
        """Pass on what cannot be part of a value any more."""
        passed, self._held, self._covered = self._redactor.settle(self._held + bytes(data), self._covered)
        if passed:
            self._target.write(passed)
        return len(data)

    def flush(self) -> None:
        """Flush what was passed on."""
        self._target.flush()

    def pass_on_rest(self) -> None:
        """Pass on what is held back: nothing follows it."""
        self._target.write(self._redactor.rest(self._held, self._covered))
        self._held, self._covered = b"", 0
        self._target.flush()


def _forms(value: bytes) -> set[bytes]:
    return {value, b" ".join(value.split()), *_in_text(value), *_in_urls(value), *_in_base64(value)}


def _in_text(value: bytes) -> Iterator[bytes]:
    """As our own messages show it, shells in single quotes, and JSON.

    That is with or without escapes of what HTML and scripts stumble over.
    """
    yield display(value).encode()
    for quote in _SHELL_QUOTES:
        yield value.replace(b"'", quote)
    text = value.decode("utf-8", "surrogateescape")
    for ascii_only in (True, False):
        form = json.dumps(text, ensure_ascii=ascii_only)[1:-1]
        for escaped in (form, form.replace("/", "\\/"), _IN_SCRIPTS.sub(_code_point, form)):
            yield escaped.encode("utf-8", "surrogateescape")


def _code_point(character: re.Match[str]) -> str:
    return f"\\u{ord(character[0]):04x}"


def _in_urls(value: bytes) -> Iterator[bytes]:
    for safe in _UNESCAPED:
        encoded = quote_from_bytes(value, safe=safe)
        for form in (encoded, encoded.replace("%20", "+")):
            yield form.encode()
            yield re.sub("%..", lambda escape: escape[0].lower(), form).encode()


def _in_base64(value: bytes) -> Iterator[bytes]:
    """What does not depend on the bytes around it, for each of the three places where it can begin."""
    for before in range(3):
        bits_before, bits = 8 * before, 8 * (before + len(value))
        # Six bits a character, whole ones of our own only.
        form = b64encode(b"\0" * before + value)[-(-bits_before // 6) : bits // 6]
        if len(form) >= _MINIMUM_BASE64:
            yield form
            yield form.translate(bytes.maketrans(b"+/", b"-_"))


def _pieces(value: bytes) -> Iterator[bytes]:
    """Two neighbouring pieces of base64 that is broken into lines: one of them is whole, as no line is that short."""
    for form in _in_base64(value):
        if len(form) >= 2 * _PIECE_BASE64:
            yield form[:_PIECE_BASE64]
            yield form[_PIECE_BASE64 : 2 * _PIECE_BASE64]
