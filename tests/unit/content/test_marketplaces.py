from __future__ import annotations

import json

import pytest

from reeval_build.content.marketplaces import (
    MARKETPLACE_PATH,
    InMarketplace,
    InPackage,
    InRepository,
    find_entry,
)
from reeval_build.content.plugins import find_plugin
from reeval_build.content.problems import ContentError
from reeval_build.errors import InfraError
from reeval_build.model.plugins import GitMarketplace, MarketplacePlugin, NpmMarketplace
from tests.unit.content.shelf import skill

SHA = "0123456789abcdef0123456789abcdef01234567"
WHERE = 'plugin.marketplace("lint@github:acme/tools")'
LINT = MarketplacePlugin(name="lint", marketplace=GitMarketplace(repo="github:acme/tools", url="u"))


def market(*entries, **fields):
    return {MARKETPLACE_PATH: json.dumps({"name": "m", "owner": {"name": "o"}, "plugins": entries} | fields)}


def entry(shelf, files, name="lint"):
    return find_entry(name, shelf.tree(files), shelf.material, where=WHERE)


def of_source(shelf, source, **fields):
    return entry(shelf, market({"name": "lint", "source": source}, **fields))


def refusal(shelf, files) -> ContentError:
    with pytest.raises(ContentError) as caught:
        entry(shelf, files)
    return caught.value


@pytest.mark.conforms("113")
@pytest.mark.parametrize(
    ("source", "place", "path"),
    [
        ("./plugins/lint", InMarketplace(), (b"plugins", b"lint")),
        ("./plugins/lint/", InMarketplace(), (b"plugins", b"lint")),
        ("./", InMarketplace(), ()),
        ({"source": "npm", "package": "@acme/lint"}, InPackage(spec="@acme/lint"), ()),
        ({"source": "npm", "package": "lint", "version": "^1.2.0"}, InPackage(spec="lint@^1.2.0"), ()),
        (
            {"source": "npm", "package": "lint", "version": "1", "registry": "https://npm.example.com"},
            InPackage(spec="lint@1", registry="https://npm.example.com"),
            (),
        ),
        ({"source": "github", "repo": "acme/lint"}, InRepository(url="https://github.com/acme/lint.git"), ()),
        (
            {"source": "github", "repo": "acme/lint", "ref": "v1.0.0"},
            InRepository(url="https://github.com/acme/lint.git", ref="v1.0.0"),
            (),
        ),
        (
            {"source": "url", "url": "https://example.com/a.git", "ref": "main", "sha": SHA},
            InRepository(url="https://example.com/a.git", ref=SHA),
            (),
        ),
        (
            {"source": "url", "url": "git@example.com:acme/a.git", "path": "sub"},
            InRepository(url="git@example.com:acme/a.git"),
            (b"sub",),
        ),
        (
            {"source": "git-subdir", "url": "ssh://git@example.com/a.git", "path": "./plugins/lint", "sha": SHA},
            InRepository(url="ssh://git@example.com/a.git", ref=SHA),
            (b"plugins", b"lint"),
        ),
    ],
)
def test_every_kind_of_source_says_what_to_fetch_next(shelf, source, place, path):
    found = of_source(shelf, source)

    assert (found.source, found.path, found.manifest, found.components) == (place, path, None, {})


@pytest.mark.parametrize("root", ["./plugins", "plugins", "./plugins/"])
def test_a_bare_source_is_below_the_plugin_root(shelf, root):
    found = of_source(shelf, "lint", metadata={"pluginRoot": root})

    assert found.path == (b"plugins", b"lint")


def test_a_source_from_the_root_ignores_the_plugin_root(shelf):
    assert of_source(shelf, "./lint", metadata={"pluginRoot": "./plugins"}).path == (b"lint",)


@pytest.mark.conforms("113")
def test_a_missing_marketplace_file_is_an_infrastructure_error_that_lists_what_there_is(shelf):
    error = refusal(shelf, {"README.md": "", "plugins/a": ""})

    assert isinstance(error, InfraError)
    assert str(error) == f'"{MARKETPLACE_PATH}" in {WHERE} is not there; at the root there is: README.md, plugins'
    assert str(refusal(shelf, {})).endswith("at the root there is: nothing")


@pytest.mark.conforms("113")
def test_a_missing_entry_is_an_infrastructure_error_that_lists_the_entries(shelf):
    error = refusal(shelf, market({"name": "fmt", "source": "./"}, {"name": "a\n", "source": "./"}, 1, {"name": 2}))

    assert isinstance(error, InfraError)
    assert str(error) == f'"{MARKETPLACE_PATH}" in {WHERE} has no entry "lint"; its entries are: a\\n, fmt'
    assert str(refusal(shelf, market())).endswith("its entries are: none")


