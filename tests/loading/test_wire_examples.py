"""Real eval files that the published package turns into the three examples of the specification, section 7.2."""

from __future__ import annotations

import importlib
import json
from typing import TYPE_CHECKING

import pytest

from reeval_build import DEFAULT_EGRESS_ALLOW, docker, fake_sandbox, file, git, mcp, plugin, secret, skill
from reeval_build.loading.declarations_data import canonical
from reeval_build.loading.declarations_json import read_json
from reeval_build.loading.declared import found_in
from reeval_build.loading.selection import known_cells
from reeval_build.model.egress import AllowHosts
from reeval_build.model.spec import SetupStep
from tests.loading.conftest import FILE
from tests.loading.trees import declared_in

if TYPE_CHECKING:
    from reeval_build.loading.declarations import Declared
    from reeval_build.model.cells import Cell
    from tests.loading.conftest import EvalProject

ONE = """
from reeval_python import DEFAULT_EGRESS_ALLOW

base = define_environment("base", {
    "sandbox": docker(
        from_="node:24-bookworm",
        install=["apt-get update", {"run": "npm i -g pnpm@9", "timeout": 600}],
        memory="4g",
    ),
    "workspace": {
        "kind": "git",
        "repo": "github:vercel/ai-chatbot",
        "url": "https://github.com/vercel/ai-chatbot.git",
        "ref": "v3.1.0",
        "init": True,
    },
    "env": {"NODE_ENV": "test", "NPM_TOKEN": {"kind": "secret", "hosts": ["registry.example.com"]}},
    "files": {"~/.npmrc": "fund=false\\n", "src/agent.ts": {"kind": "file", "path": "./fixtures/agent.ts"}},
    "setup": ["npm ci", {"run": "npm run build", "timeout": 600, "cwd": "packages/app"}],
    "egress": {"allow": [*DEFAULT_EGRESS_ALLOW]},
})

@evaluate("one", {"environment": base, "timeout": 90})
def one(c): ...
"""
TWO = """
base = define_environment("base", {"env": {"NODE_ENV": "test"}, "sandbox": {"kind": "fake"}})
review = base.extend("with-review", {
    "env": {"NODE_ENV": "development"},
    "rules": {"kind": "file", "path": "./rules/house.md"},
    "skills": [
        {"kind": "skill", "source": "local", "path": "./skills/house-style", "placement": "harness"},
        {
            "kind": "skill", "source": "inline", "name": "tabs", "description": "Use tabs.", "content": "# Tabs\\n",
            "files": {}, "placement": "workspace",
        },
    ],
    "plugins": [
        plugin.local("./plugins/review", only=["skills", "mcp"], build=["npm ci", "npm run build"]),
        plugin.npm("@acme/p@1.0.0", build={"run": "make", "cwd": "."}),
        plugin.marketplace("fmt@github:acme/agent-plugins", ref="0123456789abcdef0123456789abcdef01234567"),
        plugin.marketplace("fmt2@npm:@acme/plugins@2.0.0"),
    ],
    "mcp": {
        "docs": {
            "kind": "mcp", "transport": "stdio", "command": "npx", "args": ["-y", "@acme/docs-mcp@1.0.0"], "env": {},
        },
        "crm": {
            "kind": "mcp", "transport": "http", "url": "https://crm.example.com/mcp",
            "headers": {"Authorization": {"kind": "secret-template", "template": "Bearer ${CRM_TOKEN}"}},
        },
    },
})

@evaluate("two", {"compare": {"baseline": base, "variants": [review], "min_lift": 0.1}})
def two(c): ...
"""
THREE = """
e = define_environment("e", {"rules": "be nice"})
options = {
    "environment": e,
    "env": {"KEY_NAME": {"kind": "secret", "from": "OPENAI_API_KEY", "optional": True, "to": "checks"}},
}

@evaluate_each([{"lang": "en"}, {"lang": "de"}], "greets in $lang (#%#)", options)
def each(c, case): ...
"""
WIRE_ONE = """
{"type":"eval","name":"one","mode":"run","options":{"environment":{"kind":"environment","name":"base","layers":[
{"name":"base","spec":{"sandbox":{"kind":"docker","from":"node:24-bookworm","install":["apt-get update",
{"run":"npm i -g pnpm@9","timeout":"10m"}],"memory":"4g"},"workspace":{"kind":"git","repo":"github:vercel/ai-chatbot",
"url":"https://github.com/vercel/ai-chatbot.git","ref":"v3.1.0","init":true},"env":{"NODE_ENV":"test","NPM_TOKEN":
{"kind":"secret","hosts":["registry.example.com"]}},"files":{"~/.npmrc":"fund=false\\n","src/agent.ts":{"kind":"file",
"path":"./fixtures/agent.ts"}},"setup":["npm ci",{"run":"npm run build","timeout":"10m","cwd":"packages/app"}],
"egress":{"allow":["THE DEFAULT HOSTS"]}}}]},"timeout":"90s"},"body":"b1"}
"""
WIRE_TWO = """
{"type":"eval","name":"two","mode":"run","options":{"compare":{"baseline":{"kind":"environment","name":"base","layers":
[{"name":"base","spec":{"env":{"NODE_ENV":"test"},"sandbox":{"kind":"fake"}}}]},"variants":[{"kind":"environment",
"name":"with-review","layers":[{"name":"base","spec":{"env":{"NODE_ENV":"test"},"sandbox":{"kind":"fake"}}},{"name":
"with-review","spec":{"env":{"NODE_ENV":"development"},"rules":{"kind":"file","path":"./rules/house.md"},"skills":
[{"kind":"skill","source":"local","path":"./skills/house-style","placement":"harness"},{"kind":"skill","source":
"inline","name":"tabs","description":"Use tabs.","content":"# Tabs\\n","files":{},"placement":"workspace"}],"plugins":
[{"kind":"plugin","source":"local","path":"./plugins/review","only":["skills","mcp"],"build":["npm ci","npm run build"]
},{"kind":"plugin","source":"npm","spec":"@acme/p@1.0.0","build":{"run":"make","cwd":"."}},{"kind":"plugin","source":
"marketplace","name":"fmt","marketplace":{"source":"git","repo":"github:acme/agent-plugins","ref":
"0123456789abcdef0123456789abcdef01234567"}},{"kind":"plugin","source":"marketplace","name":"fmt2","marketplace":
{"source":"npm","spec":"@acme/plugins@2.0.0"}}],"mcp":{"docs":{"kind":"mcp","transport":"stdio","command":"npx","args":
["-y","@acme/docs-mcp@1.0.0"],"env":{}},"crm":{"kind":"mcp","transport":"http","url":"https://crm.example.com/mcp",
"headers":{"Authorization":{"kind":"secret-template","template":"Bearer ${CRM_TOKEN}"}}}}}}]}],"minLift":0.1}},"body":
"b1"}
"""
WIRE_THREE = """
{"type":"eval","name":"greets in en (#0)","mode":"run","options":{"environment":{"kind":"environment","name":"e",
"layers":[{"name":"e","spec":{"rules":"be nice"}}]},"env":{"KEY_NAME":{"kind":"secret","from":"OPENAI_API_KEY",
"optional":true,"to":"checks"}}},"body":"b1","family":{"name":"greets in $lang (#%#)","case":0,"cases":2}}
"""


