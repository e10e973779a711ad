from __future__ import annotations

import pytest

from reeval_build.content.docker_ignore import BadPatternError, DockerIgnore
from reeval_build.tree.selection import Choice


def left(rules: str, *paths: str) -> list[str]:
    """The paths of files that are kept, when each directory above is asked first."""
    selection, found = DockerIgnore(rules.encode()), []
    for path in paths:
        parts = tuple(name.encode() for name in path.split("/"))
        above = [selection.choose(parts[:depth], is_directory=True) for depth in range(1, len(parts))]
        if Choice.LEFT_OUT not in above and selection.choose(parts, is_directory=False) is Choice.KEPT:
            found.append(path)
    return found


@pytest.mark.parametrize(
    ("rules", "kept"),
    [
        ("", ["a", "b/a", "b/c/a.log"]),
        ("a", ["b/a", "b/c/a.log"]),
        ("**/a", ["b/c/a.log"]),
        ("/b/", ["a"]),
        ("b\n!b/a", ["a", "b/a"]),
        ("b/*\n!b/c", ["a", "b/c/a.log"]),
        ("**/*.log\n#a\n\n", ["a", "b/a"]),
        ("*\n!**/*.log", ["b/c/a.log"]),
        ("b/../a", ["b/a", "b/c/a.log"]),
        ("?", []),
        ("[^b]", ["b/a", "b/c/a.log"]),
        ("!a", ["a", "b/a", "b/c/a.log"]),
    ],
)
def test_the_last_rule_that_is_about_a_path_or_what_is_above_it_counts(rules, kept):
    assert left(rules, "a", "b/a", "b/c/a.log") == kept


@pytest.mark.parametrize(("rules", "line"), [("[", 1), ("a\n!", 2), ("a\\", 1), ("[b-", 1)])
def test_what_is_no_pattern_is_refused_with_its_line(rules, line):
    with pytest.raises(BadPatternError) as caught:
        DockerIgnore(rules.encode())

    assert caught.value.line == line


@pytest.mark.parametrize("name", ["[", "&", "|", "~", "a"])
def test_characters_in_brackets_are_only_themselves(name):
    assert left("[[a&&||~~]", name, "b") == ["b"]


def test_names_that_are_no_text_are_matched_too():
    selection = DockerIgnore(b"caf\xe9\n")

    assert selection.choose((b"caf\xe9",), is_directory=False) is Choice.LEFT_OUT


def test_rules_that_choose_differently_are_known_apart():
    keys = {DockerIgnore(rules).key for rules in (b"", b"a", b"!a", b"a\nb", b"b\na")}

    assert len(keys) == 5
