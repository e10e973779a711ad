from __future__ import annotations

from typing import Any

import pytest

from reeval_build import define_environment
from reeval_build.errors import DefinitionError

BASE = define_environment("base", {})


@pytest.mark.conforms("1")
@pytest.mark.parametrize("name", ["base", "a", "9x", "a.b_c@d+e-f", "A", "0", "a" * 300, "a.", "a@"])
def test_letters_digits_and_a_few_signs_make_a_name(name):
    assert define_environment(name, {}).name == name
    assert BASE.extend(name, {}).name == name


@pytest.mark.conforms("2", "message: name")
@pytest.mark.parametrize(
    ("name", "got"),
    [
        ("my env", '"my env"'),
        ("", '""'),
        ("-a", '"-a"'),
        (".a", '".a"'),
        ("_a", '"_a"'),
        ("@a", '"@a"'),
        ("+a", '"+a"'),
        ("a/b", '"a/b"'),
        ("é", '"é"'),
        ("aé", '"aé"'),
        ("a\n", '"a\\n"'),
        ("a:b", '"a:b"'),
        ("a\u0661", '"a\u0661"'),
        (None, "null"),
        (3, "3"),
        (True, "true"),
        (b"a", '"<bytes>"'),
        (["a"], '["a"]'),
        ({"name": "a"}, '{"name":"a"}'),
    ],
)
def test_any_other_name_is_refused_by_what_it_is(name, got):
    expected = f'defineEnvironment needs a name of letters, digits, ".", "_", "@", "+" or "-" (got {got})'

    for define in (define_environment, BASE.extend):
        with pytest.raises(DefinitionError) as caught:
            define(name, {})
        assert caught.value.problems == (expected,)


def test_a_bad_name_is_reported_before_anything_else():
    spec: Any = {"steps": [], "image": "x"}
    with pytest.raises(DefinitionError) as caught:
        define_environment("my env", spec)

    assert [problem.partition(" ")[0] for problem in caught.value.problems] == [
        "defineEnvironment",
        '"image"',
        "Unknown",
    ]


def test_a_name_that_is_no_text_is_the_only_mistake_that_can_be_named():
    name: Any = 3
    spec: Any = {"steps": []}
    with pytest.raises(DefinitionError) as caught:
        define_environment(name, spec)

    assert len(caught.value.problems) == 1
