"""Skills, plugins and MCP servers: what helpers and dictionaries make, and what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from reeval_build import DEFAULT_SKILL_EXCLUDE, mcp, plugin, secret, skill
from reeval_build.errors import DefinitionError
from reeval_build.model.mcp import RemoteServer, StdioServer
from reeval_build.model.plugins import (
    GitMarketplace,
    GitPlugin,
    LocalPlugin,
    MarketplacePlugin,
    NpmMarketplace,
    NpmPlugin,
    PluginBuild,
)
from reeval_build.model.secrets import Secret, SecretTemplate
from reeval_build.model.skills import GitSkills, InlineSkill, LocalSkills, NpmSkills, RegistrySkill
from tests.support.definitions import mistakes, spec_of

HERE = Path(__file__).parent
WHERE = 'defineEnvironment("e")'
SECRET = "hunter2-f00d"


def problems(make) -> tuple[str, ...]:
    with pytest.raises(DefinitionError) as caught:
        make()
    return caught.value.problems


# Skills --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("made", "expected"),
    [
        (skill.local("./s"), LocalSkills(path=f"{HERE}/s")),
        (skill.local("/s", only=["a", "a"], exclude=[]), LocalSkills(path="/s", only=("a",), exclude=())),
        (
            skill.local("s", exclude=[*DEFAULT_SKILL_EXCLUDE, "*.bak"], placement="workspace"),
            LocalSkills(
                path=f"{HERE}/s", exclude=("/evals/", ".history/", "*.eval.ts", "*.bak"), placement="workspace"
            ),
        ),
        (skill.git("github:o/r"), GitSkills(repo="github:o/r", url="https://github.com/o/r.git")),
        (
            skill.git("https://github.com/o/r/tree/v1/a"),
            GitSkills(repo="https://github.com/o/r/tree/v1/a", url="https://github.com/o/r.git", ref="v1", path="a"),
        ),
        (skill.git("git@h:o/r", ref="v1", path="b").path, "b"),
        (skill.npm("@acme/s@1.0.0"), NpmSkills(spec="@acme/s@1.0.0", path="skills")),
        (skill.npm("./s", path=".").spec, f"file:{HERE}/s"),
        (skill.npm("file:../s.tgz").spec, f"file:{HERE.parent}/s.tgz"),
        (skill.npm("file:/s").spec, "file:/s"),
        (skill.npm("/s").spec, "file:/s"),
        (skill.npm(".").spec, f"file:{HERE}"),
        (skill.registry("o/r@s"), RegistrySkill(id="o/r@s")),
        (skill.registry("o/r@s", version="v1").version, "v1"),
        (
            skill.inline(name="a", description="d", content="c", files={"x/y": "z"}),
            InlineSkill(name="a", description="d", content="c", files={"x/y": "z"}),
        ),
    ],
    ids=str,
)
def test_skill_helpers_make_values(made, expected):
    assert made == expected


@pytest.mark.conforms("98")
@pytest.mark.parametrize("id_", ["", "r@s", "o/r", "o/r@", "o/r@a/b", "o/r@a@b", "o/r/x@s", "o r/x@s", 3, None])
def test_the_id_of_a_registry_is_owner_repo_and_skill(id_):
    (problem,) = problems(lambda: skill.registry(id_))

    assert problem.startswith("id in skill.registry() must be 'owner/repo@skill' (got ")


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: skill.local(""), 'path in skill.local() must be a path of this machine (got "")'),
        (lambda: skill.local("s", only="a"), 'only in skill.local() must be a list of names (got "a")'),
        (lambda: skill.local("s", only=["a", 3]), "only[1] in skill.local() must be text (got 3)"),  # type: ignore[list-item]
        (
            lambda: skill.local("s", exclude=["!a"]),
            'exclude[0] in skill.local() must not begin with !: what it matches is left out as it is (got "!a")',
        ),
        (
            lambda: skill.local("s", placement="home"),  # type: ignore[arg-type]
            'placement in skill.local() must be "harness" or "workspace" (got "home")',
        ),
        (
            lambda: skill.git("./s"),
            (
                "skill.git() needs a URL or github:owner/repo; a directory of this machine is for the "
                'local helper (got "./s")'
            ),
        ),
        (
            lambda: skill.git("github:o/r", path="../x"),
            (
                "path in skill.git() must be a relative path with forward slashes: '../x' has the segment "
                '\'..\', which is not a name: it is empty, "." or ".."'
            ),
        ),
        (
            lambda: skill.git("https://github.com/o/r/tree/v1/a/%2e%2e"),
            (
                "path in skill.git() must be a relative path with forward slashes: 'a/..' has the segment "
                '\'..\', which is not a name: it is empty, "." or ".."'
            ),
        ),
        (
            lambda: skill.npm("a b"),
            'spec in skill.npm() must be an npm package such as @acme/tools@1.2.0, or the path of one (got "a b")',
        ),
        (
            lambda: skill.npm("--registry=x"),
            'spec in skill.npm() must not begin with a dash, as options of npm do (got "--registry=x")',
        ),
        (
            lambda: skill.npm("a", path="/x"),
            "path in skill.npm() must be a relative path with forward slashes: '/x' is absolute",
        ),
        (lambda: skill.registry("o/r@s", version=""), 'version in skill.registry() must be text (got "")'),
        (
            lambda: skill.inline(name="a", description="", content="", files={"SKILL.md": ""}),
            "files in skill.inline() has SKILL.md, which is made of name, description and content",
        ),
        (
            lambda: skill.inline(name="a", description="", content="", files={"../x": ""}),
            (
                "files[\"../x\"] in skill.inline() must be a relative path with forward slashes: '../x' "
                'has the segment \'..\', which is not a name: it is empty, "." or ".."'
            ),
        ),
        (
            lambda: skill.inline(name="a", description="", content="", files={"x": 1}),  # type: ignore[dict-item]
            'files["x"] in skill.inline() must be text (got 1)',
        ),
        (
            lambda: skill.inline(name="a", description="", content="", files={"x": "", "x/y": ""}),
            'files["x"] in skill.inline() would be a file and a directory, for "x/y" is in it',
        ),
    ],
    ids=str,
)
def test_a_bad_option_of_a_skill_is_refused(make, message):
    assert problems(make) == (message,)


def test_every_bad_option_is_reported_at_once():
    bad: Any = 3

    assert len(problems(lambda: skill.local(bad, only=bad, exclude=bad, placement=bad))) == 4


@pytest.mark.conforms("101", "message: skills")
@pytest.mark.parametrize(
    ("value", "got"),
    [
        ("./skills", '"./skills"'),
        (["./skills"], '"./skills"'),
        ([{"kind": "skill"}], '{"kind":"skill"}'),
        ([{"kind": "skill", "source": "svn"}], '{"kind":"skill","source":"svn"}'),
        ([plugin.local("/p")], '{"path":"/p","only":null,"build":null}'),
        (None, "null"),
    ],
)
def test_skills_that_are_not_from_the_helper_are_refused(value, got):
    assert mistakes({"skills": value}) == (
        f"skills in {WHERE} must come from the skill helper, e.g. skills: [skill.local('./skills')] (got {got})",
    )


@pytest.mark.parametrize(
    ("written", "made"),
    [
        ({"source": "local", "path": "./s"}, LocalSkills(path="/project/s")),
        ({"source": "git", "repo": "github:o/r", "ref": "v1"}, skill.git("github:o/r", ref="v1")),
        ({"source": "npm", "spec": "../s", "path": "x"}, NpmSkills(spec="file:/s", path="x")),
        ({"source": "registry", "id": "o/r@s"}, skill.registry("o/r@s")),
        (
            {
                "source": "inline",
                "name": "a",
                "description": "d",
                "content": "c",
                "files": {},
                "placement": "workspace",
            },
            skill.inline(name="a", description="d", content="c", placement="workspace"),
        ),
    ],
    ids=str,
)
def test_skills_may_be_written_as_the_dictionaries_they_are(written, made):
    assert spec_of({"skills": [{"kind": "skill", **written}]}).skills == (made,)


def test_a_mistake_in_the_dictionary_of_a_skill_names_its_place():
    assert mistakes({"skills": [skill.local("s"), {"kind": "skill", "source": "local", "only": 3, "x": 1}]}) == (
        f"skills[1] in {WHERE}: skill.local() has no option x",
        f"skills[1] in {WHERE}: skill.local() needs path",
        f"skills[1] in {WHERE}: only in skill.local() must be a list of names (got 3)",
    )


def test_two_inline_skills_of_one_name_are_refused():
    one = skill.inline(name="a", description="d", content="c")
    other = skill.inline(name="a", description="e", content="f")

    assert mistakes({"skills": [one, other]}) == (f'skills in {WHERE} has more than one skill "a"',)


# Plugins -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("made", "expected"),
    [
        (plugin.local("./p"), LocalPlugin(path=f"{HERE}/p")),
        (plugin.local("/p", only=["mcp", "skills"]).only, ("mcp", "skills")),
        (plugin.local("/p", build="make").build, PluginBuild(run=("make",))),
        (plugin.local("/p", build=["a", "b"]).build, PluginBuild(run=("a", "b"))),
        (plugin.local("/p", build={"run": "a", "cwd": "."}).build, PluginBuild(run=("a",), cwd=".")),
        (plugin.local("/p", build={"run": ["a"], "cwd": "x/y"}).build, PluginBuild(run=("a",), cwd="x/y")),
        (plugin.git("github:o/r", path="p"), GitPlugin(repo="github:o/r", url="https://github.com/o/r.git", path="p")),
        (plugin.npm("@a/p@1.0.0", path="x"), NpmPlugin(spec="@a/p@1.0.0", path="x")),
        (plugin.npm("../p").spec, f"file:{HERE.parent}/p"),
        (
            plugin.marketplace("lint@github:o/r", ref="v1"),
            MarketplacePlugin(
                name="lint",
                marketplace=GitMarketplace(repo="github:o/r", url="https://github.com/o/r.git", ref="v1"),
            ),
        ),
        (
            plugin.marketplace("lint@npm:@a/b@1.0.0", only=["skills"]),
            MarketplacePlugin(name="lint", marketplace=NpmMarketplace(spec="@a/b@1.0.0"), only=("skills",)),
        ),
        (plugin.marketplace("a@git@h:o/r").name, "a"),
        (plugin.marketplace("a@  github:o/r ").marketplace.repo, "github:o/r"),  # type: ignore[union-attr]
    ],
    ids=str,
)
def test_plugin_helpers_make_values(made, expected):
    assert made == expected


@pytest.mark.conforms("114")
@pytest.mark.parametrize("entry", ["lint", "@x", "lint@", "lint@  ", ""])
def test_an_entry_of_a_marketplace_has_a_name_and_a_source(entry):
    assert problems(lambda: plugin.marketplace(entry)) == (
        (
            "plugin.marketplace() needs 'name@source', e.g. "
            f"plugin.marketplace('lint@github:acme/agent-plugins') (got {entry!r})"
        ),
    )


@pytest.mark.conforms("114")
def test_an_npm_marketplace_is_pinned_in_its_spec():
    assert problems(lambda: plugin.marketplace("lint@npm:@a/b", ref="v1")) == (
        (
            "plugin.marketplace('lint@npm:@a/b'): ref picks a commit of a git marketplace; "
            "pin an npm marketplace in its spec, e.g. npm:@acme/plugins@2.0.0"
        ),
    )


@pytest.mark.conforms("114")
def test_a_marketplace_is_no_local_directory():
    (problem,) = problems(lambda: plugin.marketplace("lint@./here"))

    assert problem.startswith("plugin.marketplace() needs a URL or github:owner/repo")


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: plugin.local("p", only=["rules", "themes"]),  # type: ignore[list-item]
            (
                'only[1] in plugin.local() must be "skills", "agents", "commands", "hooks", "mcp" or '
                '"rules" (got "themes")'
            ),
        ),
        (
            lambda: plugin.local("p", build=[]),
            "build in plugin.local() must be a command, a list of commands or { run, cwd? } (got [])",
        ),
        (
            lambda: plugin.local("p", build=""),
            'build in plugin.local() must be a command, a list of commands or { run, cwd? } (got "")',
        ),
        (
            lambda: plugin.local("p", build={"run": "a", "env": {}}),  # type: ignore[arg-type]
            'build in plugin.local() must be a command, a list of commands or { run, cwd? } (got {"run":"a","env":{}})',
        ),
        (
            lambda: plugin.local("p", build={"run": "a", "cwd": "/x"}),
            "build.cwd in plugin.local() must be a relative path with forward slashes: '/x' is absolute",
        ),
        (
            lambda: plugin.git("../p"),
            (
                "plugin.git() needs a URL or github:owner/repo; a directory of this machine is for the "
                'local helper (got "../p")'
            ),
        ),
    ],
    ids=str,
)
def test_a_bad_option_of_a_plugin_is_refused(make, message):
    assert problems(make) == (message,)


@pytest.mark.conforms("message: plugins")
@pytest.mark.parametrize("value", ["./p", ["./p"]])
def test_plugins_that_are_not_from_the_helper_are_refused(value):
    assert mistakes({"plugins": value}) == (
        (
            f"plugins in {WHERE} must come from the plugin helper, "
            "e.g. plugins: [plugin.local('./plugins/review')] (got \"./p\")"
        ),
    )


def test_a_marketplace_may_be_written_as_the_dictionary_it_is():
    written = {"kind": "plugin", "source": "marketplace", "name": "lint"}
    git = {"source": "git", "repo": "github:o/r", "ref": "v1"}
    npm = {"source": "npm", "spec": "./m"}

    assert spec_of({"plugins": [{**written, "marketplace": git}, {**written, "marketplace": npm}]}).plugins == (
        plugin.marketplace("lint@github:o/r", ref="v1"),
        MarketplacePlugin(name="lint", marketplace=NpmMarketplace(spec="file:/project/m")),
    )
    assert mistakes({"plugins": [{**written, "marketplace": {"source": "git"}}]}) == (
        f"plugins[0] in {WHERE}: plugin.marketplace() needs repo",
    )
    assert mistakes({"plugins": [{**written, "marketplace": "x"}]}) == (
        (
            f"plugins[0] in {WHERE}: marketplace in plugin.marketplace() must be a git repository or an npm package "
            '(got "x")'
        ),
    )


# MCP servers ---------------------------------------------------------------------------------------------------------


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
