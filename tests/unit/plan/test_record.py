from __future__ import annotations

import json
from typing import Any, Literal

import attrs
import pytest

from reeval_build import EnvironmentSpec, define_environment, docker, git, mcp, secret
from reeval_build.digest import BLOB
from reeval_build.plan.outputs import SnapshotOutput, content_of
from reeval_build.plan.record import (
    EgressRecord,
    FileRecord,
    HarnessRecord,
    PhaseRecord,
    SecretRecord,
    ServerRecord,
    SetupRecord,
    WorkspaceRecord,
)
from reeval_build.plan.recording import NodeEnd, cell_record
from reeval_build.plan.resolution import ResolvedTree
from reeval_build.state.state import State
from tests.support.plans import cell, graph_of

ONE = BLOB.digest(b"one")
SNAPSHOT = SnapshotOutput(state=State(ONE), baseline=ONE, placed=ONE)


def record_of(graph, at=0, *, status="ran"):
    ends = {recipe: NodeEnd(status=status, seconds=1.5) for recipe in graph.nodes}
    return cell_record(graph.cells[at], graph, SNAPSHOT, ends)


@pytest.mark.conforms("58", "121", "123")
def test_the_record_of_a_cell_says_what_it_starts_as_and_what_that_came_from():
    workspace = git("github:o/r", ref="main", path="sub", init=True)
    resolved = ResolvedTree(tree="a" * 40, commit="c" * 40, warnings=("not comparable",))
    environment = define_environment(
        "base", {"sandbox": docker(from_="x:1"), "workspace": workspace, "env": {"A": "1"}, "setup": ["s"]}
    ).extend("child", {"env": {"A": "2"}, "rules": "r", "files": {"~/.rc": "x"}})
    graph = graph_of(cell(environment, "claude-code"), workspaces={workspace.repo: resolved})

    record = record_of(graph)

    assert record.name == "child@claude-code"
    assert (record.environment, record.layers) == ("child", ("base", "child"))
    assert record.harness == HarnessRecord(kind="claude-code", id="claude-code")
    assert (record.sandbox.kind, record.sandbox.base) == ("docker", "x:1")
    assert record.workspace == WorkspaceRecord(
        repo="github:o/r", ref="main", path="sub", init=True, commit="c" * 40, tree="a" * 40
    )
    assert (record.overrides, dict(record.env.literals)) == (("env.A",), {"A": "2"})
    assert record.files == (FileRecord(path="~/.rc", digest=BLOB.digest(b"x").hex, executable=False),)
    assert record.rules == FileRecord(path="CLAUDE.md", digest=BLOB.digest(b"r").hex, executable=False)
    assert record.warnings == ("env.py: not comparable",)
    assert (record.key, record.snapshot) == (graph.cells[0].key.hex, content_of(SNAPSHOT).hex)
    assert record.phases == tuple(
        PhaseRecord(phase=node.phase, key=node.recipe.hex, status="ran", seconds=1.5) for node in graph.nodes.values()
    )


@pytest.mark.parametrize(("status", "cached"), [("hit", True), ("ran", False)])
def test_the_record_of_a_cell_says_which_steps_were_taken_from_the_store(status, cached):
    graph = graph_of(cell(define_environment("e", {"setup": [{"run": "s", "cwd": "sub"}]})))

    (step,) = record_of(graph, status=status).setup

    assert step == SetupRecord(run="s", cwd="sub", key=step.key, cached=cached, seconds=1.5)
    assert step.key in {recipe.hex for recipe in graph.nodes}


@pytest.mark.conforms("20", "123")
def test_the_record_of_a_cell_names_secrets_and_which_were_skipped():
    spec: EnvironmentSpec = {
        "env": {
            "A_TOKEN": secret(),
            "B_TOKEN": secret.from_env("HOST_B", hosts=["b.example"], to="checks"),
            "C_TOKEN": secret(optional=True),
        },
        "mcp": {
            "crm": mcp.http("https://crm.example/mcp", headers={"Authorization": secret.template("Bearer ${CRM}")}),
            "docs": mcp.stdio("docs-server", ["x"]),
        },
    }
    graph = graph_of(cell(define_environment("e", spec)), variables=frozenset({"HOST_B"}))

    record = record_of(graph)

    def shown(name: str, variable: str, status: Literal["set", "skipped", "unset"], **more: Any) -> SecretRecord:
        plain = SecretRecord(name=name, variable=variable, mode="raw", hosts=(), places=(), to="agent", status=status)
        return attrs.evolve(plain, **more)

    assert record.env.secrets == (
        shown("A_TOKEN", "A_TOKEN", "unset"),
        shown("B_TOKEN", "HOST_B", "set", mode="brokered", hosts=("b.example",), places=("header",), to="checks"),
        shown("C_TOKEN", "C_TOKEN", "skipped"),
    )
    assert record.mcp == {
        "crm": ServerRecord(transport="http", command=None, url="https://crm.example/mcp", secrets=("CRM",)),
        "docs": ServerRecord(transport="stdio", command="docs-server", url=None, secrets=()),
    }


@pytest.mark.conforms("119")
@pytest.mark.parametrize(
    ("egress", "policy", "allow"),
    [
        (None, "proxy", ()),
        ("deny-all", "deny-all", ()),
        ({"allow": ["b.example", "A.example"]}, "allow", ("a.example", "b.example")),
    ],
)
def test_the_record_of_a_cell_says_where_its_sandbox_may_connect(egress, policy, allow):
    environment = define_environment("e", {} if egress is None else {"egress": egress})

    record = record_of(graph_of(cell(environment)))

    assert record.egress == EgressRecord(policy=policy, allow=allow, automatic=())


def test_the_record_of_a_cell_without_a_workspace_says_none():
    assert record_of(graph_of(cell(define_environment("e", {})))).workspace is None


def test_the_record_has_the_keys_of_its_own_nodes_only():
    graph = graph_of(*(cell(define_environment(name, {"setup": [name]})) for name in "ab"))

    record = record_of(graph, 1)

    assert [phase.phase for phase in record.phases] == ["base", "root", "setup", "snapshot"]


@pytest.mark.conforms("124")
def test_what_a_cell_is_called_is_in_its_key_and_not_in_its_digest():
    spec: EnvironmentSpec = {"env": {"A": "1"}, "setup": ["s"]}
    one = define_environment("one", spec)
    other = define_environment("root", {"env": {"A": "1"}}).extend("other", {"setup": ["s"]})
    graph = graph_of(cell(one), cell(other))

    first, second = (record_of(graph, at) for at in range(2))

    assert first.digest == second.digest
    assert first.key != second.key
    assert first.phases == second.phases


def test_a_record_is_plain_data():
    record = record_of(graph_of(cell(define_environment("e", {"env": {"A": "1"}, "setup": ["s"]}))))

    assert json.loads(json.dumps(attrs.asdict(record)))["env"] == {"literals": {"A": "1"}, "secrets": []}
