from __future__ import annotations

import asyncio
import gc
import inspect
from typing import Any

import attrs
import pytest
from attrs.exceptions import FrozenInstanceError

import reeval_build
from reeval_build import define_environment, docker, file, git
from reeval_build.errors import DefinitionError
from reeval_build.model.environment import Environment, Helpers
from reeval_build.model.spec import DockerSandbox, GitWorkspace, HostFile, SetupStep

FULL: Any = {
    "sandbox": docker(from_="x:1", install=["i"]),
    "workspace": git("github:o/r", ref="v1.0.0"),
    "env": {"A": "1"},
    "files": {"a": "x", "b": {"kind": "file", "path": "b"}},
    "rules": "# r",
    "setup": ["a", {"run": "b", "cwd": "c", "timeout": 5}],
}


@pytest.mark.conforms("1")
def test_an_environment_without_fields_leaves_everything_alone():
    (layer,) = define_environment("base", {}).layers

    assert layer.name == "base"
    assert set(attrs.asdict(layer.spec).values()) == {None}


@pytest.mark.conforms("86")
def test_fields_become_checked_values():
    spec = define_environment("e", FULL).layers[0].spec

    assert isinstance(spec.sandbox, DockerSandbox)
    assert isinstance(spec.workspace, GitWorkspace)
    assert (dict(spec.env or {}), spec.rules) == ({"A": "1"}, "# r")
    assert [type(content) for content in (spec.files or {}).values()] == [str, HostFile]
    assert spec.setup == (SetupStep(run="a"), SetupStep(run="b", cwd="c"))
    assert [step.timeout_s for step in spec.setup] == [300, 5]


@pytest.mark.conforms("3", "5")
def test_a_callback_is_called_once_at_definition_with_the_helpers():
    calls = []

    def spec(helpers):
        calls.append(helpers)
        return {"workspace": helpers.git("github:o/r"), "rules": helpers.file("r.md")}

    environment = define_environment("e", spec)
    environment.extend("f", {})
    _ = environment.layers

    (helpers,) = calls
    assert isinstance(helpers, Helpers)
    for name in ("secret", "skill", "plugin", "mcp", "file", "git", "directory"):
        assert getattr(helpers, name) is getattr(reeval_build, name)
    assert environment == define_environment("e", {"workspace": git("github:o/r"), "rules": file("r.md")})


@pytest.mark.conforms("4", "message: promise")
def test_a_callback_that_returns_a_coroutine_is_refused_and_the_coroutine_closed():
    coroutines = []

    async def later():
        return {}

    def spec(_helpers):
        coroutines.append(later())
        return coroutines[0]

    with pytest.raises(DefinitionError) as caught:
        define_environment("e", spec)

    assert caught.value.problems == (
        (
            'defineEnvironment("e") returned a Promise. The callback runs once at definition time and must return the '
            "environment synchronously; fetch remote content in a setup step instead."
        ),
    )
    assert inspect.getcoroutinestate(coroutines[0]) == inspect.CORO_CLOSED


@pytest.mark.conforms("4")
def test_an_asynchronous_callback_is_refused_without_a_warning_that_it_was_never_awaited(recwarn):
    async def spec(_helpers):
        return {}

    async def generator(_helpers):
        yield {}

    callbacks: list[Any] = [spec, generator]
    for callback in callbacks:
        with pytest.raises(DefinitionError, match="returned a Promise"):
            define_environment("e", callback)
    gc.collect()

    assert list(recwarn) == []


@pytest.mark.conforms("4")
def test_a_future_is_refused_like_a_coroutine():
    loop = asyncio.new_event_loop()
    try:
        future: Any = loop.create_future()
        with pytest.raises(DefinitionError, match="returned a Promise"):
            define_environment("e", lambda _helpers: future)
    finally:
        loop.close()


def test_a_mistake_that_a_callback_makes_itself_is_its_own():
    def spec(_helpers):
        raise LookupError("mine")

    with pytest.raises(LookupError, match="mine"):
        define_environment("e", spec)


@pytest.mark.conforms("6")
def test_changing_what_the_author_wrote_changes_nothing():
    env, files, step, install = {"A": "1"}, {"a": "x"}, {"run": "b"}, ["i"]
    setup: list[object] = ["a", step]
    spec: Any = {"env": env, "files": files, "setup": setup, "sandbox": docker(install=install)}
    environment = define_environment("e", spec)
    before = define_environment("e", {
        "env": {"A": "1"}, "files": {"a": "x"}, "setup": ["a", {"run": "b"}], "sandbox": docker(install=["i"]),
    })  # fmt: skip

    env["A"] = "2"
    env["B"] = "3"
    files.clear()
    setup.append("c")
    step["run"] = "d"
    install.append("j")
    spec["rules"] = "r"

    assert environment == before