def wire(text: str) -> object:
    hosts = json.dumps(list(importlib.import_module("reeval_python").DEFAULT_EGRESS_ALLOW))
    return json.loads(text.replace('["THE DEFAULT HOSTS"]', hosts))


def layers_of(declared: Declared) -> list[str]:
    assert declared.environment is not None
    return [layer["name"] for layer in declared.environment["layers"]]


@pytest.mark.conforms("125")
@pytest.mark.parametrize(
    ("text", "expected"), [(ONE, WIRE_ONE), (TWO, WIRE_TWO), (THREE, WIRE_THREE)], ids=["one", "two", "three"]
)
def test_the_published_package_says_what_the_specification_has(project: EvalProject, text: str, expected: str) -> None:
    assert project.collect(text)["children"][0] == wire(expected)


def test_the_first_example_is_one_environment(project: EvalProject) -> None:
    (one,) = project.declared(ONE)

    assert (one.role, one.harness, dict(one.env), one.egress, one.sandbox) == ("control", None, {}, None, None)
    assert one.evals == (("one",),)
    assert one.environment is not None
    assert canonical(one.environment) == canonical(wire(WIRE_ONE)["options"]["environment"])  # type: ignore[index]


@pytest.mark.conforms("126")
def test_the_second_example_is_a_control_and_a_variant(project: EvalProject) -> None:
    control, variant = project.declared(TWO)

    assert (control.role, layers_of(control)) == ("control", ["base"])
    assert (variant.role, layers_of(variant)) == ("variant", ["base", "with-review"])
    assert control.evals == variant.evals == (("two",),)


