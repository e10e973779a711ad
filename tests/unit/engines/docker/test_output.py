from __future__ import annotations

import io
import os
import socket
import struct
from contextlib import closing

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reeval_build.engines.docker.output import CommandOutput, Demultiplexer
from reeval_build.ports.engine import EngineAwayError

frames = st.lists(st.tuples(st.sampled_from([1, 2]), st.binary(max_size=20)), max_size=8)


def encode(stream: int, content: bytes) -> bytes:
    return bytes([stream, 0, 0, 0]) + len(content).to_bytes(4) + content


@given(frames, st.integers(1, 11))
def test_frames_are_taken_apart_wherever_they_are_cut(sent, size):
    data = b"".join(encode(stream, content) for stream, content in sent)
    stdout, stderr = io.BytesIO(), io.BytesIO()
    sink = Demultiplexer(stdout, stderr)

    for start in range(0, len(data), size):
        sink.feed(data[start : start + size])

    assert stdout.getvalue() == b"".join(content for stream, content in sent if stream == 1)
    assert stderr.getvalue() == b"".join(content for stream, content in sent if stream == 2)


def test_what_arrived_with_the_header_of_the_answer_is_not_lost():
    ours, theirs = socket.socketpair()
    with closing(ours), closing(theirs), ours.makefile("rb") as buffered:
        theirs.sendall(b"header\nfirst")
        assert buffered.readline() == b"header\n"
        output = CommandOutput(buffered, ours, broken=lambda error: EngineAwayError(str(error)))

        assert output.read(wait_s=10) == b"first"
        assert output.read(wait_s=0) is None
        theirs.sendall(b"second")
        assert output.read(wait_s=10) == b"second"
        theirs.close()
        assert output.read(wait_s=10) == b""


def test_a_connection_that_breaks_in_the_middle_is_an_engine_that_is_away():
    with socket.create_server(("127.0.0.1", 0)) as server, socket.create_connection(server.getsockname()) as ours:
        theirs, _address = server.accept()
        with ours.makefile("rb") as buffered:
            output = CommandOutput(buffered, ours, broken=lambda error: EngineAwayError(str(error)))
            # Closed with nothing left to wait for: the peer is told that the connection is reset.
            theirs.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            theirs.close()

            with pytest.raises(EngineAwayError, match="reset"):
                output.read(wait_s=10)


def test_the_output_of_a_command_is_passed_on_at_once():
    read_end, write_end = os.pipe()
    with os.fdopen(read_end, "rb") as reader, os.fdopen(write_end, "wb") as buffered:
        Demultiplexer(buffered, io.BytesIO()).feed(encode(1, b"now"))

        assert reader.read(3) == b"now"
