from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reeval_build import docker
from reeval_build.errors import DefinitionError
from reeval_build.model.sizes import size_bytes, size_text


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        (4096, 4096),
        ("4096", 4096),
        ("100b", 100),
        ("64k", 64 * 1024),
        ("512m", 512 * 1024**2),
        ("512MB", 512 * 1024**2),
        ("4g", 4 * 1024**3),
        ("4GiB", 4 * 1024**3),
        ("4 g", 4 * 1024**3),
        ("1.5g", 3 * 1024**3 // 2),
        ("2t", 2 * 1024**4),
        ("0.3b", 0),
    ],
)
def test_sizes_are_what_the_options_of_docker_take(written, expected):
    assert size_bytes(written) == expected


@pytest.mark.parametrize("written", ["", "m", "4x", "-4g", "4g ", "1.g", "4gg", "٤g", "1e3", -1, True, 1.0, None, []])
def test_what_is_no_size_is_none(written):
    assert size_bytes(written) is None


@given(st.integers(0, 2**63))
def test_a_size_as_text_is_that_size(size):
    assert size_bytes(size_text(size)) == size


def test_a_size_as_text_is_as_short_as_it_can_be():
    sizes = [64 * 1024**2, 4 * 1024**3, 1000, 0, 1536 * 1024]

    assert [size_text(size) for size in sizes] == ["64m", "4g", "1000b", "0b", "1536k"]


def problem(**options: Any) -> str:
    with pytest.raises(DefinitionError) as caught:
        docker(**options)
    (found,) = caught.value.problems
    return found


@pytest.mark.parametrize(("size", "got"), [("much", '"much"'), (2**63, str(2**63)), ("9e9g", '"9e9g"'), (1.5, "1.5")])
@pytest.mark.parametrize("option", ["memory", "swap"])
def test_what_no_engine_can_count_is_refused_at_definition(option, size, got):
    assert problem(**{"memory": "1g", option: size}) == (
        f'{option} in docker() must be a number of bytes, or text such as "512m" or "4g" (got {got})'
    )


@pytest.mark.parametrize(("size", "got"), [(0, "0"), ("0.0g", '"0.0g"')])
def test_no_memory_at_all_is_refused(size, got):
    assert problem(memory=size) == f"memory in docker() must be more than nothing (got {got})"


def test_no_swap_at_all_is_a_choice():
    assert docker(memory="1g", swap=0).swap == 0


def test_swap_without_memory_is_refused():
    assert problem(swap="1g") == "docker() takes swap only with memory: an engine limits them together"
