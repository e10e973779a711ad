from __future__ import annotations

import pytest

from reeval_build.content.registries import Registries
from reeval_build.content.runners import may_fetch, server_runner, text_runner
from reeval_build.model.egress import AllowHosts
from reeval_build.model.mcp import RemoteServer, StdioServer


@pytest.mark.parametrize(
    ("command", "args", "runner"),
    [
        ("npx", ("-y", "x"), "npx"),
        ("/usr/local/bin/npx", (), "npx"),
        ("C:\\node\\npx.cmd", (), "npx"),
        ("bunx", (), "bunx"),
        ("uvx", ("x",), "uvx"),
        ("pipx", ("run", "x"), "pipx run"),
        ("pipx", ("list",), None),
        ("node", ("npx",), None),
        ("npx-like", (), None),
        ("sh", ("-c", "cd /x && npx -y y"), "npx"),
        ("env", ("A=1", "uvx", "x"), "uvx"),
        ("npx -y x", (), "npx"),
        ("bash", ("-lc", "exec pipx  run x"), "pipx run"),
        ("bash", ("-c", "echo mynpx"), None),
    ],
)
def test_a_server_is_seen_to_fetch_a_package(command, args, runner):
    assert server_runner(StdioServer(command=command, args=args)) == runner


def test_a_remote_server_runs_nothing():
    assert server_runner(RemoteServer(transport="http", url="https://npx")) is None


@pytest.mark.parametrize(
    ("text", "runner"),
    [
        ("npx prettier --check .", "npx"),
        ("test -f a && npx b", "npx"),
        ("x=$(uvx ruff)", "uvx"),
        ("./node_modules/.bin/npx b", "npx"),
        ("bash -c 'bunx b'", "bunx"),
        ("a;npx b", "npx"),
        ("pipx\trun black", "pipx run"),
        ("pipx install black", None),
        ("echo npxs", None),
        ("cat my-npx", None),
        ("", None),
    ],
)
def test_a_shell_command_is_seen_to_fetch_a_package(text, runner):
    assert text_runner(text) == runner


REGISTRIES = Registries.of(["npm.example", "code.example", "*.code.example", "pypi.example", "files.python.example"])


def test_the_registries_are_told_apart_among_the_advised_hosts():
    assert Registries(npm=("npm.example",), python=("pypi.example", "files.python.example")) == REGISTRIES


@pytest.mark.parametrize(
    ("egress", "automatic", "npm", "python"),
    [
        (None, (), True, True),
        ("proxy", (), True, True),
        ("allow-all", (), True, True),
        ("deny-all", (), False, False),
        ("deny-all", ("npm.example",), True, False),
        (AllowHosts(()), (), False, False),
        (AllowHosts(("NPM.example",)), (), True, False),
        (AllowHosts(("pypi.example",)), (), False, False),
        (AllowHosts(("pypi.example", "*.python.example")), (), False, True),
        (AllowHosts(("*.npm.example",)), (), False, False),
        (AllowHosts(("*.example",)), (), True, True),
        (AllowHosts(("xnpm.example", "example")), (), False, False),
    ],
)
@pytest.mark.conforms("111")
def test_a_policy_allows_a_registry_or_not(egress, automatic, npm, python):
    assert may_fetch(egress, REGISTRIES.needed("npx"), automatic=automatic) is npm
    assert may_fetch(egress, REGISTRIES.needed("bunx"), automatic=automatic) is npm
    assert may_fetch(egress, REGISTRIES.needed("uvx"), automatic=automatic) is python
    assert may_fetch(egress, REGISTRIES.needed("pipx run"), automatic=automatic) is python


def test_no_list_allows_a_registry_that_is_not_known():
    unknown = Registries.of(["code.example"])

    assert not may_fetch(AllowHosts(("code.example",)), unknown.needed("npx"))
    assert may_fetch("proxy", unknown.needed("npx"))
