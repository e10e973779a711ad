"""Steps that see only what they declare: what enters their key, and what they leave of the whole."""

from __future__ import annotations

import attrs
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from reeval_build.digest import BLOB
from reeval_build.paths import PathError
from reeval_build.state.delta import DeltaEntry, DeltaKind, decode, encode
from reeval_build.state.narrow import on_the_whole, outside, selected
from reeval_build.state.workspace import apply_entries
from reeval_build.tree.directory import Entry
from reeval_build.tree.draft import Draft
from tests import strategies
from tests.support.differences import delta_between
from tests.support.directories import Directories, Model, at, directories, leaves

PLACE = (b"workspace",)


@st.composite
def declared(draw: st.DrawFn, whole: Model) -> list[tuple[bytes, ...]]:
    """Some paths of a tree."""
    there = sorted({parts for parts, _entry in leaves(whole)} | set(directories(whole)))
    return draw(st.lists(st.sampled_from(there), max_size=3)) if there else []


def part_of(kept: Directories, whole: Model, paths) -> Model:
    return kept.read(selected(kept.keep(whole), paths, kept.load).save(kept.save))


def is_declared(parts, paths) -> bool:
    return any(parts[: len(path)] == path for path in paths)


@given(strategies.trees, st.data())
def test_what_is_selected_is_what_was_declared_and_nothing_else(whole, data):
    paths = data.draw(declared(whole))

    seen = part_of(Directories(), whole, paths)

    assert dict(leaves(seen)) == {parts: entry for parts, entry in leaves(whole) if is_declared(parts, paths)}
    above = {path[:length] for path in paths for length in range(1, len(path))}
    wanted = {parts for parts in directories(whole) if is_declared(parts, paths)} | above
    assert set(directories(seen)) == wanted


@given(strategies.trees, st.data())
def test_nothing_that_was_not_declared_changes_what_is_selected(whole, data):
    paths, kept = data.draw(declared(whole)), Directories()
    changed = Draft(kept.load, kept.keep(whole))
    for parts, _entry in leaves(whole):
        if not is_declared(parts, paths) and data.draw(st.booleans()):
            changed.replace(parts, data.draw(strategies.leaves))
    changed.replace((b"new",), data.draw(strategies.leaves))
    assume(not is_declared((b"new",), paths))

    assert selected(changed.save(kept.save), paths, kept.load).save(kept.save) == kept.keep(part_of(kept, whole, paths))


@given(strategies.trees, strategies.near_paths)
def test_a_path_that_is_not_there_is_named(whole, path):
    assume(at(whole, path) is None)
    kept = Directories()

    with pytest.raises(PathError) as caught:
        selected(kept.keep(whole), [path], kept.load)

    assert caught.value.path == b"/".join(path).decode()


def expected(whole: Model, seen: Model, left: Model) -> Model:
    """The whole, once what a step made of what it saw is put on it, said in the plainest way."""
    result: Model = {}
    for name in whole.keys() | left.keys():
        old, known, new = whole.get(name), seen.get(name), left.get(name)
        if isinstance(new, dict):
            result[name] = expected(old if isinstance(old, dict) else {}, known if isinstance(known, dict) else {}, new)
        elif new is not None:
            result[name] = new
        elif old is not None and (rest := _without(old, known)) is not None:
            result[name] = rest
    return result


def _without(old: Entry | Model, known: Entry | Model | None) -> Entry | Model | None:
    """What is left of something when all that was seen of it is gone; None is nothing."""
    if known is None:
        return old
    if not isinstance(old, dict) or not isinstance(known, dict) or old == known:
        return None
    below = {name: _without(item, known.get(name)) for name, item in old.items()}
    return {name: item for name, item in below.items() if item is not None}


def said_of_trees(entry: DeltaEntry) -> DeltaEntry:
    """An entry as a tree has it: what no tree can have is a deletion."""
    in_trees = {DeltaKind.FILE, DeltaKind.HARD_LINK, DeltaKind.SYMLINK, DeltaKind.DIRECTORY}
    return entry if entry.kind in in_trees else DeltaEntry(parts=entry.parts, kind=DeltaKind.DELETED)


