from __future__ import annotations

import subprocess
import sys

import pytest

from tests.support.conformance import Held, UnknownBehaviourError, complaint, page

RULES = Held("tests/unit/model/test_refusals.py", "test_rules_are_refused")
PATHS = Held("tests/unit/test_paths.py", "TestPaths::test_a_path_is_refused")


def test_the_page_is_up_to_date_and_every_test_it_lists_is_there():
    done = subprocess.run(
        [sys.executable, "-m", "tests.support.conformance", "--check"], capture_output=True, text=True, check=False
    )

    assert done.returncode == 0, done.stderr


def test_a_behaviour_is_listed_with_the_tests_that_hold_it_and_with_a_dash_when_none_does():
    lines = page({"57": {RULES, PATHS}, "fault 40": {PATHS}}).splitlines()

    (fifty_seven,) = (line for line in lines if line.startswith("| 57 |"))
    assert fifty_seven.endswith(
        "| [`unit/model/test_refusals.py`](../../tests/unit/model/test_refusals.py) rules are refused <br> "
        "[`unit/test_paths.py`](../../tests/unit/test_paths.py) a path is refused |"
    )
    assert next(line for line in lines if line.startswith("| 58 |")).endswith("| - |")
    assert "1 of 128 are held by a test." in lines
    assert "1 of 46 are held by a test." in lines


@pytest.mark.parametrize("behaviour", ["129", "0", "fault 47", "F11", "exit 1", "message: nonsense", ""])
def test_a_mark_that_is_not_documented_is_refused_with_the_test_that_has_it(behaviour):
    with pytest.raises(UnknownBehaviourError) as caught:
        page({behaviour: {RULES}, "57": {PATHS}})

    assert f"{behaviour!r} on tests/unit/model/test_refusals.py::test_rules_are_refused" in str(caught.value)
    assert "test_paths" not in str(caught.value)


def test_a_page_that_lists_a_test_that_is_not_there_names_it():
    kept, made = page({"57": {RULES, PATHS}}), page({"57": {PATHS}})

    found = complaint(kept, made)

    assert found is not None
    assert "unit/model/test_refusals.py: rules are refused" in found
    assert "a path is refused" not in found


def test_a_page_without_a_new_test_is_out_of_date():
    found = complaint(page({}), page({"57": {RULES}}))

    assert found is not None
    assert "docs/reference/conformance.md is out of date" in found


def test_the_page_that_would_be_made_is_fine():
    assert complaint(page({"57": {RULES}}), page({"57": {RULES}})) is None
