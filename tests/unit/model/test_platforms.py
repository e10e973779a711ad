"""Which names of platforms mean the same."""

from __future__ import annotations

import pytest

from reeval_build.model.platforms import choose_platform, is_platform, is_same_platform


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("linux/amd64", "linux/amd64", True),
        ("linux/x86_64", "linux/amd64", True),
        ("linux/arm64", "linux/arm64/v8", True),
        ("linux/aarch64", "linux/arm64/v8", True),
        ("linux/arm", "linux/arm/v7", True),
        ("linux/arm", "linux/arm/v6", False),
        ("linux/arm64", "linux/arm", False),
        ("linux/amd64", "windows/amd64", False),
        ("linux/amd64", "linux/amd64/v3", False),
    ],
)
def test_platforms_are_the_same_by_any_of_their_names(one, other, same):
    assert is_same_platform(one, other) is same
    assert is_same_platform(other, one) is same


def test_the_platform_that_is_chosen_is_written_as_it_is_offered():
    assert choose_platform("linux/arm64", ["linux/amd64", "linux/arm64/v8"]) == "linux/arm64/v8"
    assert choose_platform("linux/s390x", ["linux/amd64"]) is None


@pytest.mark.parametrize("text", ["", "amd64", "linux/", "linux/a b", "linux/arm/v7/x", "Linux/amd64", None, 1])
def test_anything_else_is_no_platform(text):
    assert not is_platform(text)