@given(strategies.trees, strategies.trees, st.data())
def test_what_a_step_leaves_of_the_whole_is_what_it_made_of_what_it_saw_and_all_that_it_did_not_see(whole, left, data):
    kept, paths = Directories(), data.draw(declared(whole))
    seen = part_of(kept, whole, paths)
    step = [said_of_trees(entry) for entry in delta_between(seen, left, at=PLACE, draw=data.draw)]

    entries = on_the_whole(step, PLACE, seen=kept.keep(seen), whole=kept.keep(whole), load=kept.load)

    draft = Draft(kept.load, kept.keep(whole))
    apply_entries(draft, PLACE, decode(*encode(entries)))
    assert kept.read(draft.save(kept.save)) == expected(whole, seen, left)


_operations = st.lists(
    st.tuples(st.just("write"), strategies.near_paths, strategies.leaves)
    | st.tuples(st.just("remove"), strategies.near_paths, st.none()),
    max_size=5,
)


@given(strategies.trees, _operations, st.data())
def test_a_step_that_reads_only_what_it_declares_leaves_what_it_would_leave_on_the_whole(whole, operations, data):
    kept, paths = Directories(), data.draw(declared(whole))
    seen, before = kept.keep(part_of(kept, whole, paths)), kept.keep(whole)

    def after(tree):
        draft = Draft(kept.load, tree)
        for what, parts, entry in operations:
            if what == "write":
                # Where the whole has a directory that it has not seen, its file would not be written on the whole.
                if not isinstance(at(whole, parts), dict) or is_declared(parts, paths):
                    draft.replace(parts, entry)
            elif isinstance(at(whole, parts), Entry) and is_declared(parts, paths):
                draft.remove(parts)
        return draft.save(kept.save)

    step = delta_between(kept.read(seen), kept.read(after(seen)), at=PLACE, draw=data.draw)
    entries = on_the_whole(map(said_of_trees, step), PLACE, seen=seen, whole=before, load=kept.load)

    draft = Draft(kept.load, before)
    apply_entries(draft, PLACE, entries)
    assert kept.read(draft.save(kept.save)) == kept.read(after(before))


@given(strategies.trees, strategies.trees, st.data())
def test_a_step_that_declares_everything_leaves_what_it_leaves_without_declaring_anything(whole, left, data):
    kept = Directories()
    step = [said_of_trees(entry) for entry in delta_between(whole, left, at=PLACE, draw=data.draw)]
    tree = kept.keep(whole)

    draft = Draft(kept.load, tree)
    apply_entries(draft, PLACE, on_the_whole(step, PLACE, seen=tree, whole=tree, load=kept.load))

    assert kept.read(draft.save(kept.save)) == left


@given(strategies.deltas)
def test_what_is_outside_is_said_as_it_was_and_nothing_of_what_is_inside(entries):
    placed = [attrs.evolve(entry, parts=(data_root(entry), *entry.parts)) for entry in entries]

    kept = outside(PLACE, placed)

    assert {entry.parts for entry in kept} == {entry.parts for entry in placed if entry.parts[0] != PLACE[0]}
    assert not any(
        (entry.target or b"").startswith(b"workspace/") for entry in kept if entry.kind is DeltaKind.HARD_LINK
    )
    assert decode(*encode(kept)) == kept


def data_root(entry: DeltaEntry) -> bytes:
    """The workspace or another place, by chance."""
    return PLACE[0] if len(entry.parts) % 2 else b"usr"


def test_hard_links_to_one_file_inside_are_links_to_each_other_outside():
    def link(name: bytes) -> DeltaEntry:
        digest = BLOB.digest(b"x")
        return DeltaEntry(
            parts=(b"usr", name), kind=DeltaKind.HARD_LINK, mode=0o755, digest=digest, size=1, target=b"workspace/f"
        )

    first, second = outside(PLACE, [link(b"a"), link(b"b")])

    assert (first.kind, first.target, first.mode) == (DeltaKind.FILE, None, 0o755)
    assert (second.kind, second.target) == (DeltaKind.HARD_LINK, b"usr/a")


@pytest.mark.parametrize("opaque", [False, True])
def test_a_workspace_that_was_emptied_keeps_what_was_not_seen(opaque):
    kept = Directories()
    whole: Model = {b"a": Entry.symlink(b"x"), b"b": Entry.symlink(b"y")}
    seen = kept.keep({b"a": Entry.symlink(b"x")})
    step = [DeltaEntry(parts=PLACE, kind=DeltaKind.DIRECTORY, mode=0o755, opaque=opaque)]

    draft = Draft(kept.load, kept.keep(whole))
    apply_entries(draft, PLACE, on_the_whole(step, PLACE, seen=seen, whole=kept.keep(whole), load=kept.load))

    assert kept.read(draft.save(kept.save)) == ({b"b": whole[b"b"]} if opaque else whole)
