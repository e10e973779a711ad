from __future__ import annotations

import pytest

from reeval_build.errors import CancelledError, DefinitionError, InfraError, PlanError, ReevalError


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


def test_errors_that_end_a_run_differently_are_told_apart_by_their_class():
    ends = (DefinitionError, PlanError, InfraError, CancelledError)

    assert not any(issubclass(one, other) for one in ends for other in ends if one is not other)
    assert all(issubclass(kind, ReevalError) for kind in ends)
