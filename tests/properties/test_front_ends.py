"""Whatever is written anywhere, the command accepts it, or refuses it by the name of the file and of what has it."""

from __future__ import annotations

import json
from contextlib import redirect_stderr, redirect_stdout
from copy import deepcopy
from io import StringIO
from typing import TYPE_CHECKING, Any

import attrs
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from reeval_build.cli import cli
from reeval_build.cli.boundary import exit_code_of
from reeval_build.errors import printable
from reeval_build.model.wire import environment_to_wire
from tests.definition_strategies import whole_specs
from tests.loading.test_declarations_laws import places, trees
from tests.strategies import junk
from tests.support.definitions import defined
from tests.support.torture import examples

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

FIELDS = ("egress", "env", "files", "mcp", "plugins", "rules", "sandbox", "setup", "skills", "workspace")
HELPERS: dict[str, tuple[str, ...]] = {
    "docker": ("from_", "dockerfile", "install", "cpus", "memory", "pids", "capabilities", "id"),
    "fake_sandbox": ("dir", "id", "max_concurrent"),
    "git": ("repo", "ref", "path", "init", "token"),
    "file": ("path",),
    "directory": ("path", "to", "include", "ignore"),
    "secret.from_env": ("name", "optional", "to", "hosts", "in_"),
    "secret.template": ("template",),
    "skill.local": ("path", "only", "exclude", "placement"),
    "skill.git": ("repo", "ref", "path", "only", "exclude", "placement"),
    "skill.npm": ("spec", "path", "only", "exclude", "placement"),
    "skill.registry": ("id", "version", "placement"),
    "skill.inline": ("name", "description", "content", "files", "placement"),
    "plugin.local": ("path", "only", "build"),
    "plugin.git": ("repo", "ref", "path", "only", "build"),
    "plugin.npm": ("spec", "path", "only", "build"),
    "plugin.marketplace": ("entry", "ref", "only", "build"),
    "mcp.stdio": ("command", "args", "env"),
    "mcp.http": ("url", "headers"),
    "mcp.sse": ("url", "headers"),
    "step": ("run", "inputs", "timeout", "cwd"),
}
IMPORTS = f"""
from math import inf, nan
from reeval_build import define_environment, {", ".join(sorted({name.partition(".")[0] for name in HELPERS}))}
"""


# Text with larger numbers is no JSON, and the message about it names a line.
MOST = 10**90


def as_json(value: Any) -> Any:
    """The nearest thing to some junk that JSON can say."""
    if isinstance(value, dict):
        return {str(key): as_json(item) for key, item in value.items()}
    if isinstance(value, (list, tuple, set)):
        return [as_json(item) for item in value]
    if isinstance(value, (int, float)) and not -MOST < value < MOST:
        return "no number"
    return value.hex() if isinstance(value, bytes) else value


json_junk = junk.map(as_json)


@attrs.frozen
class Spoiled:
    """A document with junk in one place of it, and what was there before."""

    document: Any
    before: Any
    place: tuple[Any, ...]
    junk: Any

    def is_named(self, said: str) -> bool:
        """Whether a message names a key on the way to the place, as `env` of `layers[0].spec.env`, or one in it."""
        way = [step for step in self.place[:-1] if step != "options"] + [self.place[-1]]
        if isinstance(self.junk, dict) and said.startswith(("Unknown field", "Unknown option")):
            return True
        return any(isinstance(step, str) and step in said for step in way)


@st.composite
def spoiled(draw: st.DrawFn, documents: st.SearchStrategy[Any]) -> Spoiled:
    """A document that is not empty, with junk in one place."""
    before = draw(documents)
    document = deepcopy(before)
    *above, last = draw(st.sampled_from([place for place in places(document) if place]))
    holder = document
    for step in above:
        holder = holder[step]
    holder[last] = draw(json_junk)
    return Spoiled(document, before, (*above, last), holder[last])


