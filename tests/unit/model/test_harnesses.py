from __future__ import annotations

from typing import Any

import pytest

import reeval_build
from reeval_build import claude_code, cursor, fake_harness, fx, opencode
from reeval_build.errors import DefinitionError
from reeval_build.model.harness_descriptors import HarnessDescriptor
from reeval_build.model.harnesses import HARNESSES
from reeval_build.model.helpers.harnesses import harness_from_wire
from reeval_build.model.plugins import PLUGIN_PARTS
from reeval_build.model.skills import PLACEMENTS
from reeval_build.paths import parse_destination
from tests.support.names import name_of

KINDS = ("fake", "claude-code", "codex", "cursor", "antigravity", "opencode", "goose", "pi", "fx", "grok-build")


def problems(make) -> tuple[str, ...]:
    with pytest.raises(DefinitionError) as caught:
        make()
    return caught.value.problems


def helper(kind: str) -> Any:
    return getattr(reeval_build, kind.replace("-", "_"))


def test_the_ten_kinds_are_known():
    assert tuple(HARNESSES) == KINDS


@pytest.mark.conforms("54")
@pytest.mark.parametrize("kind", KINDS)
def test_rules_go_where_the_harness_reads_them(kind):
    assert HARNESSES[kind].rules_file == ("CLAUDE.md" if kind == "claude-code" else "AGENTS.md")


@pytest.mark.conforms("105")
@pytest.mark.parametrize(
    ("kind", "loaded"),
    [
        ("cursor", "skills agents commands hooks mcp rules"),
        ("antigravity", "skills agents commands hooks mcp rules"),
        ("fake", "skills agents commands hooks mcp rules"),
        ("claude-code", "skills agents commands hooks mcp"),
        ("grok-build", "skills agents commands hooks mcp"),
        ("opencode", "skills agents commands mcp"),
        ("pi", "skills commands mcp"),
        ("codex", "skills mcp"),
        ("goose", "skills mcp"),
        ("fx", "skills mcp"),
    ],
)
def test_each_harness_loads_its_parts_of_plugins(kind, loaded):
    assert HARNESSES[kind].plugin_parts == set(loaded.split())
    assert HARNESSES["fake"].plugin_parts == set(PLUGIN_PARTS)


@pytest.mark.conforms("112", "118")
def test_what_servers_a_harness_refuses():
    without_sse = [kind for kind in KINDS if not HARNESSES[kind].has_sse]
    without_variables = [kind for kind in KINDS if not HARNESSES[kind].takes_plugin_variables]
    one_name_each = [kind for kind in KINDS if not HARNESSES[kind].server_names_may_repeat]

    assert without_sse == ["codex", "goose", "pi"]
    assert without_variables == ["claude-code", "codex", "antigravity", "grok-build"]
    assert one_name_each == ["codex", "pi", "grok-build"]


@pytest.mark.conforms("100")
@pytest.mark.parametrize("kind", KINDS)
def test_a_placement_is_a_directory_of_the_home_directory_or_of_the_workspace(kind):
    harness = HARNESSES[kind]

    assert harness.skill_directory("harness") == harness.skills
    assert harness.skill_directory("workspace") == harness.workspace_skills
    assert parse_destination(harness.workspace_skills).root == "workspace"


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "fake"])
def test_a_fake_harness_with_a_layout_has_its_places_and_takes_everything(kind):
    harness = fake_harness(layout=kind).harness

    assert harness.kind == "fake"
    assert harness.rules_file == HARNESSES[kind].rules_file
    for placement in PLACEMENTS:
        assert harness.skill_directory(placement) == HARNESSES[kind].skill_directory(placement)
    assert harness.plugin_parts == set(PLUGIN_PARTS)


def test_where_skills_are_read():
    assert {kind: harness.skills for kind, harness in HARNESSES.items()} == {
        "fake": ".agents/skills",
        "claude-code": ".claude/skills",
        "codex": "~/.agents/skills",
        "cursor": ".agents/skills",
        "antigravity": "~/.gemini/config/skills",
        "opencode": "~/.config/opencode/skills",
        "goose": "~/.config/goose/skills",
        "pi": "~/.pi/agent/skills",
        "fx": "~/.agents/skills",
        "grok-build": "~/.grok/skills",
    }
    assert {harness.workspace_skills for kind, harness in HARNESSES.items() if kind != "claude-code"} == {
        ".agents/skills"
    }


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind not in {"fake", "opencode", "fx"}])
def test_a_cell_is_named_after_kind_model_and_effort(kind):
    assert helper(kind)(model="m").cell_id == f"{kind}:m"
    assert helper(kind)(model="m", effort="high").cell_id == f"{kind}:m[effort=high]"
    assert helper(kind)(model="m", effort="high", id="mine").cell_id == "mine"
    assert helper(kind)(model="m").harness is HARNESSES[kind]


