"""Where a sandbox may connect: one form of a policy, what it allows, and what every policy allows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reeval_build import mcp, secret
from reeval_build.model.egress import (
    DEFAULT_POLICY,
    POLICIES,
    AllowHosts,
    allows,
    automatic_hosts,
    effective,
    is_restricted,
)

if TYPE_CHECKING:
    from reeval_build.model.mcp import McpServer
    from reeval_build.model.secrets import Secret

_names = st.from_regex(r"[a-c]{1,2}(\.[a-cA-C]{1,2}){0,2}", fullmatch=True)
_patterns = st.builds(lambda prefix, name: prefix + name, st.sampled_from(["", "*."]), _names)
_lists = st.lists(_patterns, max_size=4).map(lambda hosts: AllowHosts(tuple(hosts)))
_policies = st.none() | st.sampled_from(POLICIES) | _lists


def test_without_a_policy_it_is_the_default():
    assert effective(None) == DEFAULT_POLICY == "proxy"
    assert [effective(policy) for policy in POLICIES] == [*POLICIES]


def test_hosts_are_sorted_in_lower_case_and_each_once():
    assert effective(AllowHosts(("b.example", "A.example", "a.Example", "*.B.example"))) == AllowHosts(
        ("*.b.example", "a.example", "b.example")
    )


@given(_policies, _names)
def test_the_one_form_of_a_policy_allows_what_the_policy_does(policy, host):
    assert allows(effective(policy), host) == allows(policy, host)
    assert effective(effective(policy)) == effective(policy)


@given(st.lists(_patterns, max_size=4), st.randoms(use_true_random=False))
def test_the_order_and_the_case_in_which_hosts_are_written_make_no_difference(hosts, random):
    other = [host.upper() if random.random() < 0.5 else host for host in [*hosts, *hosts[:1]]]
    random.shuffle(other)

    assert effective(AllowHosts(tuple(other))) == effective(AllowHosts(tuple(hosts)))


@pytest.mark.conforms("119")
@pytest.mark.parametrize(
    ("host", "allowed"),
    [
        ("x.com", False),
        ("a.x.com", True),
        ("A.X.COM", True),
        ("a.b.x.com", True),
        ("ax.com", False),
        (".x.com", False),
        ("x.com.evil", False),
        ("y.com", True),
        ("a.y.com", False),
    ],
)
def test_a_star_stands_for_every_subdomain_and_not_for_the_host_itself(host, allowed):
    assert allows(AllowHosts(("*.x.com", "y.com")), host) is allowed


@pytest.mark.conforms("119")
@given(_policies, _names)
def test_automatic_hosts_are_allowed_under_every_policy_and_no_others_besides_under_deny_all(policy, host):
    assert allows(policy, host, automatic=(host,))
    assert allows("deny-all", host) is False
    assert allows("deny-all", "api.example", automatic=("*.example",))
    assert not allows("deny-all", "api.other", automatic=("*.example",))


@given(_policies, _names)
def test_what_is_not_restricted_allows_every_host(policy, host):
    assert is_restricted(policy) == (policy not in {None, "proxy", "allow-all"})
    assert is_restricted(policy) or allows(policy, host)


def test_automatic_hosts_are_those_of_brokered_secrets_and_of_servers():
    variables: list[str | Secret] = [
        "a literal",
        secret(),
        secret(hosts=["API.example"]),
        secret.from_env("X", to="checks", hosts=["*.checks.example", "api.example"]),
    ]
    servers: list[McpServer] = [
        mcp.http("https://User.example:8443/mcp?x=1", headers={"A": secret.from_env("T", hosts=["headers.example"])}),
        mcp.sse("http://[::1]:80/", headers={"B": secret.template("Bearer ${T}"), "C": "plain"}),
        mcp.stdio("npx", env={"A": "b", "C": secret.from_env("D", hosts=["of-stdio.example"])}),
    ]

    assert automatic_hosts(variables, servers) == (
        "*.checks.example",
        "::1",
        "api.example",
        "headers.example",
        "of-stdio.example",
        "user.example",
    )
    assert automatic_hosts([], []) == ()
