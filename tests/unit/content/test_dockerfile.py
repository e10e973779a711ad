from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reeval_build.content.dockerfile import ImageUse, read_dockerfile
from reeval_build.content.dockerfile_lines import DockerfileError


def images(text: str, **variables: str) -> list[str]:
    return [use.label for use in read_dockerfile(text.encode(), variables).images]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("FROM a", ["a"]),
        ("from a as b\nFROM b", ["a"]),
        ("FROM a AS B\nFROM c\nCOPY --from=b /x /\nCOPY --from=0 /x /\nCOPY --from=d:1 /x /", ["a", "c", "d:1"]),
        ("FROM a\nFROM a", ["a"]),
        ("FROM --platform=linux/arm64 a", ["a (linux/arm64)"]),
        ("FROM --platform=$TARGETPLATFORM a", ["a (linux/amd64)"]),
        ("FROM \\\n# a comment\n\n  a\\\n:1", ["a:1"]),
        ("# escape=`\nFROM `\n a", ["a"]),
        ("\ufeffFROM a", ["a"]),
        ("FROM a\r\nRUN x\r\n", ["a"]),
        ("FROM a\nRUN cat <<EOF > b\nFROM c\nEOF\nCOPY --from=d x /", ["a", "d"]),
        ("FROM a\nRUN <<-'E' cat\nFROM c\n\tE\nFROM d", ["a", "d"]),
        ("FROM a\nCOPY <<one <<two /\nFROM b\none\nFROM c\ntwo\nFROM d", ["a", "d"]),
        ('FROM a\nRUN echo "<<EOF"\nFROM b', ["a", "b"]),
        ("FROM a\nRUN echo a\\\n # FROM b\n\nFROM c\nFROM d", ["a", "d"]),
        ("FROM a\nRUN echo FROM b", ["a"]),
        ("FROM a\nRUN --mount=type=bind,from=b:1,target=/b --mount=type=cache,target=/c x", ["a", "b:1"]),
        ("FROM a\nONBUILD COPY --from=b /x /", ["a", "b"]),
        ("ARG V=1\nFROM a:$V", ["a:1"]),
        ("ARG V=1 W='2'\nFROM a:${V}-${W}", ["a:1-2"]),
        ("ARG V\nFROM a:${V:-3}", ["a:3"]),
        ("ARG V=\nFROM a:${V:+x}${V-y}z", ["a:z"]),
        ('ARG V=1\nARG I="a:$V"\nFROM $I\nARG V=2\nFROM b:$V', ["a:1", "b:1"]),
        ("FROM scratch", ["scratch"]),
        ("FROM a AS one\nFROM 0", ["a", "0"]),
        ("FROM a AS one\nFROM b\nCOPY --from=\"one\" x /\nCOPY --from='c' x /", ["a", "b", "c"]),
        ('FROM a\nRUN --mount=type=cache,target="/c" x', ["a"]),
        ("FROM a\nRUN --mount=type=bind,From=b,target=/b x", ["a", "b"]),
        ("#!/usr/bin/env docker\n# escape=`\nFROM \\\n a", ["a"]),
        ("# escape=\nFROM \\\n a", ["a"]),
    ],
)
def test_images_that_are_named(text, found):
    assert images(text, TARGETPLATFORM="linux/amd64") == found


