"""Redaction is the same in pieces as in one, and leaves no value."""

from __future__ import annotations

import io
import re
from itertools import pairwise
from typing import BinaryIO, cast

from hypothesis import given
from hypothesis import strategies as st

from reeval_build.digest import BLOB
from reeval_build.execute.leaks import WatchedBatch
from reeval_build.execute.redaction import MINIMUM_BYTES, Redactor
from reeval_build.state.delta import DeltaEntry, DeltaKind
from tests.support.memory_store import MemoryBatch

# Few letters, so that values begin in each other, and repeat themselves.
_few = st.text("ab%+", min_size=MINIMUM_BYTES, max_size=8)
_values = st.dictionaries(st.sampled_from(["A", "B", "C"]), _few | st.text(max_size=8), min_size=1, max_size=3).map(
    lambda values: {name: value.replace("\0", "") for name, value in values.items()}
)


@st.composite
def _texts(draw) -> tuple[dict[str, str], bytes, list[int]]:
    """Values, bytes that have some of them, and where those are cut."""
    values = draw(_values)
    parts = st.sampled_from([value.encode("utf-8", "surrogateescape") for value in values.values()])
    cut_parts = st.tuples(parts, st.integers(0, 8)).map(lambda pair: pair[0][: pair[1]])
    data = b"".join(draw(st.lists(parts | cut_parts | st.text("ab%+\n", max_size=3).map(str.encode), max_size=8)))
    cuts = draw(st.lists(st.integers(0, len(data)), max_size=12))
    return values, data, sorted({0, *cuts, len(data)})


def chunks(data: bytes, cuts: list[int]) -> list[bytes]:
    return [data[start:end] for start, end in pairwise(cuts)]


@given(_texts())
def test_chunks_are_redacted_as_the_whole_is(text):
    values, data, cuts = text
    redactor, target = Redactor(values), io.BytesIO()

    with redactor.stream(target) as stream:
        for chunk in chunks(data, cuts):
            stream.write(chunk)

    assert target.getvalue() == redactor.redact(data)


@given(_texts())
def test_no_value_is_left(text):
    values, data, _cuts = text
    redactor = Redactor(values)

    pieces = [piece for label in redactor.redact(data).split(b"[secret ") for piece in label.split(b"]")]

    for value in values.values():
        core = value.encode().strip()
        assert len(core) < MINIMUM_BYTES or not any(core in piece for piece in pieces)


@given(st.lists(st.text("ab", min_size=MINIMUM_BYTES, max_size=8), min_size=1, max_size=3), st.text("abc", max_size=40))
def test_no_byte_of_a_value_is_left_and_every_other_one_is(values, text):
    redactor = Redactor({str(number): value for number, value in enumerate(values)})
    starts = [(at, len(value)) for value in values for at in range(len(text)) if text.startswith(value, at)]
    covered = {at + offset for at, length in starts for offset in range(length)}

    redacted = redactor.redact(text.encode()).decode()

    assert re.sub(r"\[secret \d\]", "", redacted) == "".join(
        character for at, character in enumerate(text) if at not in covered
    )


class InPieces(io.RawIOBase):
    """A stream that gives what it was given, piece by piece."""

    def __init__(self, pieces: list[bytes]) -> None:
        self._pieces = [piece for piece in pieces if piece]

    def read(self, size: int = -1, /) -> bytes:
        assert size, "nobody asks for nothing"
        return self._pieces.pop(0) if self._pieces else b""


@given(_texts())
def test_a_value_is_found_across_the_chunks_of_a_file_exactly_when_it_is_in_it(text):
    values, data, cuts = text
    redactor = Redactor(values)
    batch = WatchedBatch(MemoryBatch(), redactor)

    digest, size = batch.add_stream(BLOB, cast("BinaryIO", InPieces(chunks(data, cuts))))
    leaks = list(batch.leaks([DeltaEntry(parts=(b"f",), kind=DeltaKind.FILE, digest=digest, size=size)]))

    assert {name for leak in leaks for name in leak.names} == redactor.found_in(data)
