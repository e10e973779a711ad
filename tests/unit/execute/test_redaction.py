"""Values of secrets in what is written, whatever they are written as and however it comes."""

from __future__ import annotations

import base64
import io
import json
import shlex
from typing import BinaryIO
from urllib.parse import quote, quote_plus, urlencode

import pytest

from reeval_build.engines.docker.changes import UnkeepableChangeError
from reeval_build.errors import HostError
from reeval_build.execute.redaction import MINIMUM_BYTES, Redactor
from reeval_build.ports.engine import EngineAwayError

TOKEN = "hunter2/f00d+é %s"
PEM = "-----BEGIN KEY-----\n" + "\n".join("abcdefghijklmnop" * 4 for _ in range(6)) + "\n-----END KEY-----\n"


def written(redactor: Redactor, *chunks: bytes) -> bytes:
    target = io.BytesIO()
    with redactor.stream(target) as stream:
        for chunk in chunks:
            stream.write(chunk)
    return target.getvalue()


@pytest.mark.conforms("28")
@pytest.mark.parametrize(
    "form",
    [
        TOKEN,
        quote(TOKEN),
        quote(TOKEN, safe=""),
        quote(TOKEN, safe="").replace("%2F", "%2f").replace("%2B", "%2b").replace("%C3%A9", "%c3%a9"),
        quote(TOKEN, safe="!'()*"),
        quote_plus(TOKEN),
        urlencode({"q": TOKEN}).removeprefix("q="),
        json.dumps(TOKEN)[1:-1],
        json.dumps(TOKEN, ensure_ascii=False)[1:-1],
    ],
)
def test_a_value_is_found_as_it_is_in_json_and_in_urls(form):
    redactor = Redactor({"API_TOKEN": TOKEN})

    assert redactor.redact(f"a{form}b".encode()) == b"a[secret API_TOKEN]b"
    assert redactor.found_in(f"a{form}b".encode()) == {"API_TOKEN"}


@pytest.mark.parametrize(
    "form",
    [
        pytest.param("it&s <a> '\\''1'\\''", id="trace of a shell"),
        pytest.param(shlex.quote("it&s <a> '1'")[1:-1], id="quoted by python"),
    ],
)
def test_a_value_with_what_programs_escape_is_found(form):
    redactor = Redactor({"A": "it&s <a> '1'"})

    # The last character is a quote, and may be taken for the end of the quotes around it.
    assert redactor.redact(f"x{form}y".encode()).startswith(b"x[secret A]")


@pytest.mark.conforms("28")
@pytest.mark.parametrize("before", ["", "x", "xy", "xyz", "user:", "a longer text before it: "])
@pytest.mark.parametrize("after", ["", "\n", "zz", " and more"])
@pytest.mark.parametrize("encode", [base64.b64encode, base64.urlsafe_b64encode])
def test_a_value_is_found_in_base64_wherever_it_stands(before, after, encode):
    redactor = Redactor({"A": TOKEN})

    encoded = encode((before + TOKEN + after).encode())
    redacted = redactor.redact(encoded)

    assert redactor.found_in(encoded) == {"A"}
    # What is left of the characters at its ends is less than a byte of it.
    left = redacted.replace(b"[secret A]", b"")
    assert b"[secret A]" in redacted
    assert len(encoded) - len(left) >= len(TOKEN.encode()) * 8 // 6 - 2


@pytest.mark.parametrize("width", [64, 76])
def test_a_long_value_is_found_in_base64_that_is_broken_into_lines(width):
    redactor = Redactor({"KEY": PEM})

    for before in range(width):
        encoded = base64.b64encode(b"x" * before + PEM.encode())
        lines = b"\n".join(encoded[at : at + width] for at in range(0, len(encoded), width))
        assert redactor.found_in(lines) == {"KEY"}


@pytest.mark.parametrize("form", [r"a\/b&c<d", r"a/b\u0026c\u003cd"])
def test_a_value_is_found_in_json_that_is_safe_in_scripts(form):
    assert Redactor({"A": "a/b&c<d"}).redact(f'"{form}"'.encode()) == b'"[secret A]"'


def test_a_value_of_several_lines_is_found_as_shells_and_json_write_it():
    redactor = Redactor({"KEY": PEM})

    encoded = base64.b64encode(PEM.encode()).decode()
    for form in (PEM, PEM.strip(), " ".join(PEM.split()), json.dumps({"key": PEM}), encoded):
        redacted = redactor.redact(form.encode())
        assert b"[secret KEY]" in redacted
        assert b"abcdefgh" not in redacted


def test_white_space_around_a_value_does_not_count():
    redactor = Redactor({"A": "  value-of-a\r\n"})

    assert redactor.redact(b"<value-of-a>") == b"<[secret A]>"


