from __future__ import annotations

import os.path
import posixpath
from contextlib import suppress

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from reeval_build.paths import PathError, check_link, check_name, display, parse_destination, split
from tests import strategies

_ROOT = b"/tree/of/some/depth"


@pytest.mark.conforms("fault 39", "fault 40", "68")
@given(strategies.paths, strategies.link_targets)
@example((b"d", b"l"), b"../../x")
@example((b"l",), b"d/e/../../..")
def test_a_link_is_accepted_exactly_when_it_stays_in_the_tree_and_goes_up_at_its_beginning_only(parts, target):
    above = posixpath.join(_ROOT, *parts[:-1])
    names = target.split(b"/")
    ways = [posixpath.normpath(b"/".join([above, *names[:count]])) for count in range(len(names) + 1)]
    stays = all(way == _ROOT or way.startswith(_ROOT + b"/") for way in ways)
    steps = [name for name in names if name not in {b"", b"."}]
    goes_up_later = b".." in [step for at, step in enumerate(steps) if set(steps[:at]) - {b".."}]

    try:
        check_link(parts, target)
    except PathError:
        accepted = False
    else:
        accepted = True

    assert accepted == (stays and not goes_up_later and bool(target) and not target.startswith(b"/"))


def test_no_two_accepted_links_lead_out_of_the_tree_together():
    """What the rule about the beginning is for: the kernel follows the first link inside the second."""
    links = {(b"a", b"b", b"up"): b"../..", (b"x",): b"a/b/up/../../etc/passwd"}
    accepted = []
    for parts, target in links.items():
        try:
            accepted.append((parts, check_link(parts, target)))
        except PathError:
            continue

    assert accepted == [((b"a", b"b", b"up"), b"../..")]


@given(strategies.accepted_links())
def test_what_an_accepted_link_resolves_to_by_its_text_is_in_the_tree(case):
    parts, target = case

    resolved = os.path.normpath(b"/".join([_ROOT, *parts[:-1], target]))

    assert (resolved + b"/").startswith(_ROOT + b"/")


@given(st.binary(max_size=300))
def test_a_path_that_is_accepted_is_what_its_names_are_joined_to_and_stays_below(path):
    with suppress(PathError):
        parts = split(path)
        assert b"/".join(parts) == path
        assert os.path.normpath(path) == path
        assert not path.startswith((b"/", b"../"))
        assert [check_name(name) for name in parts] == list(parts)


@given(st.text(max_size=20) | st.lists(st.sampled_from(["~", "..", ".", "a", "", "\\", "\ud800"])).map("/".join))
def test_a_destination_reads_back_as_itself(text):
    with suppress(PathError):
        found = parse_destination(text)
        assert found.root == ("home" if text.startswith("~/") else "workspace")
        assert b"/".join(found.parts).decode() == text.removeprefix("~/")
        assert parse_destination(text) == found


@given(st.binary())
def test_what_is_shown_is_one_line_that_can_be_printed(path):
    shown = display(path)

    assert shown.isprintable()
    assert (shown == "") == (path == b"")


@given(st.text(st.characters(codec="utf-8", categories=["L", "N", "P", "S", "Zs"], exclude_characters="\u3000")))
def test_printable_text_is_shown_as_it_is(text):
    if text.isprintable():
        assert display(text.encode()) == text
