from __future__ import annotations

import subprocess
import sys

import pytest

from tests.support.conformance import (
    Documented,
    Held,
    UnaccountedBehaviourError,
    UnknownBehaviourError,
    check,
    complaint,
    page,
)

RULES = Held("tests/unit/model/test_refusals.py", "test_rules_are_refused")
PATHS = Held("tests/unit/test_paths.py", "TestPaths::test_a_path_is_refused")
SECTIONS = {
    "The model": {"57": ("57", "rules"), "58": ("58", "a <ref>")},
    "Faults": {"fault 40": ("40", "a | path")},
}


def documented(**not_held: str) -> Documented:
    return Documented(SECTIONS, {name.replace("_", " ").strip(): reason for name, reason in not_held.items()})


def made(**not_held: str) -> str:
    """The page on which all but those is held by one test."""
    held = {behaviour: {RULES} for section in SECTIONS.values() for behaviour in section}
    said = documented(**not_held)
    return page({name: tests for name, tests in held.items() if name not in said.not_held}, said)


def test_the_page_is_up_to_date_and_every_test_it_lists_is_there():
    done = subprocess.run(
        [sys.executable, "-m", "tests.support.conformance", "--check"], capture_output=True, text=True, check=False
    )

    assert done.returncode == 0, done.stderr


def test_a_behaviour_is_listed_with_the_tests_that_hold_it_or_with_the_reason_why_none_does():
    lines = page({"57": {RULES, PATHS}, "fault 40": {PATHS}}, documented(_58="not built yet")).splitlines()

    (fifty_seven,) = (line for line in lines if line.startswith("| 57 |"))
    assert fifty_seven.endswith(
        "| [`unit/model/test_refusals.py`](../../tests/unit/model/test_refusals.py) rules are refused <br> "
        "[`unit/test_paths.py`](../../tests/unit/test_paths.py) a path is refused |"
    )
    assert "| 58 | a &lt;ref> | not built yet |" in lines
    assert "1 of 2 are held by a test." in lines
    assert "1 of 1 are held by a test." in lines


def test_what_has_a_test_or_a_reason_is_accounted_for():
    check({"57": {RULES}, "fault 40": {PATHS}}, documented(_58="not built yet"))


def test_what_has_neither_or_both_is_named():
    with pytest.raises(UnaccountedBehaviourError) as caught:
        check({"57": {RULES}}, documented(_57="not built yet", fault_40="out of scope"))

    assert str(caught.value).splitlines() == [
        "'58' has no test: mark one, or say why not in [not-held] of tests/support/documented.toml",
        "'57' has a test: take it out of [not-held] of tests/support/documented.toml",
    ]


@pytest.mark.parametrize("behaviour", ["129", "0", "fault 47", "F11", "exit 1", "message: nonsense", ""])
def test_a_mark_that_is_not_documented_is_refused_with_the_test_that_has_it(behaviour):
    with pytest.raises(UnknownBehaviourError) as caught:
        check({behaviour: {RULES}, "57": {PATHS}}, Documented.read())

    assert f"{behaviour!r} on tests/unit/model/test_refusals.py::test_rules_are_refused" in str(caught.value)
    assert "test_paths" not in str(caught.value)


def test_a_reason_for_what_is_not_documented_is_refused():
    with pytest.raises(UnknownBehaviourError, match=r"'129' in \[not-held\]"):
        check({}, documented(_129="no such thing"))


def test_a_page_that_lists_a_test_that_is_not_there_names_it():
    said = documented(_58="-", fault_40="-")
    kept, now = page({"57": {RULES, PATHS}}, said), page({"57": {PATHS}}, said)

    found = complaint(kept, now)

    assert found is not None
    assert "unit/model/test_refusals.py: rules are refused" in found
    assert "a path is refused" not in found


def test_a_page_without_a_new_test_is_out_of_date():
    found = complaint(made(_57="not built yet"), made())

    assert found is not None
    assert "docs/reference/conformance.md is out of date" in found


def test_the_page_that_would_be_made_is_fine():
    assert complaint(made(), made()) is None
