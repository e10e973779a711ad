"""MCP servers in the files that harnesses read, and their secrets in none of them."""

from __future__ import annotations

import json
import tomllib
from typing import TYPE_CHECKING, Any, Final

import pytest
import yaml

from reeval_build.plan.secrets import placeholder

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.support.cli import ReevalBuild
    from tests.support.projects import Project

SERVERS: Final = """
"docs": mcp.stdio("docs-server", ["--all"], env={"MODE": "fast"}), "crm": mcp.http("https://crm.example.com/mcp"),
"""
VALUE: Final = "hunter2-hunter2"


def base(project: Project, servers: str, more: str = "") -> None:
    project.define(f'base = define_environment("base", {{"sandbox": fake_sandbox(), "mcp": {{{servers}}}, {more}}})\n')


def written(reeval: ReevalBuild, tmp_path: Path, harness: str, path: str) -> str:
    return (reeval.copied(f"base@{harness}", tmp_path / f"copy of {harness}") / "home" / path).read_text()


def _servers(text: str) -> Any:
    return json.loads(text)["mcpServers"]


@pytest.mark.parametrize(
    ("harness", "path", "names"),
    [
        ("claude-code", ".claude.json", _servers),
        ("cursor", ".cursor/mcp.json", _servers),
        ("antigravity", ".gemini/config/mcp_config.json", _servers),
        ("pi", ".pi/agent/mcp.json", _servers),
        ("codex", ".codex/config.toml", lambda text: tomllib.loads(text)["mcp_servers"]),
        ("grok-build", ".grok/config.toml", lambda text: tomllib.loads(text)["mcp_servers"]),
        ("opencode", ".config/opencode/opencode.json", lambda text: json.loads(text)["mcp"]),
        ("goose", ".config/goose/config.yaml", lambda text: yaml.safe_load(text)["extensions"]),
    ],
)
def test_servers_are_in_the_file_that_the_harness_reads(
    project: Project, reeval: ReevalBuild, tmp_path: Path, harness: str, path: str, names: Callable[[str], Any]
) -> None:
    base(project, SERVERS)

    assert sorted(names(written(reeval, tmp_path, harness, path))) == ["crm", "docs"]


def test_servers_change_what_a_cell_starts_with_and_not_its_snapshot(project: Project, reeval: ReevalBuild) -> None:
    base(project, SERVERS, '"setup": ["true"]')
    first = reeval.build("--harness", "claude-code")
    base(project, '"docs": mcp.stdio("docs-server", ["--some"])', '"setup": ["true"]')
    edited = reeval.build("--harness", "claude-code")

    assert edited.phases("ran") == ["mcp"]
    assert edited.snapshots == first.snapshots
    assert edited.keys["cell base@claude-code"] != first.keys["cell base@claude-code"]


@pytest.mark.conforms("118")
@pytest.mark.parametrize(
    ("harness", "servers", "said"),
    [
        ("pi", '"old": mcp.sse("https://example.com/sse")', 'the MCP server "old": it does not support SSE'),
        ("codex", '"old": mcp.sse("https://example.com/sse")', 'the MCP server "old": it does not support SSE'),
        ("codex", '"a b": mcp.stdio("x")', 'the MCP server "a b": it takes names of letters, digits'),
        ("fx", '"docs": mcp.stdio("x")', "MCP servers: the files it reads them from are not documented"),
    ],
)
def test_a_server_that_a_harness_cannot_be_given_stops_the_plan(
    project: Project, reeval: ReevalBuild, harness: str, servers: str, said: str
) -> None:
    base(project, servers)

    (message,) = reeval.build("--harness", harness, code=2).messages

    assert message.startswith(f"reeval: env.py: base@{harness}: {harness} cannot be given {said}")


def test_every_cell_that_cannot_be_planned_is_told_of_at_once(project: Project, reeval: ReevalBuild) -> None:
    base(project, '"old": mcp.sse("https://example.com/sse")')

    messages = reeval.build("--harness", "pi", "--harness", "claude-code", "--harness", "codex", code=2).messages

    assert [message.partition(": ")[2].partition(" cannot")[0] for message in messages] == [
        "env.py: base@pi: pi",
        "env.py: base@codex: codex",
    ]


HEADERS: Final = (
    'headers={"Authorization": secret.template("Bearer ${CRM_TOKEN}"), "X-Key": secret.from_env("CRM_KEY")}'
)


