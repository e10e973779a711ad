"""MCP servers: what the helper and dictionaries make, and what is refused."""

from __future__ import annotations

from typing import Any

import pytest

from reeval_build import mcp, plugin, secret, skill
from reeval_build.errors import DefinitionError
from reeval_build.model.mcp import RemoteServer, StdioServer
from reeval_build.model.secrets import Secret, SecretTemplate
from tests.support.definitions import mistakes

WHERE = 'defineEnvironment("e")'
SECRET = "hunter2-f00d"


def problems(make) -> tuple[str, ...]:
    with pytest.raises(DefinitionError) as caught:
        make()
    return caught.value.problems


def test_server_helpers_make_values():
    assert mcp.stdio("npx", ["-y", "s"], env={"A": "1", "TOKEN": secret()}) == StdioServer(
        command="npx", args=("-y", "s"), env={"A": "1", "TOKEN": Secret()}
    )
    assert mcp.stdio("x") == StdioServer(command="x")
    assert mcp.http("https://h/mcp", headers={"Authorization": secret.template("Bearer ${T}")}) == RemoteServer(
        transport="http", url="https://h/mcp", headers={"Authorization": SecretTemplate("Bearer ${T}")}
    )
    assert mcp.sse("http://localhost:3000") == RemoteServer(transport="sse", url="http://localhost:3000")
    assert len({mcp.stdio("x"), mcp.stdio("x", env={"A": "1"}), mcp.http("http://h")}) == 3


@pytest.mark.conforms("115")
@pytest.mark.parametrize("command", ["", " ", 3, None, "a\0"])
def test_an_empty_command_is_refused(command):
    (problem,) = problems(lambda: mcp.stdio(command))

    assert problem.startswith("command in mcp.stdio() must be the name of a program (got ")


@pytest.mark.conforms("115")
@pytest.mark.parametrize(
    "url", ["", "x", "example.com", "ftp://h", "https://", "https://h:x", "https:// h", "https://[", "//h", 3, None]
)
@pytest.mark.parametrize("make", [mcp.http, mcp.sse])
def test_what_is_no_url_is_refused(make, url):
    (problem,) = problems(lambda: make(url))

    assert " must be a URL of http or https (got " in problem


@pytest.mark.parametrize(
    "make",
    [
        lambda: mcp.http(f"https://u:{SECRET}@h/"),
        lambda: mcp.http(f"https://{SECRET}@h/"),
        lambda: mcp.http(f"ftp://h/?token={SECRET}"),
        lambda: mcp.stdio("x", env={"API_TOKEN": SECRET}),
        lambda: mcp.stdio("x", env={"A": [SECRET]}),  # type: ignore[dict-item]
        lambda: mcp.stdio("x", env=f"API_TOKEN={SECRET}"),  # type: ignore[arg-type]
        lambda: mcp.stdio("x", env={"A": {"kind": "secret", "from": SECRET}}),
        lambda: mcp.http("http://h", headers={"A": f"{SECRET}\n"}),
        lambda: mcp.http("http://h", headers={"A": [SECRET]}),  # type: ignore[dict-item]
        lambda: mcp.http("http://h", headers=[SECRET]),  # type: ignore[arg-type]
        lambda: secret.template(f"Bearer {SECRET}"),
        lambda: secret.template(f"Bearer ${{{SECRET}}}"),
        lambda: secret.from_env(SECRET),
        lambda: secret.from_env(f"ghp_{SECRET}"),
        lambda: skill.git(f"https://u:{SECRET}@h/r"),
        lambda: plugin.git(f"https://{SECRET}@h/r"),
        lambda: plugin.npm(f"git+https://u:{SECRET}@h/r"),
        lambda: plugin.marketplace(f"lint@https://u:{SECRET}@h/r"),
        lambda: plugin.marketplace(f"@https://u:{SECRET}@h/r"),
        lambda: plugin.marketplace(f"lint@npm:https://u:{SECRET}@h/r", ref="v1"),
    ],
)
def test_what_may_be_a_secret_is_not_in_the_message(make):
    assert SECRET not in str(problems(make))


