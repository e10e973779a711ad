from __future__ import annotations

from typing import Any

import pytest

from reeval_build import define_environment, docker, git, secret
from reeval_build.digest import BLOB
from reeval_build.plan.outputs import SnapshotOutput, content_of
from reeval_build.plan.record import EgressRecord, SecretRecord, WorkspaceRecord, cell_record
from reeval_build.plan.resolution import ResolvedTree
from reeval_build.state.state import State
from tests.support.plans import cell, graph_of

ONE = BLOB.digest(b"one")
SNAPSHOT = SnapshotOutput(state=State(ONE), baseline=ONE, placed=ONE)


@pytest.mark.conforms("58", "121", "123")
def test_the_record_of_a_cell_says_what_it_starts_as_and_what_that_came_from():
    workspace = git("github:o/r", ref="main", path="sub", init=True)
    resolved = ResolvedTree(tree="a" * 40, commit="c" * 40, warnings=("not comparable",))
    environment = define_environment(
        "base", {"sandbox": docker(from_="x:1"), "workspace": workspace, "env": {"A": "1"}, "setup": ["s"]}
    ).extend("child", {"env": {"A": "2"}, "rules": "r"})
    graph = graph_of(cell(environment, "claude-code"), workspaces={workspace.repo: resolved})

    record = cell_record(graph.cells[0], graph, SNAPSHOT)

    assert record.name == "child@claude-code"
    assert (record.environment, record.layers, record.harness) == ("child", ("base", "child"), "claude-code")
    assert (record.sandbox, record.base) == ("docker", "x:1")
    assert record.workspace == WorkspaceRecord(
        repo="github:o/r", ref="main", path="sub", init=True, commit="c" * 40, tree="a" * 40
    )
    assert (record.overrides, dict(record.env), record.setup) == (("env.A",), {"A": "2"}, ("s",))
    assert record.warnings == ("env.py: not comparable",)
    assert (record.key, record.snapshot) == (graph.cells[0].key.hex, content_of(SNAPSHOT).hex)
    assert record.phase_keys == tuple((node.phase, node.recipe.hex) for node in graph.nodes.values())


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
    graph = graph_of(cell(environment))

    record = cell_record(graph.cells[0], graph, SNAPSHOT)

    assert record.egress == EgressRecord(policy=policy, allow=allow, automatic=())


def test_the_record_of_a_cell_without_a_workspace_says_none():
    graph = graph_of(cell(define_environment("e", {})))

    assert cell_record(graph.cells[0], graph, SNAPSHOT).workspace is None


def test_the_record_has_the_keys_of_its_own_nodes_only():
    graph = graph_of(*(cell(define_environment(name, {"setup": [name]})) for name in "ab"))

    record = cell_record(graph.cells[1], graph, SNAPSHOT)

    assert [phase for phase, _key in record.phase_keys] == ["base", "root", "setup", "snapshot"]


@pytest.mark.conforms("20", "123")
def test_the_record_of_a_cell_has_the_names_of_its_secrets_and_which_were_skipped():
    env: Any = {
        "A": secret.from_env("X", to="checks"),
        "B": secret(optional=True),
        "C": secret(hosts=["c.example"], in_=["query"]),
    }
    graph = graph_of(cell(define_environment("e", {"env": env})), variables={"X"})

    record = cell_record(graph.cells[0], graph, SNAPSHOT)

    assert record.secrets == (
        SecretRecord(name="A", variable="X", mode="raw", hosts=(), places=(), to="checks", present=True),
        SecretRecord(name="B", variable="B", mode="raw", hosts=(), places=(), to="agent", present=False),
        SecretRecord(
            name="C", variable="C", mode="brokered", hosts=("c.example",), places=("query",), to="agent", present=True
        ),
    )
    assert record.env == {}
