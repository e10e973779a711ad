"""Plugins: what the helper and dictionaries make, and what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from reeval_build import plugin
from reeval_build.errors import DefinitionError
from reeval_build.model.plugins import (
    GitMarketplace,
    GitPlugin,
    LocalPlugin,
    MarketplacePlugin,
    NpmMarketplace,
    NpmPlugin,
    PluginBuild,
)
from tests.support.definitions import mistakes, spec_of
from tests.support.names import name_of

HERE = Path(__file__).parent
WHERE = 'defineEnvironment("e")'


def problems(make) -> tuple[str, ...]:
    with pytest.raises(DefinitionError) as caught:
        make()
    return caught.value.problems


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
    ids=name_of,
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
    ids=name_of,
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
