from __future__ import annotations

import pytest

from reeval_build.plan.labels import shorten, shorten_path

LONG = "/home/somebody/projects/of-this-year/evaluations/plugins/review"


@pytest.mark.parametrize("text", ["make", "a" * 60])
def test_what_is_short_stays_as_it_is(text):
    assert shorten(text) == shorten_path(text) == text


def test_a_long_command_keeps_its_beginning_on_one_line():
    assert shorten("make a\n" + "b" * 60) == "make a " + "b" * 52 + "…"


@pytest.mark.parametrize(
    ("path", "shown"),
    [
        (LONG, "…/somebody/projects/of-this-year/evaluations/plugins/review"),
        ("/a/" + "b" * 70, "…" + "b" * 59),
        ("/a\n/" + LONG, "…/somebody/projects/of-this-year/evaluations/plugins/review"),
    ],
)
def test_a_long_path_keeps_its_end(path, shown):
    assert shorten_path(path) == shown
    assert len(shown) <= 60
