from __future__ import annotations

import pytest

from reeval_build.paths import (
    Destination,
    PathError,
    check_link,
    check_name,
    display,
    display_apart,
    display_briefly,
    parse_destination,
    split,
)

LONGEST = b"n" * 255


@pytest.mark.parametrize(
    "name",
    [
        b"a",
        b"...",
        b"..a",
        b".a",
        b"-",
        b" ",
        b"a b",
        b"*",
        b"~",
        b"\\",
        b"a\nb",
        b"\xff\xfe",
        "é".encode(),
        LONGEST,
        b".wh",
        b"wh.",
        b".WH.x",
        b"CON",
        b"a:b",
        b"\x01",
        b"\x7f",
    ],
)
def test_any_other_byte_may_stand_in_a_name(name):
    assert check_name(name) == name


@pytest.mark.conforms("fault 40")
@pytest.mark.parametrize(
    ("name", "reason"),
    [
        (b"", 'is not a name: it is empty, "." or ".."'),
        (b".", 'is not a name: it is empty, "." or ".."'),
        (b"..", 'is not a name: it is empty, "." or ".."'),
        (b"a/b", "is not a name: it has a slash or a NUL in it"),
        (b"/", "is not a name: it has a slash or a NUL in it"),
        (b"a\0", "is not a name: it has a slash or a NUL in it"),
        (LONGEST + b"n", "is longer than 255 bytes"),
        ("é".encode() * 128, "is longer than 255 bytes"),
        (b".wh.a", 'starts with ".wh.", which image layers use for deletions'),
        (b".wh..wh..opq", 'starts with ".wh.", which image layers use for deletions'),
        (b".wh.", 'starts with ".wh.", which image layers use for deletions'),
    ],
)
def test_a_name_that_no_tree_can_have_is_refused_with_the_reason(name, reason):
    with pytest.raises(PathError) as caught:
        check_name(name)

    assert (caught.value.path, caught.value.reason) == (display(name), reason)


@pytest.mark.parametrize(
    ("path", "parts"),
    [
        (b"a", (b"a",)),
        (b"a/b/c", (b"a", b"b", b"c")),
        (b".git/config", (b".git", b"config")),
        (b"a\\..\\b", (b"a\\..\\b",)),
        (b"~/a", (b"~", b"a")),
        (b"C:/a", (b"C:", b"a")),
    ],
)
def test_a_relative_path_is_split_at_its_slashes_and_nothing_is_folded(path, parts):
    assert split(path) == parts


@pytest.mark.conforms("fault 40")
@pytest.mark.parametrize(
    ("path", "reason"),
    [
        (b"/", "is absolute"),
        (b"/etc/passwd", "is absolute"),
        (b"//a", "is absolute"),
        (b"../x", 'has the segment \'..\', which is not a name: it is empty, "." or ".."'),
        (b"a/../../x", 'has the segment \'..\', which is not a name: it is empty, "." or ".."'),
        (b"a/..", 'has the segment \'..\', which is not a name: it is empty, "." or ".."'),
        (b"./a", 'has the segment \'.\', which is not a name: it is empty, "." or ".."'),
        (b"a//b", 'has the segment \'\', which is not a name: it is empty, "." or ".."'),
        (b"a/", 'has the segment \'\', which is not a name: it is empty, "." or ".."'),
        (b"a/b\0c", "has the segment 'b\\\\x00c', which is not a name: it has a slash or a NUL in it"),
        (b"a/" + LONGEST + b"n", f"has the segment '{'n' * 256}', which is longer than 255 bytes"),
        (b"", 'is not a name: it is empty, "." or ".."'),
        (b"..", 'is not a name: it is empty, "." or ".."'),
    ],
)
def test_a_path_that_is_not_plainly_relative_is_refused_with_the_reason(path, reason):
    with pytest.raises(PathError) as caught:
        split(path)

    assert (caught.value.path, caught.value.reason) == (display(path), reason)


@pytest.mark.conforms("fault 39")
@pytest.mark.parametrize(
    ("path", "target"),
    [
        (b"l", b"a"),
        (b"l", b"."),
        (b"l", b"missing/dangling"),
        (b"l", b"l"),
        (b"d/l", b".."),
        (b"d/l", b"../a"),
        (b"d/l", b"./../a/"),
        (b"d/e/l", b"../.."),
        (b"d/e/l", b"../../d/e"),
        (b"l", b"...."),
        (b"l", b"..a"),
        (b"l", b"\xff"),
    ],
)
def test_a_link_that_stays_in_its_tree_is_kept_as_it_is_written(path, target):
    assert check_link(split(path), target) == target


@pytest.mark.conforms("fault 39", "fault 40")
@pytest.mark.parametrize(
    ("path", "target"),
    [
        (b"l", b"/"),
        (b"l", b"/etc/passwd"),
        (b"l", b".."),
        (b"l", b"../x"),
        (b"l", b"./.."),
        (b"d/l", b"../.."),
        (b"d/l", b"../../d/a"),
        (b"d/e/l", b"../../.."),
    ],
)
def test_a_link_out_of_its_tree_is_refused_with_its_path_and_its_target(path, target):
    with pytest.raises(PathError) as caught:
        check_link(split(path), target)

    assert caught.value.path == display(path)
    assert caught.value.reason == f"is a symbolic link out of its tree, to {display(target)!r}"