def test_the_last_stage_lies_on_what_its_stages_lie_on():
    assert read_dockerfile(b"FROM a AS one\nFROM b AS two\nFROM one AS three\nFROM three", {}).final == ImageUse(
        name="a"
    )


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "line 1: there is no FROM"),
        ("RUN x\n", "line 1: there is no FROM"),
        ("FROM", "line 1: FROM takes an image"),
        ("\nFROM a b", "line 2: FROM takes an image"),
        ("FROM a as", "line 1: FROM takes an image"),
        ("FROM $NONE", "line 1: FROM $NONE names no image"),
        ("FROM ${A/b/c}", "line 1: ${A/b/c} cannot be read"),
        ("FROM a\nCOPY --from=3 x /", "line 2: from=3 is no stage that is before it"),
        ("FROM a\nCOPY --from=$X x /", "line 2: from=$X has a variable"),
        ("FROM a\nRUN --mount=type=secret,id=a x", "line 2: RUN --mount=type=secret is not supported"),
        ("FROM a\nRUN \\\n --mount=type=ssh x", "line 2: RUN --mount=type=ssh is not supported"),
        ("# syntax=registry.example.com/a\nFROM a", "line 1: syntax=registry.example.com/a is an image"),
        ("ARG 1=2\nFROM a", "line 1: ARG 1=2 is no name"),
        ("#!/bin/sh\n# syntax=registry.example.com/a\nFROM a", "line 2: syntax=registry.example.com/a is an image"),
        ("//syntax=registry.example.com/a\nFROM a", "line 1: syntax=registry.example.com/a is an image"),
        ("#\fsyntax=registry.example.com/a\nFROM a", "line 1: syntax=registry.example.com/a is an image"),
        ("# syntax=docker/dockerfile:1\n# escape=ab\nFROM a", "line 2: escape=ab is neither \\ nor `"),
        ("FROM a\nCOPY --from=0 x /", "line 2: from=0 is no stage that is before it"),
        ("FROM a\nCOPY --from=b x /\nFROM c AS B", "line 2: from=b is a stage that is not before it"),
        ("FROM --platform=amd64 a", "line 1: --platform=amd64 is no platform such as linux/arm64"),
        ("FROM --platform=$NONE a", "line 1: --platform=$NONE is no platform such as linux/arm64"),
        ("FROM a\nCOPY --from b x /", "line 2: --from has no value: it is written --from=..."),
        ("FROM a\nCOPY --fr\\om=b x /", "line 2: the name of --fr\\om=b has quotes or backslashes"),
        ("FROM a\nRUN --mount=type=bind,'from=b' x", "line 2: --mount=type=bind,'from=b' names an image"),
        ("FROM a\nRUN --mount=Type=Secret,id=a x", "line 2: RUN --mount=type=secret is not supported"),
    ],
)
def test_what_cannot_be_used_is_refused_with_its_line(text, said):
    with pytest.raises(DockerfileError) as caught:
        read_dockerfile(text.encode(), {})

    assert str(caught.value).startswith(said)


def test_bytes_that_are_no_text_are_refused():
    with pytest.raises(DockerfileError, match="line 2: is not UTF-8"):
        read_dockerfile(b"FROM a\nRUN \xff\n", {})


def test_no_form_of_a_syntax_is_left_to_builders_that_would_fetch_it():
    for text in ("#!/bin/sh\n# syntax=docker/dockerfile:1\nFROM a", "//syntax=docker/dockerfile:1\nFROM a"):
        assert "syntax" not in read_dockerfile(text.encode(), {}).renamed(lambda use: use.name)


def test_other_names_are_put_in_the_places_of_images_and_nothing_else_changes():
    text = (
        "# syntax=docker/dockerfile:1.7\n# escape=`\nARG V=1\nFROM --platform=linux/amd64 `\n  a:$V AS a\n"
        "RUN --mount=from=b,target=/a echo a:$V a\nFROM a\nCOPY --from=c a a\n"
    )

    renamed = read_dockerfile(text.encode(), {}).renamed(lambda use: f"<{use.name}>")

    assert renamed == (
        "#" + " " * 29 + "\n# escape=`\nARG V=1\nFROM --platform=linux/amd64 `\n  <a:1> AS a\n"
        "RUN --mount=from=<b>,target=/a echo a:$V a\nFROM a\nCOPY --from=<c> a a\n"
    )


lines = st.sampled_from(
    [
        "FROM a",
        "FROM b AS x",
        "FROM x",
        "RUN y \\",
        "# c",
        "",
        "COPY --from=x a b",
        "COPY --from=q:1 a b",
        "RUN <<E",
        "E",
    ]
)


@given(st.lists(lines, max_size=8).map("\n".join))
def test_what_is_renamed_names_the_new_images_in_the_same_lines(text):
    try:
        dockerfile = read_dockerfile(text.encode(), {})
    except DockerfileError:
        return

    renamed = dockerfile.renamed(lambda use: f"new/{use.name}")

    again = read_dockerfile(renamed.encode(), {})
    assert [use.name for use in again.images] == [f"new/{use.name}" for use in dockerfile.images]
    assert renamed.count("\n") == text.count("\n")
    assert read_dockerfile(text.encode(), {}).renamed(lambda use: use.name) == text


@given(st.binary(max_size=60))
def test_anything_is_read_or_refused(data):
    with contextlib.suppress(DockerfileError):
        read_dockerfile(b"FROM a\n" + data, {})
