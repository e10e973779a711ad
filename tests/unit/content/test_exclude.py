from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reeval_build.content.exclude import Exclusion
from reeval_build.model.skills import DEFAULT_SKILL_EXCLUDE
from reeval_build.tree.directory import Kind
from tests.strategies import paths

FILE, DIRECTORY, LINK = Kind.FILE, Kind.DIRECTORY, Kind.SYMLINK


@pytest.mark.parametrize(
    ("pattern", "path", "kind", "is_out"),
    [
        ("notes.md", "notes.md", FILE, True),
        ("notes.md", "a/b/notes.md", FILE, True),
        ("notes.md", "notes.md.bak", FILE, False),
        ("notes.md", "my-notes.md", FILE, False),
        ("*.eval.ts", "a.eval.ts", FILE, True),
        ("*.eval.ts", "deep/down/a.eval.ts", FILE, True),
        ("*.eval.ts", "a.eval.tsx", FILE, False),
        ("*.eval.ts", "a.eval.ts", DIRECTORY, True),
        ("a*c", "abc", FILE, True),
        ("a*c", "ac", FILE, True),
        ("a*c", "ab\nc", FILE, True),
        ("**", "anything", FILE, True),
        ("/evals/", "evals", DIRECTORY, True),
        ("/evals/", "evals", FILE, False),
        ("/evals/", "a/evals", DIRECTORY, False),
        ("/notes", "notes", FILE, True),
        ("/notes", "a/notes", FILE, False),
        ("a/b", "a/b", FILE, True),
        ("a/b", "x/a/b", FILE, False),
        ("a/*", "a/b", FILE, True),
        ("a/*", "a/b/c", FILE, False),
        ("a/b/", "a/b", DIRECTORY, True),
        ("a/b/", "a/b", LINK, False),
        (".history/", ".history", DIRECTORY, True),
        (".history/", "x/.history", DIRECTORY, True),
        (".history/", "x/.history", FILE, False),
        ("[ab]?", "a1", FILE, False),
        ("[ab]?", "[ab]?", FILE, True),
        ("é", "é", FILE, True),
        ("", "a", FILE, False),
        ("/", "a", DIRECTORY, False),
        ("\ud800", "a", FILE, False),
    ],
)
@pytest.mark.conforms("95")
def test_a_pattern_leaves_out_what_the_documentation_says(pattern, path, kind, is_out):
    assert Exclusion.of([pattern]).leaves_out(tuple(path.encode().split(b"/")), kind) is is_out


@pytest.mark.conforms("95")
@pytest.mark.parametrize("patterns", [(), DEFAULT_SKILL_EXCLUDE, ("a",)])
@pytest.mark.parametrize("kind", [FILE, DIRECTORY, LINK])
def test_git_is_always_left_out(patterns, kind):
    assert Exclusion.of(patterns).leaves_out((b"sub", b".git"), kind)


@given(st.lists(st.text(max_size=6), max_size=3), paths, st.sampled_from(list(Kind)))
def test_any_text_is_a_pattern(patterns, parts, kind):
    assert Exclusion.of(patterns).leaves_out(parts, kind) in {True, False}


@given(paths, st.sampled_from(list(Kind)))
def test_an_anchored_path_without_stars_leaves_out_exactly_itself(parts, kind):
    try:
        text = b"/".join(parts).decode()
    except UnicodeDecodeError:
        return
    if "*" in text:
        return

    assert Exclusion.of([f"/{text}"]).leaves_out(parts, kind)
    assert not Exclusion.of([f"/x/{text}"]).leaves_out(parts, kind)


def test_what_is_left_out_is_not_looked_into(shelf):
    tree = shelf.tree({"a/b/c": "1", "d": "2"})

    assert Exclusion.of(["/a/", "c"]).topmost(tree, shelf.material.load) == [(b"a",)]