@pytest.mark.conforms("6")
def test_no_part_of_an_environment_can_be_changed():
    environment = define_environment("e", FULL)
    spec = environment.layers[0].spec
    assert spec.env is not None
    assert spec.files is not None
    assert spec.setup is not None

    values: list[Any] = [environment, environment.layers[0], spec, spec.sandbox, spec.workspace, spec.setup[0]]
    for value in values:
        for field in attrs.fields(type(value)):
            with pytest.raises(FrozenInstanceError):
                setattr(value, field.name, None)
            with pytest.raises(FrozenInstanceError):
                delattr(value, field.name)
    for mapping in (spec.env, spec.files):
        with pytest.raises(TypeError):
            mapping["A"] = "2"  # type: ignore[index]
        assert not hasattr(mapping, "update")
    for sequence in (environment.layers, spec.setup, docker(install=["i"]).install):
        assert isinstance(sequence, tuple)


def test_equal_environments_are_equal_and_hash_alike():
    reverse: Any = dict(reversed(FULL.items()))
    one, other = define_environment("e", FULL), define_environment("e", reverse)

    assert one == other
    assert hash(one) == hash(other)
    assert {one: 1}[other] == 1


@pytest.mark.parametrize(
    "change",
    [
        {"rules": "# s"},
        {"env": {"A": "2"}},
        {"files": {"a": "x"}},
        {"setup": ["b", "a"]},
        {"sandbox": docker(from_="x:2")},
        {"workspace": git("github:o/r", ref="v1.0.1")},
    ],
    ids=lambda change: next(iter(change)),
)
def test_environments_that_differ_in_a_field_are_different(change):
    changed: Any = {**FULL, **change}

    assert define_environment("e", changed) != define_environment("e", FULL)


def test_environments_of_two_names_are_different():
    assert define_environment("e", FULL) != define_environment("f", FULL)


@pytest.mark.conforms("7")
def test_extend_and_extend_environment_are_one():
    base = define_environment("base", {"env": {"A": "1"}})

    assert base.extend("child", {"rules": "r"}) == base.extend_environment("child", {"rules": "r"})
    assert Environment.extend is Environment.extend_environment


@pytest.mark.conforms("7")
def test_the_layers_of_a_child_are_its_parents_and_its_own_root_first():
    grandchild = define_environment("a", {"rules": "1"}).extend("b", {"rules": "2"}).extend("c", {"rules": "3"})

    assert grandchild.name == "c"
    assert [(layer.name, layer.spec.rules) for layer in grandchild.layers] == [("a", "1"), ("b", "2"), ("c", "3")]


@pytest.mark.conforms("8")
def test_a_parent_is_as_it_was_and_two_children_know_nothing_of_each_other():
    parent = define_environment("parent", {"env": {"A": "1"}})

    one, other = parent.extend("one", {"env": {"B": "2"}}), parent.extend("other", {"setup": ["a"]})

    assert parent == define_environment("parent", {"env": {"A": "1"}})
    assert [layer.name for layer in one.layers] == ["parent", "one"]
    assert other.layers[1].spec.env is None


def test_a_child_may_have_the_name_of_its_parent():
    assert [layer.name for layer in define_environment("a", {}).extend("a", {}).layers] == ["a", "a"]


def test_an_extension_may_be_a_callback_too():
    base = define_environment("base", {})

    assert base.extend("c", lambda helpers: {"rules": helpers.file("r.md")}) == base.extend(
        "c", {"rules": file("r.md")}
    )


def test_a_conflict_between_layers_is_refused_when_the_child_is_made():
    parent = define_environment("parent", {"files": {"a": ""}})

    with pytest.raises(DefinitionError, match='files\\["a"\\] and files\\["a/b"\\] in defineEnvironment\\("child"\\)'):
        parent.extend("child", {"files": {"a/b": ""}})


def test_a_git_directory_of_files_and_one_of_init_are_refused_across_layers():
    parent = define_environment("parent", {"files": {".git/config": ""}})

    with pytest.raises(DefinitionError, match="is inside the \\.git directory that init makes"):
        parent.extend("child", {"workspace": git("github:o/r", init=True)})


def test_the_file_an_environment_was_written_in_is_remembered_and_no_part_of_it():
    assert define_environment("e", {}).file == __file__
    assert attrs.evolve(define_environment("e", {}), file="elsewhere") == define_environment("e", {})