def test_the_third_example_is_one_environment_of_two_evals(project: EvalProject) -> None:
    (one,) = project.declared(THREE)

    assert one.evals == (("greets in en (#0)",), ("greets in de (#1)",))
    assert canonical(one.env) == canonical(wire(WIRE_THREE)["options"]["env"])  # type: ignore[index]


def cells_of(project: EvalProject, text: str) -> dict[str, Cell]:
    """The cells of an eval file, by their names."""
    found = found_in(project.collect(text), file=FILE, directory=project.directory / "evals")
    return {one.cell.name: one.cell for one in known_cells(found, ("codex",), "docker")}


@pytest.mark.conforms("125")
def test_the_first_example_is_a_cell_with_all_that_it_says(project: EvalProject) -> None:
    cells = cells_of(project, ONE)

    assert list(cells) == ["base@codex"]
    cell = cells["base@codex"]
    assert cell.sandbox == docker(
        from_="node:24-bookworm",
        install=["apt-get update", {"run": "npm i -g pnpm@9", "timeout": "10m"}],
        memory="4g",
    )
    assert cell.merged.workspace == git("github:vercel/ai-chatbot", ref="v3.1.0", init=True)
    assert dict(cell.merged.env) == {"NODE_ENV": "test", "NPM_TOKEN": secret(hosts=["registry.example.com"])}
    assert dict(cell.merged.files) == {
        "~/.npmrc": "fund=false\n",
        "src/agent.ts": file(f"{project.directory}/evals/fixtures/agent.ts"),
    }
    assert cell.merged.setup == (
        SetupStep(run="npm ci"),
        SetupStep(run="npm run build", cwd="packages/app", timeout_s=600),
    )
    assert cell.merged.setup[1].timeout_s == 600
    assert cell.egress == AllowHosts(tuple(sorted(DEFAULT_EGRESS_ALLOW)))


@pytest.mark.conforms("125", "126")
def test_the_second_example_is_two_cells_of_which_the_variant_has_two_layers(project: EvalProject) -> None:
    cells = cells_of(project, TWO)

    assert list(cells) == ["base@codex", "with-review@codex"]
    base, review = (cell.merged for cell in cells.values())
    assert (dict(base.env), dict(review.env)) == ({"NODE_ENV": "test"}, {"NODE_ENV": "development"})
    assert (base.rules, review.rules) == (None, file(f"{project.directory}/evals/rules/house.md"))
    assert base.sandbox == review.sandbox == fake_sandbox()
    assert (base.skills, base.plugins, dict(base.mcp)) == ((), (), {})
    assert review.skills == (
        (
            "with-review",
            (
                skill.local(f"{project.directory}/evals/skills/house-style"),
                skill.inline(name="tabs", description="Use tabs.", content="# Tabs\n", placement="workspace"),
            ),
        ),
    )
    assert review.plugins == (
        (
            "with-review",
            (
                plugin.local(
                    f"{project.directory}/evals/plugins/review",
                    only=["skills", "mcp"],
                    build=["npm ci", "npm run build"],
                ),
                plugin.npm("@acme/p@1.0.0", build={"run": "make", "cwd": "."}),
                plugin.marketplace("fmt@github:acme/agent-plugins", ref="0123456789abcdef0123456789abcdef01234567"),
                plugin.marketplace("fmt2@npm:@acme/plugins@2.0.0"),
            ),
        ),
    )
    assert dict(review.mcp) == {
        "docs": mcp.stdio("npx", ["-y", "@acme/docs-mcp@1.0.0"]),
        "crm": mcp.http(
            "https://crm.example.com/mcp", headers={"Authorization": secret.template("Bearer ${CRM_TOKEN}")}
        ),
    }
    assert review.overrides == ("env.NODE_ENV",)