whole_environments = whole_specs.map(lambda spec: environment_to_wire(defined(spec)))


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A working directory with a program that gives the answers in a file in place of an eval file's runner."""
    directory = tmp_path_factory.mktemp("project")
    runner = directory / "runner"
    runner.write_text("#!/bin/sh\nexec cat answers\n", encoding="utf-8")
    runner.chmod(0o755)
    (directory / "pyproject.toml").touch()
    (directory / "x.eval.py").write_text("import reeval_python\n", encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(directory)
        patch.setenv("REEVAL_PYTHON", str(runner))
        yield directory


def said_of(target: str) -> list[str]:
    """What `export` says of a target that it refuses, with FILE for its name; nothing when it accepts it."""
    with redirect_stdout(StringIO()) as stdout, redirect_stderr(StringIO()) as stderr:
        code = exit_code_of(lambda: cli.main(["export", target], prog_name="reeval-build", standalone_mode=False))
    lines = stderr.getvalue().splitlines()
    assert code == (2 if lines else 0), lines
    assert (stdout.getvalue() == "") == (code == 2)
    for line in lines:
        assert line.startswith(f"reeval: {target}: "), line
        assert line == printable(line)
    # What is not built yet is no mistake, and may be anywhere else.
    mistakes = (line for line in lines if not line.endswith("is not supported by this version of reeval-build yet"))
    return [line.removeprefix(f"reeval: {target}: ").replace(target, "FILE") for line in mistakes]


slow = settings(max_examples=examples(60), suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])


@slow
@given(st.sampled_from(FIELDS), junk, junk)
def test_a_field_in_a_module_of_ours(directory, field, value, other):
    spec, rules = {field: value}, {"rules": other}
    text = f"one = define_environment('one', {spec!r})\ntwo = one.extend('two', {rules!r})\n"
    (directory / "env.py").write_text(IMPORTS + text, encoding="utf-8")

    for said in said_of("env.py"):
        assert ('defineEnvironment("one")' in said and field in said) or said.startswith(
            'rules in defineEnvironment("two") '
        )


@slow
@given(st.data(), st.sampled_from(sorted(HELPERS)))
def test_an_option_of_a_helper_in_a_module_of_ours(directory, data, helper):
    options = data.draw(st.dictionaries(st.sampled_from(HELPERS[helper]), junk, min_size=1))
    needed = dict.fromkeys(("name", "description", "content") if helper == "skill.inline" else HELPERS[helper][:1], "x")
    arguments = ", ".join(f"{name}={value!r}" for name, value in {**needed, **options}.items())
    (directory / "env.py").write_text(
        f"{IMPORTS}made = {helper}({arguments})\ne = define_environment('e', {{}})\n", encoding="utf-8"
    )

    for said in said_of("env.py"):
        assert f"{helper}(" in said


@slow
@given(spoiled(whole_environments) | spoiled(trees))
def test_a_place_of_json(directory, case):
    said = said_of_json(directory, case.document)

    for mistake in set(said) - set(said_of_json(directory, case.before)) - {"it has no evals"}:
        assert case.is_named(mistake) or "is also defined, differently, in FILE" in mistake


@slow
@given(spoiled(trees))
def test_a_place_of_what_a_runner_says_of_an_eval_file(directory, case):
    answer(directory, {"t": "hello", "protocol": 3}, {"t": "declared", "file": "x.eval.py", "tree": case.document})

    said = said_of("x.eval.py")

    if isinstance(case.document, dict):
        assert said == said_of_json(directory, case.document)


MESSAGES = [
    {"t": "hello", "protocol": 3, "sdk": "python", "version": "0.14.0", "runtime": "3.11.7"},
    {"t": "declared", "file": "x.eval.py", "tree": {"children": []}},
    {"t": "load-error", "error": {"name": "TypeError", "message": "no", "stack": "…"}},
]


@slow
@given(
    st.lists(st.sampled_from(MESSAGES) | spoiled(st.sampled_from(MESSAGES)).map(lambda case: case.document), max_size=3)
)
def test_any_messages_of_a_runner(directory, messages):
    answer(directory, *messages)

    assert said_of("x.eval.py")


def said_of_json(directory: Path, document: object) -> list[str]:
    """What is said of a document in a JSON file."""
    (directory / "x.json").write_text(json.dumps(document), encoding="utf-8")
    return said_of("x.json")


def answer(directory: Path, *messages: object) -> None:
    """Have these answers given about the eval file."""
    (directory / "answers").write_text("".join(f"{json.dumps(one)}\n" for one in messages), encoding="utf-8")
