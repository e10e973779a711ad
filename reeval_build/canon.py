"""The one canonical encoding: typed, length-prefixed values, of which no two encode alike."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from operator import itemgetter
from typing import Any, Final, TypeAlias

from reeval_build.digest import Digest

Value: TypeAlias = "bool | int | str | bytes | Digest | Sequence[Value] | Mapping[str, Value] | None"

_Add: TypeAlias = Callable[[bytes], None]

_LENGTH_BYTES: Final = 8


def encode(value: Value) -> bytes:
    """The bytes of `value`.

    A one-byte type tag, then for everything but None and booleans a big-endian 64-bit length (bytes of a scalar,
    items of a collection), then the content. Integers are decimal text, mappings are sorted by the UTF-8 bytes of
    their keys, a list and a tuple are the same sequence, and a digest is not the bytes it consists of.

    Raises:
        TypeError: for floats, sets, keys that are not strings, and any other type.
        UnicodeEncodeError: for text with a lone surrogate.
        ValueError: for an integer of more digits than Python writes out (4300 unless it is told otherwise).
    """
    out: list[bytes] = []
    _write(value, out.append)
    return b"".join(out)


def _write(value: Any, add: _Add) -> None:  # noqa: ANN401 - what may be encoded is found out here
    (_WRITERS.get(type(value)) or _writer_of(value))(value, add)


def _none(_value: None, add: _Add) -> None:
    add(b"n")


def _bool(value: bool, add: _Add) -> None:  # noqa: FBT001 - it is what is written
    add(b"T" if value else b"F")


def _int(value: int, add: _Add) -> None:
    _scalar(b"i", b"%d" % value, add)


def _str(value: str, add: _Add) -> None:
    _scalar(b"s", value.encode("utf-8"), add)


def _bytes(value: bytes, add: _Add) -> None:
    _scalar(b"b", value, add)


def _digest(value: Digest, add: _Add) -> None:
    _scalar(b"h", value.raw, add)


def _sequence(value: Sequence[object], add: _Add) -> None:
    add(b"l" + len(value).to_bytes(_LENGTH_BYTES))
    for item in value:
        _write(item, add)


def _mapping(value: Mapping[object, object], add: _Add) -> None:
    pairs = sorted([(_key(key), item) for key, item in value.items()], key=itemgetter(0))
    add(b"d" + len(pairs).to_bytes(_LENGTH_BYTES))
    for key, item in pairs:
        _scalar(b"s", key, add)
        _write(item, add)


def _scalar(tag: bytes, content: bytes, add: _Add) -> None:
    add(tag + len(content).to_bytes(_LENGTH_BYTES) + content)


def _key(key: object) -> bytes:
    if not isinstance(key, str):
        raise TypeError(f"a mapping key must be a string, not {type(key).__name__}")
    return key.encode("utf-8")


# What is of none of these types is written as the first that it is an instance of: a bool before it could be an int.
_WRITERS: Final[dict[type, Callable[[Any, _Add], None]]] = {
    type(None): _none,
    bool: _bool,
    int: _int,
    str: _str,
    bytes: _bytes,
    Digest: _digest,
    list: _sequence,
    tuple: _sequence,
    dict: _mapping,
    Mapping: _mapping,
}


def _writer_of(value: object) -> Callable[[Any, _Add], None]:
    for kind, writer in _WRITERS.items():
        if isinstance(value, kind):
            return writer
    raise TypeError(f"a {type(value).__name__} has no canonical encoding")


class DecodeError(ValueError):
    """Bytes that `encode` did not write."""


def decode(data: bytes) -> Value:
    """The value whose encoding `data` is: what `encode` wrote comes back equal (sequences as lists).

    Raises:
        DecodeError: for bytes that are cut, have a tail, or are not what `encode` would write for their value.
    """
    try:
        value, end = _read(memoryview(data), 0)
        canonical = end == len(data) and encode(value) == data
    except (ValueError, RecursionError) as error:
        raise DecodeError(f"not a canonical encoding: {error}") from error
    if not canonical:
        raise DecodeError("not a canonical encoding: it has a tail, or a value that is written otherwise")
    return value


def _read(data: memoryview, at: int) -> tuple[Value, int]:
    tag = bytes(data[at : at + 1])
    at += 1
    if tag in _CONSTANTS:
        return _CONSTANTS[tag], at
    end = at + _LENGTH_BYTES
    if end > len(data):
        raise DecodeError("cut inside a length")
    length = int.from_bytes(data[at:end])
    if tag == b"l":
        return _read_list(data, end, length)
    if tag == b"d":
        return _read_mapping(data, end, length)
    content = bytes(data[end : end + length])
    if len(content) != length:
        raise DecodeError("cut inside a scalar")
    if tag not in _SCALARS:
        raise DecodeError(f"unknown type tag {tag!r}")
    return _SCALARS[tag](content), end + length


def _read_list(data: memoryview, at: int, length: int) -> tuple[Value, int]:
    items: list[Value] = []
    for _ in range(length):
        item, at = _read(data, at)
        items.append(item)
    return items, at


def _read_mapping(data: memoryview, at: int, length: int) -> tuple[Value, int]:
    pairs: dict[str, Value] = {}
    for _ in range(length):
        key, at = _read(data, at)
        item, at = _read(data, at)
        if not isinstance(key, str):
            raise DecodeError("a mapping key is not a string")
        pairs[key] = item
    return pairs, at


_CONSTANTS: Final[dict[bytes, Value]] = {b"n": None, b"T": True, b"F": False}
_SCALARS: Final[dict[bytes, Callable[[bytes], Value]]] = {
    b"i": int,
    b"s": lambda content: content.decode("utf-8"),
    b"b": lambda content: content,
    b"h": Digest,
}