@pytest.mark.parametrize(
    "value",
    [
        {"command": "npx", "env": {"A": SECRET}},
        {"url": "x", "headers": {"Authorization": f"Bearer {SECRET}"}},
        {"command": "npx", "args": [f"--token={SECRET}"]},
        {"kind": "mcp", "transport": "stdio", "command": "x", "env": {"API_KEY": SECRET}},
        {"kind": "mcp", "transport": "http", "url": f"https://u:{SECRET}@h", "headers": {}},
        f"curl -H 'Authorization: Bearer {SECRET}'",
        f"user:{SECRET}@example.com/x",
    ],
    ids=str,
)
def test_what_may_be_a_secret_in_a_server_is_not_in_the_message(value):
    assert SECRET not in str(mistakes({"mcp": {"docs": value}}))


@pytest.mark.conforms("115", "message: mcp")
@pytest.mark.parametrize(
    ("value", "got"),
    [
        ({"command": "npx"}, '{"command":"npx"}'),
        ("npx", '"npx"'),
        ({"kind": "mcp"}, '{"kind":"mcp"}'),
        ({"kind": "mcp", "transport": "ws"}, '{"kind":"mcp","transport":"ws"}'),
        (None, "null"),
    ],
)
def test_a_server_that_is_not_from_the_helper_is_refused(value, got):
    assert mistakes({"mcp": {"docs": value}}) == (
        f"mcp.docs in {WHERE} must come from the mcp helper, e.g. mcp.stdio('npx', ['-y', 'server']) (got {got})",
    )


@pytest.mark.parametrize(("value", "got"), [([], "[]"), (None, "null"), ("x", '"x"')])
def test_servers_that_are_no_mapping_are_refused(value, got):
    assert mistakes({"mcp": value}) == (f"mcp in {WHERE} must be a mapping of names to servers (got {got})",)


@pytest.mark.parametrize(
    ("headers", "message"),
    [
        ({"A B": "x"}, 'headers["A B"] in mcp.http() is not the name of a header'),
        ({"A": "x\ny"}, "headers.A in mcp.http() must be a string of one line, a secret or secret.template()"),
        (
            {"A": secret()},
            "headers.A in mcp.http() is a secret() without a name; a header needs secret.from_env('NAME')",
        ),
        (
            {"A": secret.from_env("B", to="checks")},
            'headers.A in mcp.http() is a secret that only goes to="checks", but the agent starts the server',
        ),
        (
            {"A": {"kind": "secret", "hosts": "x"}},
            'headers.A in mcp.http(): hosts in secret() must be a list of hosts (got "x")',
        ),
    ],
)
def test_a_bad_header_is_refused(headers, message):
    assert problems(lambda: mcp.http("http://h", headers=headers)) == (message,)


@pytest.mark.parametrize(
    ("env", "message"),
    [
        (
            {"1": "x"},
            'env["1"] in mcp.stdio() is not a variable name: letters, digits and "_", starting with a letter or "_"',
        ),
        ({"A": 3}, "env.A in mcp.stdio() must be a string of valid Unicode without NUL, or a secret"),
        (
            {"A_KEY": "x"},
            (
                "env.A_KEY in mcp.stdio() is a literal string. Pass secrets with secret.fromEnv() so "
                "they're redacted and never recorded."
            ),
        ),
        ({"A": secret.template("${B}")}, "env.A in mcp.stdio() is a secret.template(), which only a header can be"),
    ],
)
def test_a_bad_variable_of_a_server_is_refused(env, message):
    assert problems(lambda: mcp.stdio("x", env=env)) == (message,)


def test_args_are_a_list_of_text():
    for args in ("-y", [3], None):
        bad: Any = args
        (problem,) = problems(lambda: mcp.stdio("x", bad))  # noqa: B023 - called at once
        assert problem.startswith("args in mcp.stdio() must be a list of text (got ")
