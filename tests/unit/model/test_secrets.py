from __future__ import annotations

from typing import Any

import pytest

from reeval_build import secret
from reeval_build.errors import DefinitionError
from reeval_build.model.egress import AllowHosts
from reeval_build.model.secrets import Secret, SecretTemplate
from tests.support.definitions import mistakes, spec_of

WHERE = 'defineEnvironment("e")'


def problems(make) -> tuple[str, ...]:
    with pytest.raises(DefinitionError) as caught:
        make()
    return caught.value.problems


@pytest.mark.conforms("18")
def test_a_secret_is_the_variable_of_its_key_or_of_a_name():
    assert secret() == Secret(name=None, optional=False, to="agent", hosts=None, in_=None)
    assert secret.from_env("X") == Secret(name="X")


def test_options_of_a_secret():
    made = secret(optional=True, to="checks", hosts=["API.example.com", "*.example.org"], in_=["header", "body"])

    assert made == Secret(
        optional=True, to="checks", hosts=("api.example.com", "*.example.org"), in_=("header", "body")
    )
    assert secret.from_env("X", hosts=secret.hosts.github).hosts == ("api.github.com", "uploads.github.com")


def test_presets_of_hosts():
    assert secret.hosts.google == ("generativelanguage.googleapis.com",)
    assert secret.hosts.openai == ("api.openai.com",)
    assert secret.hosts.anthropic == ("api.anthropic.com",)


@pytest.mark.conforms("27")
def test_a_place_without_hosts_is_refused():
    expected = ("in_ in secret() is only for a secret with hosts: it says where in a request to them",)

    assert problems(lambda: secret(in_=["header"])) == expected
    assert mistakes({"env": {"A": {"kind": "secret", "in": ["header"]}}}) == (f"env.A in {WHERE}: {expected[0]}",)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"optional": "yes"}, 'optional in secret() must be True or False (got "yes")'),
        ({"to": "setup"}, 'to in secret() must be "agent" or "checks" (got "setup")'),
        ({"hosts": "h"}, 'hosts in secret() must be a list of hosts (got "h")'),
        ({"hosts": []}, "hosts in secret() must be a list of hosts, at least one of them (got [])"),
        ({"hosts": ["h"], "in_": ["cookie"]}, 'in_[0] in secret() must be "header", "query" or "body" (got "cookie")'),
        ({"hosts": ["h"], "in_": []}, "in_ in secret() must be a list of places, at least one of them (got [])"),
    ],
)
def test_a_bad_option_of_a_secret_is_refused(options, message):
    assert problems(lambda: secret(**options)) == (message,)


@pytest.mark.parametrize(
    "host",
    [
        "",
        "https://h",
        "h/x",
        "h:443",
        "*",
        "*.",
        "a.*.b",
        "**.b",
        ".h",
        "h.",
        "a..b",
        "-a.b",
        "a b",
        "é.example",
        3,
        None,
    ],
)
def test_what_is_no_host_is_refused(host):
    for make in (
        lambda: problems(lambda: secret(hosts=[host])),
        lambda: mistakes({"egress": {"allow": ["h", host]}}),
    ):
        (problem,) = make()
        assert "must be the name of a host such as api.example.com, or *.example.com for subdomains (got " in problem


@pytest.mark.parametrize("name", ["", "1A", "A-B", "a b", "é", 3, None, "ghp_abc"])
def test_what_is_no_variables_name_is_refused_and_not_shown(name):
    expected = (
        'name in secret.from_env() must be the name of a host variable: letters, digits and "_", '
        'starting with a letter or "_"; never the secret itself'
    )

    assert problems(lambda: secret.from_env(name)) == (expected,)


@pytest.mark.parametrize("template", ["${T}", "Bearer ${TOKEN}", "${A}:${B}", "a$b ${C} {d} }"])
def test_a_template_has_names_in_it(template):
    assert secret.template(template) == SecretTemplate(template)


def test_the_names_of_a_template_are_each_once_in_order():
    assert secret.template("${B} ${A} ${B}").names == ("B", "A")


@pytest.mark.parametrize("template", ["", "Bearer abc", "$TOKEN", 3, None, "a\0${B}", "{B}"])
def test_a_template_without_names_is_refused(template):
    assert problems(lambda: secret.template(template)) == (
        "template in secret.template() must be text with the names of host variables in it, such as 'Bearer ${TOKEN}'",
    )


@pytest.mark.parametrize("template", ["${}", "${1A}", "${A-B}", "${A} ${", "${A", "${A} ${B C}", "${A${B}}"])
def test_a_template_with_another_name_is_refused(template):
    (problem,) = problems(lambda: secret.template(template))

    assert problem.startswith("template in secret.template() has a ${…} that is not the name of a host variable")


def test_a_secret_may_be_written_as_the_dictionary_it_is():
    written = {"kind": "secret", "from": "X", "optional": True, "to": "checks", "hosts": ["h"], "in": ["query"]}

    assert spec_of({"env": {"A": written, "B": {"kind": "secret"}}}).env == {
        "A": secret.from_env("X", optional=True, to="checks", hosts=["h"], in_=["query"]),
        "B": secret(),
    }


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ({"kind": "secret", "from_": "X"}, "secret() has no option from_"),
        (
            {"kind": "secret", "from": "a b"},
            (
                'name in secret() must be the name of a host variable: letters, digits and "_", starting '
                'with a letter or "_"; never the secret itself'
            ),
        ),
        (secret.template("${B}"), f"env.A in {WHERE} is a secret.template(), which only a header can be"),
    ],
    ids=str,
)
def test_a_bad_secret_of_an_environment_is_refused(value, message):
    (problem,) = mistakes({"env": {"A": value}})

    assert message in problem


# Egress --------------------------------------------------------------------------------------------------------------


def test_egress_is_a_policy_or_hosts():
    for policy in ("proxy", "allow-all", "deny-all"):
        assert spec_of({"egress": policy}).egress == policy
    assert spec_of({"egress": {"allow": ["a.b", "*.c.d", "A.b"]}}).egress == AllowHosts(("a.b", "*.c.d"))
    assert spec_of({"egress": {"allow": ()}}).egress == AllowHosts(())


@pytest.mark.parametrize(
    ("value", "got"),
    [
        ("open", '"open"'),
        (None, "null"),
        (["h"], '["h"]'),
        ({}, "{}"),
        ({"allow": ["h"], "deny": []}, '{"allow":["h"],"deny":[]}'),
        (True, "true"),
    ],
)
def test_any_other_egress_is_refused(value, got):
    assert mistakes({"egress": value}) == (
        f'egress in {WHERE} must be "proxy", "allow-all", "deny-all" or {{ allow: hosts }} (got {got})',
    )


def test_hosts_are_a_list():
    bad: Any = {"egress": {"allow": "h"}}

    assert mistakes(bad) == (f'egress.allow in {WHERE} must be a list of hosts (got "h")',)
