"""The wire form: what reeval-python writes can be read, and what is written is what reeval documents."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from reeval_build import define_environment, docker, fake_sandbox, git, mcp, plugin, podman, secret, skill, step
from reeval_build.errors import DefinitionError
from reeval_build.model.durations import duration_text, seconds
from reeval_build.model.wire import checked_wire, environment_from_wire, environment_to_wire
from tests.support.definitions import chain, defined

if TYPE_CHECKING:
    from reeval_build.model.environment import Environment

PROJECT = Path("/project")

# What reeval-python 0.14.0 writes for three definitions, apart from the names of package registries.
EXAMPLES: dict[str, Any] = json.loads(Path(__file__).with_name("wire_examples.json").read_text(encoding="utf-8"))
BASE, REVIEW, GREETS = EXAMPLES["base"], EXAMPLES["review"], EXAMPLES["greets"]


def read(data: object, directory: Path = PROJECT) -> Environment:
    environment, problems = checked_wire(json.loads(json.dumps(data)), directory=directory)
    assert problems == ()
    return environment


def problems_of(data: object) -> tuple[str, ...]:
    return checked_wire(data, directory=PROJECT)[1]


def layer(**spec: Any) -> dict[str, Any]:
    return {"kind": "environment", "name": "e", "layers": [{"name": "e", "spec": spec}]}


@pytest.mark.conforms("125")
@pytest.mark.parametrize("example", EXAMPLES.values(), ids=EXAMPLES)
def test_what_reeval_python_writes_is_read_and_written_again_with_absolute_paths(example):
    expected = json.loads(json.dumps(example).replace('"./', '"/project/'))

    assert environment_to_wire(read(example)) == expected


@pytest.mark.conforms("125")
def test_what_reeval_python_writes_means_what_it_says():
    (base,) = read(BASE).layers
    parent, review = read(REVIEW).layers

    assert (
        base.spec
        == defined(
            {
                "sandbox": docker(
                    from_="node:24-bookworm", install=["apt-get update", {"run": "npm i -g pnpm@9"}], memory="4g"
                ),
                "workspace": git("github:vercel/ai-chatbot", ref="v3.1.0", init=True),
                "env": {"NODE_ENV": "test", "NPM_TOKEN": secret(hosts=["registry.example.com"])},
                "files": {"~/.npmrc": "fund=false\n", "src/agent.ts": {"kind": "file", "path": "fixtures/agent.ts"}},
                "setup": ["npm ci", {"run": "npm run build", "cwd": "packages/app"}],
                "egress": {"allow": ["registry.example.com", "github.com", "*.github.com", "*.githubusercontent.com"]},
            }
        )
        .layers[0]
        .spec
    )
    assert isinstance(base.spec.setup, tuple)
    assert [one.timeout_s for one in base.spec.setup] == [300, 600]
    assert parent.spec.sandbox == fake_sandbox()
    assert review.spec.plugins == (
        plugin.local("/project/plugins/review", only=["skills", "mcp"], build=["npm ci", "npm run build"]),
        plugin.npm("@acme/p@1.0.0", build={"run": "make", "cwd": "."}),
        plugin.marketplace("fmt@github:acme/agent-plugins", ref="0123456789abcdef0123456789abcdef01234567"),
        plugin.marketplace("fmt2@npm:@acme/plugins@2.0.0"),
    )
    assert review.spec.mcp == {
        "docs": mcp.stdio("npx", ["-y", "@acme/docs-mcp@1.0.0"]),
        "crm": mcp.http(
            "https://crm.example.com/mcp", headers={"Authorization": secret.template("Bearer ${CRM_TOKEN}")}
        ),
    }


@pytest.mark.conforms("125")
def test_a_file_that_nobody_validated_is_refused_in_the_words_of_the_documentation():
    data = {
        "kind": "environment",
        "name": "my env",
        "layers": [
            {
                "name": "my env",
                "spec": {
                    "steps": [],
                    "image": "node:22",
                    "setup": "npm ci",
                    "files": {"../x": 1},
                    "env": {"API_TOKEN": "hunter2"},
                },
            }
        ],
    }

    assert problems_of(data) == (
        'defineEnvironment needs a name of letters, digits, ".", "_", "@", "+" or "-" (got "my env")',
        (
            '"image" isn\'t an environment field (defineEnvironment("my env")). '
            "Put the image on the sandbox: sandbox: docker({ from: … })."
        ),
        'Unknown field "steps" in defineEnvironment("my env"). Did you mean "setup"?',
        (
            'env.API_TOKEN in defineEnvironment("my env") is a literal string. '
            "Pass secrets with secret.fromEnv() so they're redacted and never recorded."
        ),
        (
            'files["../x"] in defineEnvironment("my env") has the segment \'..\', '
            'which is not a name: it is empty, "." or ".."'
        ),
        'files["../x"] in defineEnvironment("my env") must be a string or file(path) (got 1)',
        'setup in defineEnvironment("my env") must be a list (got "npm ci")',
    )
    with pytest.raises(DefinitionError) as caught:
        environment_from_wire(data, directory=PROJECT)
    assert caught.value.problems == problems_of(data)


def test_the_mistakes_of_every_layer_are_reported():
    data = {
        "kind": "environment",
        "name": "child",
        "layers": [{"name": "parent", "spec": {"rules": 1}}, {"name": "child", "spec": {"rules": 2}}],
    }

    assert problems_of(data) == (
        'rules in defineEnvironment("parent") must be markdown or file(path) (got 1)',
        'rules in defineEnvironment("child") must be markdown or file(path) (got 2)',
    )


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (None, 'an environment must be { kind: "environment", name, layers } (got null)'),
        ([], 'an environment must be { kind: "environment", name, layers } (got [])'),
        (
            {"kind": "environment"},
            'an environment must be { kind: "environment", name, layers } (got {"kind":"environment"})',
        ),
        (
            {"kind": "environment", "name": "e", "layers": []},
            (
                'an environment must be { kind: "environment", name, layers } (got '
                '{"kind":"environment","name":"e","layers":[]})'
            ),
        ),
        ({**GREETS, "extra": 1}, 'Unknown field "extra" in environment "e".'),
        ({**GREETS, "name": "f"}, 'environment "f" must have the name of its last layer (got "e")'),
    ],
)
def test_what_is_no_environment_is_refused(data, message):
    assert message in problems_of(data)


def test_a_time_limit_that_is_a_number_is_milliseconds_here_and_seconds_in_python():
    data = layer(
        setup=[{"run": "a", "timeout": 1500}], sandbox={"kind": "docker", "install": [{"run": "b", "timeout": 2500}]}
    )
    (found,) = read(data).layers
    (here,) = defined({"setup": [{"run": "a", "timeout": 1500}]}).layers

    assert [one.timeout_s for one in found.spec.setup or ()] == [1.5]
    assert [one.timeout_s for one in found.spec.sandbox.install] == [2.5]  # type: ignore[union-attr]
    assert [one.timeout_s for one in here.spec.setup or ()] == [1500]


def test_a_number_in_json_may_be_written_as_2_0():
    (found,) = read(layer(sandbox={"kind": "docker", "cpus": 2.0, "pids": 100.0, "maxConcurrent": 4.0})).layers

    assert found.spec.sandbox == docker(cpus=2, pids=100, max_concurrent=4)
    assert json.dumps(
        environment_to_wire(defined({"sandbox": found.spec.sandbox}))["layers"][0]["spec"]["sandbox"]
    ) == ('{"kind": "docker", "cpus": 2, "pids": 100, "maxConcurrent": 4}')


def test_a_local_repository_is_the_one_that_its_url_says():
    workspace = {"kind": "git", "repo": "../app", "url": "/elsewhere/app"}

    (found,) = read(layer(workspace=workspace)).layers
    (worked_out,) = read(layer(workspace={"kind": "git", "repo": "../app"})).layers

    assert found.spec.workspace is not None
    assert found.spec.workspace.url == "/elsewhere/app"
    assert worked_out.spec.workspace is not None
    assert worked_out.spec.workspace.url == "/app"


def test_paths_count_from_the_given_directory(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    data = layer(
        files={"a": {"kind": "file", "path": "./a"}, "b": {"kind": "file", "path": "/b"}},
        skills=[{"kind": "skill", "source": "local", "path": "../s", "placement": "harness"}],
        sandbox={"kind": "docker", "dockerfile": "./Dockerfile"},
    )

    (found,) = checked_wire(data, directory="sub")[0].layers

    assert [content.path for content in (found.spec.files or {}).values()] == [f"{tmp_path}/sub/a", "/b"]  # type: ignore[union-attr]
    assert found.spec.skills == (skill.local(str(tmp_path / "s")),)
    assert found.spec.sandbox == docker(dockerfile=f"{tmp_path}/sub/Dockerfile")


@pytest.mark.parametrize(
    ("made", "written"),
    [
        ({"sandbox": docker()}, {"sandbox": {"kind": "docker"}}),
        ({"sandbox": podman(from_="x")}, {"sandbox": {"kind": "docker", "from": "x", "engine": "podman"}}),
        ({"sandbox": fake_sandbox(dir="/srv/x", id="f")}, {"sandbox": {"kind": "fake", "dir": "/srv/x", "id": "f"}}),
        ({"setup": [{"run": "a", "timeout": 0.25}]}, {"setup": [{"run": "a", "timeout": "250ms"}]}),
        ({"setup": [step("a", inputs=["b", "a", "b"])]}, {"setup": [{"run": "a", "inputs": ["a", "b"]}]}),
        ({"setup": [step("a", inputs=[])]}, {"setup": [{"run": "a", "inputs": []}]}),
        ({"egress": "deny-all"}, {"egress": "deny-all"}),
        ({"env": {}, "setup": [], "skills": []}, {"env": {}, "setup": [], "skills": []}),
        (
            {"env": {"A": secret.from_env("B", optional=True, to="checks", hosts=["h"], in_=["query"])}},
            {
                "env": {
                    "A": {
                        "kind": "secret",
                        "from": "B",
                        "optional": True,
                        "to": "checks",
                        "hosts": ["h"],
                        "in": ["query"],
                    }
                }
            },
        ),
        (
            {"plugins": [plugin.git("github:o/r", ref="v1.0.0", path="plugin")]},
            {"plugins": [{"kind": "plugin", "source": "git", "repo": "github:o/r", "ref": "v1.0.0", "path": "plugin"}]},
        ),
        (
            {"skills": [skill.registry("o/r@s", version="v1")]},
            {
                "skills": [
                    {"kind": "skill", "source": "registry", "id": "o/r@s", "version": "v1", "placement": "harness"}
                ]
            },
        ),
    ],
    ids=str,
)
def test_each_value_is_written_as_reeval_documents_it(made, written):
    environment = defined(made)

    assert environment_to_wire(environment)["layers"] == [{"name": "e", "spec": written}]
    assert read(environment_to_wire(environment)) == environment


def test_layers_are_written_root_first_before_merging():
    written = environment_to_wire(chain({"env": {"A": "1"}}, {"env": {"A": "2"}}))

    assert written == {
        "kind": "environment",
        "name": "e1",
        "layers": [{"name": "e0", "spec": {"env": {"A": "1"}}}, {"name": "e1", "spec": {"env": {"A": "2"}}}],
    }


def test_inputs_of_a_dictionary_are_only_for_the_wire():
    step_with_inputs: Any = {"run": "a", "inputs": ["b"]}

    assert read(layer(setup=[step_with_inputs])).layers[0].spec.setup == (step("a", inputs=["b"]),)
    with pytest.raises(DefinitionError, match='has an unknown key "inputs"'):
        define_environment("e", {"setup": [step_with_inputs]})
    assert problems_of(layer(setup=[{"run": "a", "inputs": ["../b"]}]))


UNSUPPORTED_IN_TWO = {
    "kind": "environment",
    "name": "child",
    "layers": [
        {"name": "parent", "spec": {"sandbox": {"kind": "docker", "engine": "podman", "from": "a"}}},
        {"name": "child", "spec": {"sandbox": {"kind": "docker", "engine": "podman"}}},
    ],
}


def test_what_is_not_supported_yet_is_refused_in_every_layer():
    with pytest.raises(DefinitionError) as caught:
        environment_from_wire(UNSUPPORTED_IN_TWO, directory=PROJECT)

    assert [problem.partition(" in ")[0] for problem in caught.value.problems] == ["podman()", "podman()"]


@pytest.mark.parametrize(
    ("value_s", "text"),
    [(90.0, "90s"), (300.0, "5m"), (7200.0, "2h"), (3661.0, "3661s"), (0.25, "250ms"), (0.0001, "0.1ms"), (1e22, None)],
)
def test_a_time_limit_is_written_in_the_largest_unit_that_says_it(value_s, text):
    written = duration_text(value_s)

    assert text is None or written == text
    assert seconds(written) == value_s
