"""What is not built yet is refused, by its name, after everything else was right."""

from __future__ import annotations

from typing import Any

import pytest

from reeval_build import define_environment, docker, podman, step
from reeval_build.errors import DefinitionError
from reeval_build.model.support import UNSUPPORTED


def problems(spec: Any) -> tuple[str, ...]:
    with pytest.raises(DefinitionError) as caught:
        define_environment("e", spec)
    return caught.value.problems


CASES: list[tuple[dict[str, Any], str, str]] = [
    ({"sandbox": podman()}, "podman()", "; docker() with the same options is"),
]


@pytest.mark.parametrize(("spec", "name", "way_out"), CASES, ids=[name for _spec, name, _way_out in CASES])
def test_what_is_not_built_yet_is_refused_by_its_name(spec, name, way_out):
    assert problems(spec) == (
        f'{name} in defineEnvironment("e") is not supported by this version of reeval-build yet{way_out}',
    )


def test_every_entry_of_the_table_is_among_these():
    assert len({name for _spec, name, _way_out in CASES}) == len(UNSUPPORTED)


def test_other_mistakes_come_first():
    (problem,) = problems({"sandbox": podman(), "rules": 3})

    assert problem.startswith("rules ")


def test_what_says_nothing_is_accepted():
    define_environment(
        "e",
        {
            "egress": "deny-all",
            "sandbox": docker(engine="docker", root=False),
            "setup": [step("a", timeout="1m", cwd="b")],
        },
    )


def test_a_parent_is_not_refused_again_in_its_child():
    with pytest.raises(DefinitionError) as caught:
        define_environment("p", {}).extend("c", {"sandbox": podman()})

    assert 'defineEnvironment("c")' in str(caught.value)
