"""What may stand for a version of a harness."""

from __future__ import annotations

import base64
import hashlib

import pytest

from reeval_build.model.harness_recipes import (
    NPM_PROGRAMS,
    is_integrity,
    is_version,
    is_version_or_tag,
    is_word,
)
from reeval_build.model.harnesses import HARNESSES

INTEGRITY = f"sha512-{base64.b64encode(hashlib.sha512(b'').digest()).decode()}"


@pytest.mark.parametrize("text", ["0.0.0", "2.1.332", "1.0.0-rc.1", "0.1.2504172351", "1.2.3+build.7"])
def test_one_version_is_one(text):
    assert is_version(text)
    assert is_version_or_tag(text)
    assert is_word(text)


@pytest.mark.parametrize("text", ["latest", "next", "beta-2", "stable", "xylophone", "vnext"])
def test_a_tag_is_no_version(text):
    assert not is_version(text)
    assert is_version_or_tag(text)


@pytest.mark.parametrize(
    "text",
    [
        *("", "1", "1.2", "1.x", "x", "X.1", "v", "v1", "v1.2.3", "1.2.3.4", "01.2.3", "^1.2.3", "~1", ">=1", "1 || 2"),
        *("*", "1.2.3; id", "a b", "a'b", "$(id)", "latest\n", "1.2.3\n", "@a/b", "a" * 101, "1.2.3-" + "a" * 95),
    ],
)  # fmt: skip
def test_what_is_more_than_one_version_or_a_word_of_a_shell_is_neither(text):
    assert not is_version(text)
    assert not is_version_or_tag(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (INTEGRITY, True),
        (INTEGRITY.removesuffix("="), False),
        (f"{INTEGRITY}?x", False),
        (f"{INTEGRITY} {INTEGRITY}", False),
        (INTEGRITY.replace("sha512", "sha384"), False),
        (f"{INTEGRITY}\n", False),
    ],
)
def test_an_integrity_is_one_sha512(text, expected):
    assert is_integrity(text) is expected


def test_only_harnesses_that_there_are_have_a_package():
    assert NPM_PROGRAMS.keys() < HARNESSES.keys() - {"fake"}
