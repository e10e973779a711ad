"""The node of a harness: where it stands, what enters its key, and the command that installs a package."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Any

import attrs
import pytest

from reeval_build import define_environment, docker, fake_sandbox
from reeval_build.errors import InfraError
from reeval_build.model.harness_recipes import HarnessRecipe
from reeval_build.plan import harnesses
from reeval_build.plan.harnesses import HarnessInstall, npm_install, own_install
from reeval_build.plan.locks import LockedHarness
from reeval_build.plan.work import HarnessWork, joined
from tests.support.plans import cell, graph_of, node, nodes

if TYPE_CHECKING:
    from reeval_build.model.cells import Cell

RECIPE = HarnessRecipe(kind="codex", package="@openai/codex", version="latest", smoke="codex --version")
LOCKED = LockedHarness(package="@openai/codex", requested="latest", version="1.2.3", integrity=f"sha512-{'A' * 86}==")
CODEX = npm_install(RECIPE, LOCKED)
PI = own_install(HarnessRecipe(kind="pi", version="7", install=("make pi",), smoke="pi --version"))
INSTALLED = {"codex": CODEX, "pi": PI}
SANDBOX = docker(from_="x:1", install=["i"])


def one(spec: dict[str, Any] | None = None, harness: str = "codex", *, name: str = "e") -> Cell:
    written: Any = {"sandbox": SANDBOX, **(spec or {})}
    return cell(define_environment(name, written), harness)


def planned(*cells, harnesses=INSTALLED):
    return graph_of(*cells, harnesses=harnesses)


@pytest.mark.conforms("fault 17")
def test_it_stands_on_the_install_steps_and_everything_else_on_it():
    graph = planned(one({"rules": "r", "setup": ["s"]}))

    harness = node(graph, "harness")
    assert [(parent.role, graph.nodes[parent.recipe].phase) for parent in harness.parents] == [("state", "install")]
    assert node(graph, "root").parents[0].recipe == harness.recipe
    assert harness.label == "codex 1.2.3"


@pytest.mark.conforms("56")
def test_cells_of_one_kind_and_version_share_it_and_other_kinds_have_their_own():
    graph = planned(one(), one({"rules": "r"}, name="other"), one(harness="pi"))

    assert [found.label for found in nodes(graph, "harness")] == ["codex 1.2.3", "pi 7"]
    assert len(nodes(graph, "install")) == 1


@pytest.mark.parametrize(
    "changed",
    [
        {"kind": "pi"},
        {"version": "1.2.4"},
        {"version": None},
        {"install": ("other",)},
        {"install": (*CODEX.install, "more")},
        {"smoke": "codex --help"},
    ],
    ids=lambda changed: next(iter(changed)),
)
def test_kind_version_and_commands_are_in_its_key(changed):
    before, after = (
        planned(one(), harnesses={"codex": install}) for install in (CODEX, attrs.evolve(CODEX, **changed))
    )

    assert node(before, "harness").recipe != node(after, "harness").recipe
    assert node(before, "snapshot").recipe != node(after, "snapshot").recipe


@pytest.mark.conforms("fault 3")
def test_an_edit_of_the_script_of_ours_that_installs_packages_is_another_node(monkeypatch):
    before = planned(one())
    monkeypatch.setattr(harnesses, "_NPM_INSTALL", f"{harnesses._NPM_INSTALL}true\n")  # noqa: SLF001 - it is nowhere else

    after = planned(one(), harnesses={"codex": npm_install(RECIPE, LOCKED)})

    assert node(before, "harness").recipe != node(after, "harness").recipe
    assert node(before, "snapshot").recipe != node(after, "snapshot").recipe


def test_its_time_limit_and_how_it_was_asked_for_are_not():
    asked = attrs.evolve(LOCKED, requested="1.2.3")
    other = npm_install(attrs.evolve(RECIPE, version="1.2.3", timeout_s=1.0), asked)

    before, after = (planned(one(), harnesses={"codex": install}) for install in (CODEX, other))

    assert before.nodes.keys() == after.nodes.keys()


def test_another_image_below_is_another_node():
    before, after = (planned(one({"sandbox": docker(from_=image)})) for image in ("x:1", "y:1"))

    assert node(before, "harness").recipe != node(after, "harness").recipe


@pytest.mark.parametrize(
    "found",
    [one(harness="fake"), one(harness="goose"), one({"sandbox": fake_sandbox()})],
    ids=["the fake harness", "a kind that is not installed", "the fake sandbox"],
)
def test_where_there_is_none(found):
    graph = planned(found)

    assert nodes(graph, "harness") == []
    assert graph.nodes.keys() == graph_of(found).nodes.keys()


def test_one_that_cannot_be_had_fails_its_cells_alone():
    problem = InfraError("no registry")

    graph = planned(one(), one(harness="pi"), harnesses={**INSTALLED, "codex": problem})

    broken = [found for found in graph.nodes.values() if found.problem]
    assert [(found.phase, found.label, found.problem) for found in broken] == [("harness", "codex", problem)]
    assert graph.cells_of[broken[0].recipe] == ("e@codex",)


def test_two_cells_of_one_wait_for_the_longer_limit():
    first, second = (HarnessWork(install=attrs.evolve(PI, timeout_s=limit), engine="docker") for limit in (1.0, 2.0))

    for both in (joined(first, second), joined(second, first)):
        assert isinstance(both, HarnessWork)
        assert both.install.timeout_s == 2.0


def test_the_command_pins_the_version_and_has_no_word_that_is_not_quoted():
    (command,) = CODEX.install

    words = shlex.split(command)
    assert words.count("@openai/codex@1.2.3") == 2
    assert words.count(LOCKED.integrity) == 1
    assert CODEX.needs == "npm"


def test_what_has_no_version_is_called_by_its_kind():
    install = HarnessInstall(kind="fx", version=None, install=("i",), smoke="s", timeout_s=1.0)

    assert install.label == "fx"