@pytest.mark.conforms("fault 39", "fault 40")
@pytest.mark.parametrize("target", [b"a/..", b"a/../b", b"./a//..", b"a/../..", b"../a/../b"])
def test_a_link_that_goes_up_behind_a_name_is_refused_for_the_name_may_be_a_link(target):
    with pytest.raises(PathError) as caught:
        check_link((b"d", b"e", b"l"), target)

    assert caught.value.reason == f'is a symbolic link with ".." behind a name, to {display(target)!r}'


@pytest.mark.parametrize("target", [b"", b"a\0b"])
def test_a_link_to_nothing_or_with_a_nul_is_refused(target):
    with pytest.raises(PathError, match="'l' is a symbolic link with an empty target or a NUL in it"):
        check_link((b"l",), target)


@pytest.mark.parametrize(
    ("text", "root", "parts"),
    [
        ("a.txt", "workspace", (b"a.txt",)),
        ("src/é", "workspace", (b"src", b"\xc3\xa9")),
        ("~/.npmrc", "home", (b".npmrc",)),
        ("~/a/b", "home", (b"a", b"b")),
        ("a/~/b", "workspace", (b"a", b"~", b"b")),
        (".git/config", "workspace", (b".git", b"config")),
    ],
)
def test_a_destination_is_in_the_workspace_or_in_the_home_directory(text, root, parts):
    found = parse_destination(text)

    assert (found.root, found.parts, found.text) == (root, parts, text)


def test_a_destination_in_the_home_directory_is_not_the_one_of_that_name_in_the_workspace():
    assert parse_destination("~/a") != parse_destination("a")
    assert parse_destination("~/a") == Destination("home", (b"a",))


@pytest.mark.conforms("37", "fault 40")
@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("/etc/x", "is absolute"),
        ("../x", 'has the segment \'..\', which is not a name: it is empty, "." or ".."'),
        ("a/../b", 'has the segment \'..\', which is not a name: it is empty, "." or ".."'),
        ("~/../x", 'has the segment \'..\', which is not a name: it is empty, "." or ".."'),
        ("~/a/../..", 'has the segment \'..\', which is not a name: it is empty, "." or ".."'),
        ("a\\b", "has a backslash; use forward slashes"),
        ("..\\x", "has a backslash; use forward slashes"),
        ("~\\x", "has a backslash; use forward slashes"),
        ("", 'is not a name: it is empty, "." or ".."'),
        (".", 'is not a name: it is empty, "." or ".."'),
        ("..", 'is not a name: it is empty, "." or ".."'),
        ("a//b", 'has the segment \'\', which is not a name: it is empty, "." or ".."'),
        ("a/./b", 'has the segment \'.\', which is not a name: it is empty, "." or ".."'),
        ("a/", 'has the segment \'\', which is not a name: it is empty, "." or ".."'),
        ("~", 'starts with "~" but not with "~/"'),
        ("~root/x", 'starts with "~" but not with "~/"'),
        ("~/", 'is not a name: it is empty, "." or ".."'),
        ("~//x", "has an empty segment"),
        ("a\0", "is not a name: it has a slash or a NUL in it"),
        ("x/.wh.a", "has the segment '.wh.a', which starts with \".wh.\", which image layers use for deletions"),
        ("\ud800", "is not valid Unicode text"),
        ("~/\udfff", "is not valid Unicode text"),
    ],
)
def test_a_destination_with_no_single_meaning_is_refused_by_its_whole_path(text, reason):
    with pytest.raises(PathError) as caught:
        parse_destination(text)

    assert caught.value.reason == reason
    assert caught.value.path == display(text.encode("utf-8", "backslashreplace"))


@pytest.mark.parametrize(
    ("path", "shown"),
    [
        (b"plain/path", "plain/path"),
        ("é \U0001f600".encode(), "é \U0001f600"),
        (b"\xff\xfe", "\\xff\\xfe"),
        (b"a\nb\tc\x1b[31m", "a\\nb\\tc\\x1b[31m"),
        ("\u202egnp".encode(), "\\u202egnp"),
        (b"", ""),
    ],
)
def test_a_path_is_shown_as_one_line_of_printable_text(path, shown):
    assert display(path) == shown


def test_the_error_reads_as_one_clause_that_starts_with_the_path():
    assert str(PathError(b"a\nb", "is absolute")) == r"'a\\nb' is absolute"


@pytest.mark.parametrize(
    ("paths", "shown"),
    [
        (["a/B", "a/b"], ["a/B", "a/b"]),
        (["caf\u00e9", "cafe\u0301"], ["caf\\xe9", "cafe\\u0301"]),
        (["caf\u00e9", "CAF\u00c9"], ["caf\u00e9", "CAF\u00c9"]),
    ],
)
def test_paths_that_look_the_same_are_shown_apart(paths: list[str], shown: list[str]) -> None:
    assert display_apart([tuple(path.encode().split(b"/")) for path in paths]) == shown


def test_a_path_that_is_too_long_for_a_sentence_is_shown_without_its_middle() -> None:
    assert display_briefly(b"a" * 200) == "a" * 200
    assert display_briefly(b"a" * 150 + b"b" * 150) == "a" * 100 + "…" + "b" * 100
