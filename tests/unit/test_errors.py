from __future__ import annotations

import pytest

from reeval_build.errors import CancelledError, DefinitionError, HostError, InfraError, PlanError, ReevalError


def test_a_hint_follows_the_message_in_brackets():
    error = InfraError("the store is full", hint="make room")

    assert str(error) == "the store is full (make room)"
    assert (error.message, error.hint) == ("the store is full", "make room")


def test_an_error_without_a_hint_is_its_message():
    assert str(PlanError("there is no such file")) == "there is no such file"


def test_a_definition_error_keeps_its_problems_apart_and_shows_one_a_line():
    error = DefinitionError("one", "two", file="env.py")

    assert error.problems == ("one", "two")
    assert str(error) == "one\ntwo"
    assert error.file == "env.py"


@pytest.mark.parametrize("kind", [ReevalError, DefinitionError, PlanError, InfraError])
def test_a_message_can_be_printed_whatever_it_quotes(kind):
    error = kind("got \ud800 and é")

    assert str(error).encode("utf-8").decode("utf-8") == "got \\ud800 and é"


def test_the_problems_of_a_definition_can_be_printed_whatever_they_quote():
    assert DefinitionError("\udfff").problems == ("\\udfff",)


@pytest.mark.parametrize(
    ("quoted", "shown"),
    [
        ("a\nb", "a\\nb"),
        ("\x1b[2J", "\\x1b[2J"),
        ("a\0b\x7f\x9b", "a\\x00b\\x7f\\x9b"),
        ("a\u2028b", "a\\u2028b"),
        ("👩\u200d💻 \xa0", "👩\u200d💻 \xa0"),
    ],
)
def test_nothing_that_is_quoted_moves_a_cursor_or_breaks_a_line(quoted, shown):
    assert str(InfraError(f"no {quoted}", hint=f"look at {quoted}")) == f"no {shown} (look at {shown})"
    assert DefinitionError("one", quoted).problems == ("one", shown)
    assert str(DefinitionError("one", quoted)) == f"one\n{shown}"


def test_what_is_very_long_is_cut():
    message = str(InfraError("a" * 1_000_000))

    assert len(message) <= 10_000
    assert message.endswith("a… and 990,050 characters more")
    assert str(InfraError(message)) == message


def test_errors_that_end_a_run_differently_are_told_apart_by_their_class():
    ends = (DefinitionError, PlanError, InfraError, CancelledError)

    assert not any(issubclass(one, other) for one in ends for other in ends if one is not other)
    assert all(issubclass(kind, ReevalError) for kind in ends)


@pytest.mark.parametrize(
    ("path", "message"),
    [
        (b"/store/caf\xc3\xa9", "/store/caf\u00e9: Permission denied"),
        ("/store/a", "/store/a: Permission denied"),
        (None, "Permission denied"),
    ],
)
def test_what_the_system_says_has_the_path_as_text(path, message):
    assert str(HostError(PermissionError(13, "Permission denied", path))) == message


def test_of_a_full_disk_it_is_said_where_it_is_and_how_to_get_room():
    assert str(HostError(OSError(28, "No space left on device", "/store/a"))) == (
        "/store/a: No space left on device"
        " (make room on its file system, in the store with: reeval-build cache gc --budget SIZE)"
    )
    assert str(HostError(OSError(28, "No space left on device"))) == "No space left on device"