def test_many_entries_are_listed_in_part(shelf):
    error = refusal(shelf, market(*({"name": f"p{number:03}"} for number in range(500))))

    assert error.reason.endswith("p029 and 470 more")


def test_of_many_entries_those_that_are_spelt_alike_come_first(shelf):
    error = refusal(shelf, market(*({"name": f"p{number:03}"} for number in range(500)), {"name": "tint"}))

    assert "; its entries are: tint, p000, p001" in error.reason
    assert error.reason.endswith("p028 and 471 more")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("{", "is not JSON"),
        ("[]", "must be a JSON object, not a list"),
        ("{}", "must have `plugins` as a list, not as null"),
        ('{"plugins": {}}', "must have `plugins` as a list, not as an object"),
        ('{"plugins": [{"name": "lint"}, {"name": "lint"}]}', 'has the entry "lint" 2 times'),
    ],
)
def test_a_malformed_marketplace_is_refused(shelf, text, reason):
    assert reason in refusal(shelf, {MARKETPLACE_PATH: text}).reason


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        (None, "no source"),
        (1, "a number as its source"),
        ("lint", 'the source "lint", which does not start with "./"'),
        ("../lint", 'the source "../lint", which does not start with "./"'),
        ("./../lint", "which has the segment '..'"),
        ("./a/../../b", "which has the segment '..'"),
        (".//etc", "which is absolute"),
        ("./a\\b", "which has a backslash"),
        ({}, "a source of an unknown kind, None"),
        ({"source": "pip", "package": "a"}, "a source of an unknown kind, pip"),
        ({"source": "npm"}, "a source without `package`"),
        ({"source": "npm", "package": 1}, "a number as `package` of its source"),
        ({"source": "npm", "package": "--registry=x"}, "which is not the name of an npm package"),
        ({"source": "npm", "package": "file:../x"}, "which is not the name of an npm package"),
        ({"source": "npm", "package": "../x"}, "which is not the name of an npm package"),
        ({"source": "npm", "package": "https://x/y.tgz"}, "which is not the name of an npm package"),
        ({"source": "npm", "package": "a", "version": "file:/etc"}, "which is not a version or a range of versions"),
        ({"source": "npm", "package": "a", "version": 1}, "a number as `version` of its source"),
        ({"source": "github"}, "a source without `repo`"),
        ({"source": "github", "repo": "acme"}, "which is not owner/repo"),
        ({"source": "github", "repo": "-o/r"}, "which is not owner/repo"),
        ({"source": "github", "repo": "a/b/c"}, "which is not owner/repo"),
        ({"source": "url"}, "a source without `url`"),
        ({"source": "url", "url": "/etc"}, "a url that is not https or ssh"),
        ({"source": "url", "url": "file:///etc"}, "a url that is not https or ssh"),
        ({"source": "url", "url": "ext::sh -c id"}, "a url that is not https or ssh"),
        ({"source": "url", "url": "--upload-pack=x"}, "a url that is not https or ssh"),
        ({"source": "url", "url": "ssh://-oProxyCommand=id/x"}, "a url that is not https or ssh"),
        ({"source": "url", "url": "ssh://-x@example.com/x"}, "a url that is not https or ssh"),
        ({"source": "url", "url": "git@-oProxyCommand=id:x"}, "a url that is not https or ssh"),
        ({"source": "url", "url": "git@example.com:-x"}, "a url that is not https or ssh"),
        ({"source": "url", "url": "https://u:p4ss@example.com/a"}, "has a user or a password in it"),
        ({"source": "url", "url": "https://h/a", "ref": "-x"}, "which git does not allow"),
        ({"source": "url", "url": "https://h/a", "ref": "a b"}, "which git does not allow"),
        ({"source": "url", "url": "https://h/a", "sha": "abc"}, "which is not a whole commit"),
        ({"source": "url", "url": "https://h/a", "path": "../x"}, "is not a name"),
        ({"source": "url", "url": "https://h/a", "path": "/x"}, "which is absolute"),
        ({"source": "git-subdir", "url": "https://h/a"}, "a source of the kind git-subdir without a path"),
    ],
)
def test_a_malformed_source_is_refused_with_its_entry(shelf, source, reason):
    with pytest.raises(ContentError) as caught:
        of_source(shelf, source)

    assert caught.value.reason.startswith('has the entry "lint" with ')
    assert reason in caught.value.reason
    assert "p4ss" not in str(caught.value)


