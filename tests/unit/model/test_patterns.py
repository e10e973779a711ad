from __future__ import annotations

import pytest

from reeval_build.model.patterns import Pattern, Selection
from reeval_build.model.reading import Refused


def selected(patterns: list[str], *paths: str) -> list[str]:
    """Those of some files that the patterns include."""
    selection = Selection(tuple(map(Pattern.parse, patterns)))
    return [path for path in paths if selection.includes(decided(selection, path))]


def decided(selection: Selection, path: str) -> int:
    above, names = -1, path.split("/")
    for length in range(1, len(names)):
        above = selection.decide("/".join(names[:length]), is_directory=True, above=above)
    return selection.decide(path, is_directory=False, above=above)


@pytest.mark.conforms("50")
@pytest.mark.parametrize(
    ("pattern", "path", "is_directory", "matches"),
    [
        ("*.ts", "a.ts", False, True),
        ("*.ts", "a/b/c.ts", False, True),
        ("*.ts", "a.tsx", False, False),
        ("a", "a", False, True),
        ("a", "b/a", True, True),
        ("a", "ab", False, False),
        ("/a", "a", False, True),
        ("/a", "b/a", False, False),
        ("a/b", "a/b", False, True),
        ("a/b", "c/a/b", False, False),
        ("a/*", "a/b", False, True),
        ("a/*", "a/b/c", False, False),
        ("d/", "d", True, True),
        ("d/", "d", False, False),
        ("d/", "a/d", True, True),
        ("/d/", "a/d", True, False),
        ("a/d/", "a/d", True, True),
        ("**/a", "a", False, True),
        ("**/a", "b/c/a", False, True),
        ("a/**", "a/b/c", False, True),
        ("a/**", "a", True, False),
        ("a/**/b", "a/b", False, True),
        ("a/**/b", "a/c/d/b", False, True),
        ("?.md", "a.md", False, True),
        ("?.md", "ab.md", False, False),
        ("a?b", "a/b", False, False),
        ("[ab].md", "b.md", False, True),
        ("[!ab].md", "b.md", False, False),
        ("[^ab].md", "c.md", False, True),
        ("[a-c]", "b", False, True),
        ("[b-a]", "b", False, False),
        ("a/**/**/b", "a/b", False, True),
        ("**", "a/b", False, True),
        ("a*/b*/c", "ax/by/c", False, True),
        ("[]]", "]", False, True),
        ("[", "[", False, True),
        ("[[]", "[", False, True),
        ("a.b", "axb", False, False),
        ("*", ".hidden", False, True),
        ("a**b", "axxb", False, True),
        ("a\n", "a\n", False, True),
        ("é*", "éa", False, True),
    ],
)
def test_a_pattern_matches_as_git_ignores(pattern, path, is_directory, matches):
    assert Pattern.parse(pattern).matches(path, is_directory=is_directory) is matches
    assert Pattern.parse(f"!{pattern}").matches(path, is_directory=is_directory) is matches


@pytest.mark.parametrize(
    "value", ["", "/", "!", "!/", "//", "a//b", ".", "..", "./a", "a/../b", "a\\b", 3, None, "a\0"]
)
def test_what_can_match_nothing_is_refused(value):
    with pytest.raises(Refused):
        Pattern.parse(value)


def test_many_stars_are_as_fast_as_one():
    assert not Pattern.parse("*" * 60 + "b").matches("a" * 250, is_directory=False)
    assert not Pattern.parse("*a" * 60 + "b").matches("a" * 250, is_directory=False)
    assert not Pattern.parse("**/a/" * 60 + "b").matches("a/" * 120 + "a", is_directory=False)


@pytest.mark.conforms("51")
def test_without_an_including_pattern_every_file_starts_included():
    assert selected([], "a", "b/c") == ["a", "b/c"]
    assert selected(["!b/"], "a", "b/c") == ["a"]


@pytest.mark.conforms("51")
def test_with_an_including_pattern_only_what_matches_is_included():
    assert selected(["*.ts"], "a.ts", "a.js", "b/c.ts") == ["a.ts", "b/c.ts"]


@pytest.mark.conforms("50")
def test_the_last_pattern_that_matches_decides():
    assert selected(["*.ts", "!a.ts"], "a.ts", "b.ts") == ["b.ts"]
    assert selected(["!a.ts", "*.ts"], "a.ts", "b.ts") == ["a.ts", "b.ts"]


def test_a_pattern_for_a_directory_decides_on_everything_in_it_unless_a_later_one_does():
    patterns = ["src/", "!src/generated/", "src/generated/keep.ts"]

    assert selected(patterns, "src/a", "src/generated/b", "src/generated/keep.ts", "c") == [
        "src/a",
        "src/generated/keep.ts",
    ]


def test_a_directory_is_not_walked_when_nothing_below_it_can_be_included():
    selection = Selection(tuple(map(Pattern.parse, ["!a/", "!b/", "b/c"])))

    assert not Selection(selection.patterns[:1]).may_include_below(0)
    assert selection.may_include_below(1)
    assert selection.may_include_below(-1)