def test_a_model_of_opencode_has_a_provider():
    assert opencode(model="p/m").cell_id == "opencode:p/m"
    assert problems(lambda: opencode(model="m")) == ('model in opencode() must be PROVIDER/MODEL (got "m")',)


def test_fx_has_no_effort():
    effort: Any = {"effort": "high"}

    assert fx(model="m").cell_id == "fx:m"
    assert problems(lambda: fx(model="m", **effort)) == ("fx() has no option effort",)


def test_a_fake_harness_is_called_fake():
    assert fake_harness().cell_id == "fake"
    assert fake_harness(id="x").cell_id == "x"


def test_a_fake_harness_has_the_places_of_its_layout_and_takes_everything():
    harness = fake_harness(layout="claude-code").harness

    assert (harness.kind, harness.rules_file, harness.skills) == ("fake", "CLAUDE.md", ".claude/skills")
    assert harness.plugin_parts == set(PLUGIN_PARTS)


def test_what_a_fake_harness_does_is_kept_by_reevals_names():
    made = fake_harness(text="hi", delay_ms=5, script=[[{"exec": "ls"}]], with_skill={"text": "x"})

    assert made.behaviour == {"text": "hi", "delayMs": 5, "script": (({"exec": "ls"},),), "withSkill": {"text": "x"}}
    with pytest.raises(TypeError):
        made.behaviour["text"] = "no"  # type: ignore[index]
    assert len({made, fake_harness()}) == 2


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: claude_code(model=""), 'model in claude_code() must be text (got "")'),
        (helper("claude-code"), "claude_code() needs model"),
        (
            lambda: helper("claude-code")(model="m", effort="extreme"),
            'effort in claude_code() must be "low", "medium", "high", "xhigh" or "max" (got "extreme")',
        ),
        (lambda: helper("codex")(model="m", gateway="x"), 'gateway in codex() must be "direct" or "vercel" (got "x")'),
        (
            lambda: helper("pi")(model="m", start_timeout="soon"),
            'start_timeout in pi() must be a time above 0: seconds, or text such as "90s" (got "soon")',
        ),
        (
            lambda: helper("goose")(model="m", max_concurrent=0),
            "max_concurrent in goose() must be a whole number above 0 (got 0)",
        ),
        (
            lambda: helper("cursor")(model="m", params={"fast": True}),
            'params in cursor() must be a mapping of text to text (got {"fast":true})',
        ),
        (lambda: helper("grok-build")(model="m", color="red"), "grok_build() has no option color"),
        (
            lambda: helper("fake-harness")(layout="x"),
            (
                'layout in fake_harness() must be "claude-code", "codex", "cursor", "antigravity", '
                '"opencode", "goose", "pi", "fx" or "grok-build" (got "x")'
            ),
        ),
        (
            lambda: helper("fake-harness")(tools=[object()]),
            'tools in fake_harness() must be data as JSON has it (got ["<object>"])',
        ),
    ],
    ids=name_of,
)
def test_a_bad_option_of_a_harness_is_refused(make, message):
    assert problems(make) == (message,)


def test_a_harness_may_be_written_as_the_data_it_is():
    data = {"kind": "claude-code", "model": "sonnet", "effort": "max", "startTimeout": 1500, "maxConcurrent": 2}

    found = harness_from_wire(data)

    assert found == claude_code(model="sonnet", effort="max", max_concurrent=2)
    assert found.start_timeout_s == 1.5
    assert harness_from_wire({"kind": "cursor", "model": "m", "params": {"fast": "true"}}) == cursor(
        model="m", params={"fast": "true"}
    )
    assert harness_from_wire({"kind": "fake"}) == HarnessDescriptor(kind="fake")
    assert harness_from_wire({"kind": "fake", "delayMs": 5}) == fake_harness(delay_ms=5)


@pytest.mark.parametrize("data", [None, "fake", [], {}, {"kind": "vim"}, {"kind": ["fake"]}])
def test_what_is_no_harness_is_refused(data):
    (problem,) = problems(lambda: harness_from_wire(data))

    assert problem.startswith("a harness must come from a harness helper, such as fake_harness() (got ")