@pytest.mark.conforms("125")
def test_the_third_example_is_one_cell_whose_variable_is_the_eval_s(project: EvalProject) -> None:
    cells = cells_of(project, THREE)

    assert list(cells) == ["e@codex"]
    assert cells["e@codex"].merged.rules == "be nice"
    assert dict(cells["e@codex"].merged.env) == {
        "KEY_NAME": secret.from_env("OPENAI_API_KEY", optional=True, to="checks")
    }


def test_the_examples_load_from_json_as_they_do_from_eval_files(project: EvalProject) -> None:
    tree = project.collect(TWO)
    file = project.write("tree.json", json.dumps(tree))

    assert declared_in(read_json(file), file="tree.json") == project.declared(TWO)


def test_an_eval_file_with_groups_and_cascades(project: EvalProject) -> None:
    found = project.declared(
        """
        base = define_environment("base", {"rules": "r"})
        other = base.extend("other", {"rules": "s"})
        claude = {"kind": "claude-code", "model": "m"}

        def inner():
            @evaluate("plain")
            def plain(c): ...

            @evaluate("more", {"harness": {"add": fake_harness()}, "env": {"A": "eval"}, "egress": "deny-all"})
            def more(c): ...

            @evaluate("less", {"environment": other, "harness": {"only": "codex:n"}, "sandbox": docker(from_="x:1")})
            def less(c): ...

            @evaluate("never", {"environment": other}, mode="skip")
            def never(c): ...

            todo("later")

        def outer():
            group("inner", {"env": {"B": "inner"}, "harness": [claude, {"kind": "codex", "model": "n"}]}, inner)

        group("outer", {"environment": base, "env": {"A": "outer", "B": "outer"}, "sandbox": {"kind": "fake"}}, outer)
        """
    )

    shown = [
        (
            one.environment and one.environment["name"],
            one.harness and one.harness["kind"],
            dict(one.env),
            one.egress,
            one.sandbox and one.sandbox["kind"],
            [path[-1] for path in one.evals],
        )
        for one in found
    ]
    assert shown == [
        ("base", "claude-code", {"A": "outer", "B": "inner"}, None, "fake", ["plain"]),
        ("base", "codex", {"A": "outer", "B": "inner"}, None, "fake", ["plain"]),
        ("base", "claude-code", {"A": "eval", "B": "inner"}, "deny-all", "fake", ["more"]),
        ("base", "codex", {"A": "eval", "B": "inner"}, "deny-all", "fake", ["more"]),
        ("base", "fake", {"A": "eval", "B": "inner"}, "deny-all", "fake", ["more"]),
        ("other", "codex", {"A": "outer", "B": "inner"}, None, "docker", ["less"]),
    ]
    assert found[0].evals == (("outer", "inner", "plain"),)


@pytest.mark.conforms("14")
def test_a_list_as_an_environment_gets_the_documented_message(project: EvalProject) -> None:
    tree = project.collect('e = define_environment("e", {})\n@evaluate("x", {"environment": [e, e]})\ndef x(c): ...')

    with pytest.raises(Exception, match="environment takes one environment") as caught:
        declared_in(tree, file=FILE)

    assert str(caught.value).startswith('environment takes one environment, not a list (evaluate("x")). To compare')
