from __future__ import annotations

import pytest

from reeval_build.digest import BLOB
from reeval_build.paths import PathError
from reeval_build.tree.directory import EMPTY, Entry, tree_digest
from reeval_build.tree.draft import Draft
from tests.support.directories import Directories, Model

FILE = Entry.file(BLOB.digest(b"one"), 3)
OTHER = Entry.file(BLOB.digest(b"two"), 3)
SCRIPT = Entry.file(BLOB.digest(b"one"), 3, executable=True)
LINK = Entry.symlink(b"a")


@pytest.fixture
def kept() -> Directories:
    return Directories()


def draft(kept: Directories, model: Model) -> Draft:
    return Draft(kept.load, kept.keep(model))


def test_an_untouched_draft_of_nothing_is_the_empty_tree(kept):
    assert Draft(kept.load).save(kept.save) == tree_digest(EMPTY)


def test_an_untouched_draft_is_the_tree_it_began_as_and_saves_nothing(kept):
    root = kept.keep({b"d": {b"a": FILE}})
    kept.saved.clear()

    assert Draft(kept.load, root).save(kept.save) == root
    assert kept.saved == []


def test_a_put_file_is_there_with_every_directory_above_it(kept):
    edited = Draft(kept.load)

    edited.put((b"x", b"y", b"a"), FILE)

    assert edited.get((b"x", b"y", b"a")) == FILE
    assert kept.read(edited.save(kept.save)) == {b"x": {b"y": {b"a": FILE}}}


def test_a_put_file_takes_the_place_of_a_file_or_link(kept):
    edited = draft(kept, {b"a": FILE, b"l": LINK})

    edited.put((b"a",), LINK)
    edited.put((b"l",), OTHER)

    assert kept.read(edited.save(kept.save)) == {b"a": LINK, b"l": OTHER}


def test_a_put_that_changes_nothing_saves_nothing(kept):
    root = kept.keep({b"d": {b"a": FILE}})
    edited = Draft(kept.load, root)

    edited.put((b"d", b"a"), FILE)

    assert edited.save(kept.save) == root
    assert kept.saved == []


def test_an_executable_bit_alone_is_a_change(kept):
    edited = draft(kept, {b"a": FILE})

    edited.put((b"a",), SCRIPT)

    assert kept.read(edited.save(kept.save)) == {b"a": SCRIPT}


def test_a_put_never_replaces_a_directory(kept):
    edited = draft(kept, {b"d": {b"a": FILE}})

    with pytest.raises(PathError, match="'d' would replace a directory"):
        edited.put((b"d",), FILE)

    assert kept.read(edited.save(kept.save)) == {b"d": {b"a": FILE}}


@pytest.mark.conforms("68", "fault 39", "fault 40")
@pytest.mark.parametrize("blocker", [FILE, LINK], ids=["file", "link"])
def test_a_put_never_goes_through_a_file_or_a_link(kept, blocker):
    edited = draft(kept, {b"d": {b"a": blocker}})

    with pytest.raises(PathError, match="'d/a/x/y' goes through 'd/a', which is not a directory"):
        edited.put((b"d", b"a", b"x", b"y"), FILE)

    assert kept.read(edited.save(kept.save)) == {b"d": {b"a": blocker}}


def test_a_replacement_takes_the_place_of_anything_and_anything_above_it(kept):
    edited = draft(kept, {b"d": {b"a": FILE}, b"f": FILE, b"l": LINK})

    edited.replace((b"d",), OTHER)
    edited.replace((b"f", b"x", b"y"), OTHER)
    edited.replace((b"l", b"x"), LINK)

    assert kept.read(edited.save(kept.save)) == {b"d": OTHER, b"f": {b"x": {b"y": OTHER}}, b"l": {b"x": LINK}}


def test_a_replaced_directory_does_not_come_back_with_what_was_in_it(kept):
    edited = draft(kept, {b"d": {b"a": FILE}})

    edited.put((b"d", b"b"), FILE)
    edited.replace((b"d",), OTHER)
    edited.replace((b"d", b"c"), FILE)

    assert kept.read(edited.save(kept.save)) == {b"d": {b"c": FILE}}


def test_room_is_made_in_place_of_files_and_a_directory_keeps_what_is_in_it(kept):
    edited = draft(kept, {b"d": {b"a": FILE}, b"f": FILE})

    edited.make_room((b"d",))
    edited.make_room((b"f", b"x"))

    assert kept.read(edited.save(kept.save)) == {b"d": {b"a": FILE}, b"f": {b"x": {}}}


