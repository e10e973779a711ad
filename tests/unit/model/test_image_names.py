"""Two spellings of one image are one name, and two images never are."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reeval_build.model.image_names import is_pinned, read_image_name

DIGEST = "sha256:" + "1" * 64


@pytest.mark.parametrize(
    ("written", "name"),
    [
        ("node", "node:latest"),
        ("node:24", "node:24"),
        ("library/node:24", "node:24"),
        ("docker.io/node:24", "node:24"),
        ("docker.io/library/node:24", "node:24"),
        ("index.docker.io/library/node:24", "node:24"),
        ("docker.io/owner/image", "owner/image:latest"),
        ("library/a/b", "library/a/b:latest"),
        ("docker.io/ghcr.io/a", "docker.io/ghcr.io/a:latest"),
        ("ghcr.io/library/node:24", "ghcr.io/library/node:24"),
        ("localhost/a", "localhost/a:latest"),
        ("localhost:5000/a", "localhost:5000/a:latest"),
        ("127.0.0.1:5000/a/b:1", "127.0.0.1:5000/a/b:1"),
        ("[::1]:5000/a:1", "[::1]:5000/a:1"),
        (f"node@{DIGEST}", f"node@{DIGEST}"),
        (f"node:24@{DIGEST}", f"node@{DIGEST}"),
    ],
)
def test_a_name_is_read_as_engines_read_it(written, name):
    assert str(read_image_name(written)) == name
    assert str(read_image_name(name)) == name


@pytest.mark.parametrize(
    "text",
    ["", "No Such Name", "Node", "node:", "node:a b", "a//b", "/a", "a/", "node@sha256:1", "node@", "ho st.x/a", "é"],
)
def test_what_is_no_name_is_none(text):
    assert read_image_name(text) is None


@given(st.text(alphabet="ab/.:@-_L4", max_size=20))
def test_the_short_form_of_a_short_form_is_itself(text):
    name = read_image_name(text)

    assert name is None or read_image_name(str(name)) == name


@pytest.mark.parametrize(("name", "pinned"), [(f"a@{DIGEST}", True), (DIGEST, True), ("a:1", False), ("a", False)])
def test_a_name_with_a_digest_is_one_image_for_good(name, pinned):
    assert is_pinned(name) is pinned
