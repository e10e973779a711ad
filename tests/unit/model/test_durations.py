from __future__ import annotations

from datetime import timedelta

import pytest

from reeval_build.model.durations import seconds


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        (1, 1.0),
        (90, 90.0),
        (0.25, 0.25),
        ("90s", 90.0),
        ("15m", 900.0),
        ("1h", 3600.0),
        ("250ms", 0.25),
        ("1.5m", 90.0),
        ("007s", 7.0),
        (timedelta(minutes=5), 300.0),
        (timedelta(milliseconds=1), 0.001),
    ],
)
def test_a_time_limit_is_seconds_a_timedelta_or_text(written, expected):
    assert seconds(written) == pytest.approx(expected)


@pytest.mark.parametrize(
    "written",
    [
        0,
        -1,
        0.0,
        -0.5,
        True,
        False,
        None,
        "",
        "5",
        "s",
        "5 s",
        " 5s",
        "5s ",
        "5s\n",
        "-5s",
        "+5s",
        "5S",
        "5d",
        "1e3s",
        ".5s",
        "5.s",
        "1.2.3s",
        "0ms",
        "0.0h",
        "1h30m",
        "\u0665s",
        "\uff15s",
        "1_0s",
        b"5s",
        [5],
        timedelta(0),
        timedelta(seconds=-1),
        float("nan"),
        float("inf"),
        10**400,
        "9" * 400 + "h",
        5j,
    ],
    ids=lambda value: repr(value)[:20] if not isinstance(value, int) or value < 10**9 else "an integer beyond floats",
)
def test_anything_else_is_no_time_limit(written):
    assert seconds(written) is None