def test_a_malformed_entry_of_another_name_is_no_error(shelf):
    files = market({"name": "broken", "source": 1}, {"source": "./"}, "x", {"name": "lint", "source": "./"})

    assert entry(shelf, files).source == InMarketplace()


@pytest.mark.parametrize("strict", ["false", 0, None])
def test_strict_is_true_or_false(shelf, strict):
    assert "as `strict`" in refusal(shelf, market({"name": "lint", "source": "./", "strict": strict})).reason


@pytest.mark.conforms("113")
def test_an_entry_that_is_not_strict_is_the_manifest(shelf):
    files = market(
        {
            "name": "lint",
            "source": "./",
            "strict": False,
            "category": "c",
            "tags": [],
            "version": "1",
            "agents": ["./more/a.md"],
        }
    ) | {"more/a.md": "", "skills/b/SKILL.md": skill()}
    tree = shelf.tree(files)

    plugin = find_plugin(LINT, tree, shelf.material, home="/root", entry=entry(shelf, files))

    assert (plugin.name, plugin.source, plugin.parts) == ("lint", WHERE, ("skills", "agents"))
    assert json.loads(shelf.files(plugin.tree)[".claude-plugin/plugin.json"]) == {
        "name": "lint",
        "version": "1",
        "agents": ["./more/a.md"],
    }


@pytest.mark.conforms("113")
def test_a_relative_source_is_read_from_the_root_of_the_marketplace(shelf):
    files = market({"name": "lint", "source": "./p/lint"}) | {
        "p/lint/.claude-plugin/plugin.json": '{"name": "linter"}',
        "p/lint/agents/a.md": "",
        "agents/b.md": "",
    }

    plugin = find_plugin(LINT, shelf.tree(files), shelf.material, home="/root", entry=entry(shelf, files))

    assert (plugin.name, [item.name for item in plugin.items]) == ("linter", ["a"])


def test_a_strict_entry_needs_the_plugin_s_own_manifest(shelf):
    files = market({"name": "lint", "source": "./p"}) | {"p/agents/a.md": ""}

    with pytest.raises(ContentError) as caught:
        find_plugin(LINT, shelf.tree(files), shelf.material, home="/root", entry=entry(shelf, files))

    assert caught.value.path == "p/.claude-plugin/plugin.json"


@pytest.mark.parametrize(
    ("own", "added", "joined"),
    [
        ({}, {"agents": "./a.md"}, {"agents": "./a.md"}),
        ({"agents": "./a.md"}, {"agents": ["./b.md"]}, {"agents": ["./a.md", "./b.md"]}),
        (
            {"mcpServers": {"a": {"command": "x"}}},
            {"mcpServers": {"b": {"command": "y"}}},
            {"mcpServers": {"a": {"command": "x"}, "b": {"command": "y"}}},
        ),
    ],
)
def test_components_of_a_strict_entry_join_those_of_the_manifest(shelf, own, added, joined):
    files = market({"name": "lint", "source": "./"} | added) | {
        ".claude-plugin/plugin.json": json.dumps({"name": "lint"} | own),
        "a.md": "",
        "b.md": "",
    }

    plugin = find_plugin(LINT, shelf.tree(files), shelf.material, home="/root", entry=entry(shelf, files))

    assert json.loads(shelf.files(plugin.tree)[".claude-plugin/plugin.json"]) == {"name": "lint"} | joined


def test_commands_of_two_forms_cannot_join(shelf):
    files = market({"name": "lint", "source": "./", "commands": "./a.md"}) | {
        ".claude-plugin/plugin.json": '{"name": "lint", "commands": {"b": {"content": "c"}}}',
        "a.md": "",
    }

    with pytest.raises(ContentError, match="cannot join"):
        find_plugin(LINT, shelf.tree(files), shelf.material, home="/root", entry=entry(shelf, files))


def test_a_marketplace_in_a_package_is_called_as_it_was_written(shelf):
    files = market({"name": "lint", "source": "./"}) | {".claude-plugin/plugin.json": '{"name": "lint"}'}
    source = MarketplacePlugin(name="lint", marketplace=NpmMarketplace(spec="@acme/p@1.0.0"))

    plugin = find_plugin(source, shelf.tree(files), shelf.material, home="/root", entry=entry(shelf, files))

    assert plugin.source == 'plugin.marketplace("lint@npm:@acme/p@1.0.0")'
