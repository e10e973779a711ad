"""Names that some file systems take for one."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reeval_build.digest import BLOB
from reeval_build.tree.directory import Entry
from reeval_build.tree.twins import folded, twins, twins_below
from tests.support.directories import Directories

FILE = Entry.file(BLOB.digest(b""), 0, executable=False)
COMPOSED, DECOMPOSED = "caf\u00e9".encode(), "cafe\u0301".encode()


@pytest.mark.parametrize(
    ("names", "found"),
    [
        ([b"a", b"b", b"ab", b"a b"], []),
        ([b"README", b"Readme", b"x"], [(b"README", b"Readme")]),
        ([DECOMPOSED, COMPOSED], [(DECOMPOSED, COMPOSED)]),
        ([COMPOSED, DECOMPOSED.upper(), b"a", b"A"], [(b"A", b"a"), (DECOMPOSED.upper(), COMPOSED)]),
        (["straße".encode(), b"STRASSE"], [(b"STRASSE", "straße".encode())]),
        ([b"caf\xe9", b"CAF\xe9"], [(b"CAF\xe9", b"caf\xe9")]),
        # Bytes that are not UTF-8 are no letters: these differ in more than case.
        ([b"caf\xe9", b"caf\xc9"], []),
        ([b"a\nb", b"A\nB"], [(b"A\nB", b"a\nb")]),
        ([], []),
    ],
    ids=repr,
)
def test_twins_are_found_in_a_directory(names: list[bytes], found: list[tuple[bytes, ...]]) -> None:
    assert twins(names) == found
    assert twins(names[::-1]) == found


def test_twins_are_found_wherever_they_are_in_a_tree() -> None:
    directories = Directories()
    clean = directories.keep({b"x": FILE})
    root = directories.keep(
        {b"D": {b"x": FILE}, b"d": {b"e": {b"F": FILE, b"f": FILE}, b"E": FILE, b"clean": {b"y": {b"z": FILE}}}}
    )

    found = twins_below(root, directories.load)

    assert found.groups == (((), (b"D", b"d")), ((b"d",), (b"E", b"e")), ((b"d", b"e"), (b"F", b"f")))
    assert found.without == {
        clean,
        directories.keep({b"y": {b"z": FILE}}),
        directories.keep({b"z": FILE}),
    }


def test_what_is_known_to_have_none_is_not_loaded_again() -> None:
    directories = Directories()
    before = directories.keep({b"a": {b"b": {b"x": FILE}}, b"c": {b"x": FILE, b"y": FILE}})
    known = twins_below(before, directories.load).without
    after = directories.keep({b"a": {b"b": {b"x": FILE}}, b"c": {b"x": FILE, b"X": FILE}})
    directories.loaded.clear()

    found = twins_below(after, directories.load, lambda digests: known & set(digests))

    assert found.groups == (((b"c",), (b"X", b"x")),)
    assert directories.loaded == [after, directories.keep({b"x": FILE, b"X": FILE})]


names = st.sets(st.binary(min_size=1, max_size=4) | st.text(min_size=1, max_size=3).map(str.encode), max_size=9)


@given(names)
def test_names_are_twins_exactly_when_they_fold_alike(several: set[bytes]) -> None:
    found = twins(several)

    assert {name for group in found for name in group} == {
        name for name in several if any(folded(name) == folded(other) for other in several - {name})
    }
    assert all(len({folded(name) for name in group}) == 1 for group in found)


@given(st.text(max_size=9))
def test_a_name_folds_as_all_its_forms_do(text: str) -> None:
    alike = {text, text.casefold(), *(unicodedata.normalize(form, text) for form in ("NFC", "NFD"))}

    assert len({folded(one.encode()) for one in alike}) == 1
