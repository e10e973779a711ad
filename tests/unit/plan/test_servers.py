"""What of a server's secrets a harness is given, and what must be there for it."""

from __future__ import annotations

import pytest

from reeval_build import mcp, secret
from reeval_build.model.mcp import McpServer, RemoteServer, StdioServer
from reeval_build.plan.servers import ServerSecret, server_variables, settle_servers

HTTPS = "https://crm.example/mcp"
HTTP = "http://crm.example/mcp"
TOKEN = secret.from_env("CRM_TOKEN")


@pytest.mark.conforms("116")
@pytest.mark.parametrize(
    ("url", "value", "hosts"),
    [
        (HTTPS, TOKEN, ("crm.example",)),
        (HTTP, TOKEN, ()),
        (HTTPS, secret.from_env("CRM_TOKEN", hosts=["b.example", "a.example"]), ("a.example", "b.example")),
        (HTTP, secret.from_env("CRM_TOKEN", hosts=["a.example"]), ("a.example",)),
        (HTTPS, secret.template("Bearer ${CRM_TOKEN}"), ("crm.example",)),
        (HTTP, secret.template("Bearer ${CRM_TOKEN}"), ()),
    ],
)
def test_a_header_is_brokered_to_its_hosts_or_to_a_secure_server_and_else_passed_on(url, value, hosts):
    settled = settle_servers({"crm": mcp.http(url, headers={"Authorization": value, "Accept": "x"})}, set())

    (found,) = settled.secrets
    assert found == ServerSecret(
        server="crm", key="Authorization", place="header", variables=("CRM_TOKEN",), hosts=hosts
    )
    server = settled.servers["crm"]
    assert isinstance(server, RemoteServer)
    assert server.headers == {"Authorization": found.placeholder if hosts else value, "Accept": "x"}


@pytest.mark.parametrize("hosts", [None, ["a.example"]])
def test_a_variable_is_brokered_when_it_has_hosts(hosts):
    value = secret(hosts=hosts)
    settled = settle_servers({"docs": mcp.stdio("docs", env={"DOCS_TOKEN": value, "MODE": "x"})}, set())

    (found,) = settled.secrets
    assert (found.place, found.variables, found.mode) == ("env", ("DOCS_TOKEN",), "brokered" if hosts else "raw")
    server = settled.servers["docs"]
    assert isinstance(server, StdioServer)
    assert server.env == {"DOCS_TOKEN": found.placeholder if hosts else value, "MODE": "x"}


def test_an_optional_one_that_is_not_there_is_left_out():
    servers = {"docs": mcp.stdio("docs", env={"A_TOKEN": secret(optional=True), "B_TOKEN": secret()})}

    without, with_it = settle_servers(servers, set()), settle_servers(servers, {"A_TOKEN"})

    assert [found.key for found in without.secrets] == ["B_TOKEN"]
    assert [found.key for found in with_it.secrets] == ["A_TOKEN", "B_TOKEN"]
    assert "A_TOKEN" not in getattr(without.servers["docs"], "env", {"A_TOKEN"})


@pytest.mark.conforms("23")
def test_a_placeholder_follows_from_the_names_alone():
    def placeholder(**changed: object) -> str:
        fields = {"server": "a", "key": "b", "place": "env", "variables": ("X",), "hosts": ("h",), **changed}
        return ServerSecret(**fields).placeholder  # type: ignore[arg-type]

    assert placeholder() == placeholder(variables=("Y",), hosts=("i",))
    assert (
        len({placeholder(), placeholder(server="ab", key=""), placeholder(key="c"), placeholder(place="header")}) == 4
    )


def test_every_host_variable_is_known_before_what_is_set():
    servers: list[McpServer] = [
        mcp.http(HTTPS, headers={"A": secret.template("${ONE} ${TWO}")}),
        mcp.stdio("x", env={"THREE_TOKEN": secret(optional=True)}),
    ]

    assert server_variables(servers) == {"ONE", "TWO", "THREE_TOKEN"}