def test_a_made_directory_is_kept_though_it_is_empty(kept):
    edited = Draft(kept.load)

    edited.make_directory((b"d", b"e"))

    assert kept.read(edited.save(kept.save)) == {b"d": {b"e": {}}}


def test_a_directory_is_not_made_in_place_of_a_file(kept):
    edited = draft(kept, {b"a": FILE})

    with pytest.raises(PathError):
        edited.make_directory((b"a",))


def test_removing_takes_a_file_or_a_whole_directory_and_nothing_is_no_matter(kept):
    edited = draft(kept, {b"a": FILE, b"d": {b"x": FILE, b"e": {b"y": FILE}}, b"k": FILE})

    edited.remove((b"a",))
    edited.remove((b"d",))
    edited.remove((b"never",))
    edited.remove((b"never", b"there"))
    edited.remove((b"k", b"below a file"))

    assert kept.read(edited.save(kept.save)) == {b"k": FILE}


def test_a_directory_whose_last_file_is_removed_stays(kept):
    edited = draft(kept, {b"d": {b"a": FILE}})

    edited.remove((b"d", b"a"))

    assert kept.read(edited.save(kept.save)) == {b"d": {}}


def test_clearing_empties_a_directory_or_makes_an_empty_one(kept):
    edited = draft(kept, {b"d": {b"a": FILE, b"e": {b"x": FILE}}, b"f": FILE})

    edited.clear((b"d",))
    edited.clear((b"f",))
    edited.clear((b"n", b"m"))

    assert kept.read(edited.save(kept.save)) == {b"d": {}, b"f": {}, b"n": {b"m": {}}}


def test_clearing_the_root_leaves_the_empty_tree(kept):
    edited = draft(kept, {b"d": {b"a": FILE}})

    edited.clear(())

    assert edited.save(kept.save) == tree_digest(EMPTY)


@pytest.mark.conforms("43")
def test_an_overlay_wins_where_both_have_a_file_and_adds_the_rest(kept):
    edited = draft(kept, {b"a": FILE, b"d": {b"x": FILE, b"y": FILE}})
    over = kept.keep({b"a": OTHER, b"d": {b"y": OTHER, b"z": LINK}, b"n": {}})

    edited.overlay(over)

    assert kept.read(edited.save(kept.save)) == {b"a": OTHER, b"d": {b"x": FILE, b"y": OTHER, b"z": LINK}, b"n": {}}


@pytest.mark.parametrize(
    ("under", "over"),
    [({b"a": FILE}, {b"a": {b"x": FILE}}), ({b"a": {b"x": FILE}}, {b"a": FILE}), ({b"a": LINK}, {b"a": {}})],
    ids=["directory over file", "file over directory", "directory over link"],
)
def test_an_overlay_never_turns_a_file_into_a_directory_or_back(kept, under, over):
    edited = draft(kept, under)

    with pytest.raises(PathError):
        edited.overlay(kept.keep(over))


def test_only_what_a_change_touches_is_loaded_and_only_what_changed_is_saved(kept):
    root = kept.keep({name: {b"sub": {b"a": FILE}} for name in (b"b", b"c", b"d")})
    edited = Draft(kept.load, root)

    edited.put((b"c", b"sub", b"new"), FILE)
    edited.save(kept.save)

    assert len(kept.loaded) == 3
    assert len(kept.saved) == 3


def test_looking_for_what_is_not_there_finds_nothing(kept):
    edited = draft(kept, {b"a": FILE, b"d": {}})

    assert edited.get((b"n",)) is None
    assert edited.get((b"n", b"x")) is None
    assert edited.get((b"a", b"x")) is None
    assert edited.get((b"d", b"x")) is None


def test_a_draft_can_be_changed_and_saved_again(kept):
    edited = draft(kept, {b"d": {b"a": FILE}})
    edited.put((b"d", b"b"), FILE)
    first = edited.save(kept.save)

    edited.put((b"d", b"c"), FILE)

    assert kept.read(edited.save(kept.save)) == {b"d": {b"a": FILE, b"b": FILE, b"c": FILE}}
    assert kept.read(first) == {b"d": {b"a": FILE, b"b": FILE}}


def test_a_tree_deeper_than_the_stack_is_saved(kept):
    edited = Draft(kept.load)
    parts = (b"d",) * 2000

    edited.put((*parts, b"a"), FILE)
    root = edited.save(kept.save)

    assert Draft(kept.load, root).get((*parts, b"a")) == FILE