@pytest.mark.conforms("116", "117", "22")
def test_a_secure_servers_secrets_are_placeholders_and_must_be_there_when_a_command_runs(
    project: Project, reeval: ReevalBuild
) -> None:
    base(project, f'"crm": mcp.http("https://crm.example/mcp", {HEADERS})')
    reeval.build("--harness", "claude-code")
    run = ("run", "base@claude-code", "--", "sh", "-c", "cat ~/.claude.json; env")

    (unset,) = reeval(*run, code=3).messages
    (partly,) = reeval(*run, code=3, env={"CRM_TOKEN": VALUE}).messages
    done = reeval(*run, env={"CRM_TOKEN": VALUE, "CRM_KEY": VALUE})

    assert "mcp.crm (Authorization) needs the host variable CRM_TOKEN" in unset
    assert "mcp.crm (X-Key) needs the host variable CRM_KEY" in unset
    assert unset.endswith(", none of which is set (export them)")
    assert partly.endswith(", which is not set (export it)")
    assert "CRM_TOKEN" not in partly
    assert VALUE not in done.stdout
    assert done.stdout.count("reeval-secret-mcp-") == 2


@pytest.mark.conforms("116")
def test_a_plain_servers_secrets_are_given_to_the_harness_in_variables(project: Project, reeval: ReevalBuild) -> None:
    base(project, f'"crm": mcp.http("http://crm.example/mcp", {HEADERS})')

    done = reeval(
        *("run", "base@claude-code", "--", "sh", "-c", "cat ~/.claude.json; printf %s $CRM_TOKEN | wc -c"),
        env={"CRM_TOKEN": VALUE, "CRM_KEY": VALUE},
    )

    assert '"Authorization": "Bearer ${CRM_TOKEN}"' in done.stdout
    assert '"X-Key": "${CRM_KEY}"' in done.stdout
    assert f"\n{len(VALUE)}\n" in done.stdout


def test_values_of_one_name_that_a_server_and_env_have_are_both_redacted(project: Project, reeval: ReevalBuild) -> None:
    base(
        project,
        '"crm": mcp.http("https://crm.example/mcp", headers={"X-Key": secret.from_env("CRM_KEY")})',
        '"env": {"CRM_KEY": secret.from_env("OTHER_KEY", hosts=["other.example"])}',
    )

    done = reeval(
        *("run", "base@claude-code", "--", "sh", "-c", f"echo $CRM_KEY; echo {VALUE}; echo another-value"),
        env={"CRM_KEY": VALUE, "OTHER_KEY": "another-value"},
    )

    assert done.stdout.splitlines()[:3] == [placeholder("CRM_KEY"), "[secret CRM_KEY]", "[secret CRM_KEY]"]


@pytest.mark.conforms("30")
@pytest.mark.parametrize("value", ["a\nb", "a b", "a\tb"])
def test_white_space_in_a_headers_value_is_refused_when_a_command_would_run(
    project: Project, reeval: ReevalBuild, value: str
) -> None:
    base(project, '"crm": mcp.http("https://crm.example/mcp", headers={"X-Key": secret.from_env("CRM_KEY")})')

    (message,) = reeval("run", "base@claude-code", "--", "true", code=3, env={"CRM_KEY": value}).messages

    assert "the host variable CRM_KEY, which mcp.crm (X-Key) needs, has white space or a line break" in message
    assert value not in message


def test_an_optional_secret_that_is_not_set_is_left_out_and_makes_another_cell(
    project: Project, reeval: ReevalBuild, tmp_path: Path
) -> None:
    base(project, '"docs": mcp.stdio("docs", env={"DOCS_TOKEN": secret(optional=True), "MODE": "x"})')
    without = reeval.build("--harness", "claude-code")
    env = written(reeval, tmp_path, "claude-code", ".claude.json")
    with_it = reeval.build("--harness", "claude-code", env={"DOCS_TOKEN": VALUE})

    assert json.loads(env)["mcpServers"]["docs"]["env"] == {"MODE": "x"}
    assert with_it.phases("ran") == ["mcp"]
    assert with_it.keys["cell base@claude-code"] != without.keys["cell base@claude-code"]
    assert VALUE not in with_it.stdout + with_it.stderr


def test_a_variable_that_means_something_else_to_the_environment_is_refused(
    project: Project, reeval: ReevalBuild
) -> None:
    servers = '"docs": mcp.stdio("docs", env={"DOCS_MODE": secret()})'
    base(project, servers, '"env": {"DOCS_MODE": "x"}')
    (message,) = reeval.build("--harness", "claude-code", code=2).messages
    base(project, servers, '"env": {"DOCS_MODE": secret(to="checks")}')
    reeval.build("--harness", "claude-code", code=2)
    for same in ("secret()", 'secret.from_env("DOCS_MODE", optional=True)'):
        base(project, servers, f'"env": {{"DOCS_MODE": {same}}}')
        reeval.build("--harness", "claude-code")

    assert message == (
        "reeval: env.py: base@claude-code: an MCP server reads the host variable DOCS_MODE, "
        "but env.DOCS_MODE is something else"
    )