def test_short_values_are_not_looked_for():
    short = "x" * (MINIMUM_BYTES - 1)
    redactor = Redactor({"A": short, "B": "", "C": " \n"})

    assert redactor.is_idle
    assert redactor.redact(b"xxxxxx \n \n") == b"xxxxxx \n \n"
    assert redactor.found_in(short.encode()) == set()
    assert not Redactor({"A": short + "x"}).is_idle


def test_the_longest_of_several_values_is_replaced():
    redactor = Redactor({"LONG": "hunter2-and-more", "SHORT": "hunter2"})

    assert redactor.redact(b"hunter2 hunter2-and-more hunter2-and") == (
        b"[secret SHORT] [secret LONG] [secret SHORT]-and"
    )
    assert written(redactor, b"hunter2-and", b"-more") == b"[secret LONG]"
    assert written(redactor, b"hunter2-and", b"-less") == b"[secret SHORT]-and-less"


def test_values_that_overlap_leave_no_part_of_either():
    redactor = Redactor({"LOGIN": "https://ada", "PAIR": "ada:hunter2"})

    assert redactor.redact(b"<https://ada:hunter2@host>") == b"<[secret LOGIN]@host>"
    assert written(redactor, b"<https://a", b"da:hunt", b"er2@host>") == b"<[secret LOGIN]@host>"
    assert written(redactor, b"https://ada", b":hunter") == b"[secret LOGIN]:hunter"


def test_a_value_that_overlaps_itself_is_not_held_back_for_long():
    target = io.BytesIO()

    with Redactor({"A": "0000"}).stream(target) as stream:
        stream.write(b"0" * 100)
        stream.flush()
        assert target.getvalue() == b"[secret A]"
        stream.write(b"0" * 100 + b"1")

    assert target.getvalue() == b"[secret A]1"


def test_a_value_that_two_variables_have_is_called_by_the_first_and_found_for_both():
    redactor = Redactor({"B": "same-value", "A": "same-value"})

    assert redactor.redact(b"same-value") == b"[secret B]"
    assert redactor.found_in(b"same-value") == {"A", "B"}


def test_one_name_can_have_several_values():
    redactor = Redactor({"A": "first-value"}, {"A": "second-value"})

    assert redactor.redact(b"first-value second-value") == b"[secret A] [secret A]"


def test_a_stream_holds_back_only_what_may_be_the_beginning_of_a_value():
    target = io.BytesIO()

    with Redactor({"A": "hunter2"}).stream(target) as stream:
        for chunk, passed in ((b"> hunt", b"> "), (b"ing hunte", b"> hunting "), (b"r", b"> hunting ")):
            stream.write(chunk)
            stream.flush()
            assert target.getvalue() == passed
        stream.write(memoryview(b"2!"))
        assert target.getvalue() == b"> hunting [secret A]!"
        stream.write(b"hunter")

    assert target.getvalue() == b"> hunting [secret A]!hunter"


def test_what_is_held_back_is_passed_on_when_the_block_fails():
    target = io.BytesIO()

    def write_and_fail(stream: BinaryIO) -> None:
        stream.write(b"hunt")
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError), Redactor({"A": "hunter2"}).stream(target) as stream:
        write_and_fail(stream)

    assert target.getvalue() == b"hunt"


def test_a_stream_without_secrets_is_the_stream_itself():
    target = io.BytesIO()

    with Redactor({}).stream(target) as stream:
        assert stream is target


def test_values_of_any_bytes_are_found():
    redactor = Redactor({"A": b"\xff\xfe-binary\\".decode("utf-8", "surrogateescape"), "B": ".*(+[x"})

    assert redactor.redact(b"<\xff\xfe-binary\\><.*(+[x>") == b"<[secret A]><[secret B]>"


def test_errors_that_quote_a_value_are_redacted_and_others_are_left_alone():
    redactor = Redactor({"A": "line one\nline two"})
    away = EngineAwayError("it is away")

    with pytest.raises(UnkeepableChangeError) as caught, redactor.errors():
        raise UnkeepableChangeError(b"workspace/line one\nline two", "is not a name")
    with pytest.raises(HostError) as of_the_host, redactor.errors():
        raise PermissionError(13, "Permission denied", "/upper/line one\nline two")
    with pytest.raises(EngineAwayError) as untouched, redactor.errors():
        raise away

    assert str(caught.value) == "/workspace/[secret A] cannot be kept: it is not a name (have the step remove it)"
    assert str(of_the_host.value) == "/upper/[secret A]: Permission denied"
    assert untouched.value is away


def test_a_redactor_shows_no_value():
    assert "hunter2" not in repr(Redactor({"A": "hunter2"}))
