"""Whatever a tree has in it, the answer is a value or an error that says where."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from reeval_build.content.marketplaces import MARKETPLACE_PATH, find_entry
from reeval_build.content.plugins import find_plugin
from reeval_build.content.problems import ContentError
from reeval_build.content.skills import find_skills
from reeval_build.model.plugins import LocalPlugin
from reeval_build.model.skills import GitSkills
from tests.unit.content.shelf import Shelf, skill

_PATHS = ["./a", "./a.md", "./skills", "./", "./../x", ".//x", "x", "./x.json", "./hooks/hooks.json", "./\0", "./a\\b"]
_words = st.sampled_from(
    [*_PATHS, "name", "a", "lint", "command", "hooks", "Stop", "mcpServers", "http", "npm", "github", "url", "\0"]
)
_keys = st.sampled_from(
    [
        *("name", "source", "content", "commands", "agents", "skills", "hooks", "mcpServers", "command", "args", "env"),
        *("url", "type", "headers", "Stop", "plugins", "strict", "metadata", "pluginRoot", "repo", "package", "path"),
        *("ref", "sha"),
    ]
)
_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | _words,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_keys | st.text(max_size=3), inner, max_size=4),
    max_leaves=12,
)
_named = st.dictionaries(_keys, _json, max_size=5).map(lambda fields: {"name": "lint"} | fields)
_texts = (
    (_named | _json).map(lambda value: json.dumps(value).encode())
    | st.binary(max_size=20)
    | st.sampled_from([skill().encode(), b"", b"---\n---\n"])
)
_files = st.dictionaries(
    st.sampled_from(
        [
            *(".claude-plugin/plugin.json", MARKETPLACE_PATH, ".mcp.json", "hooks/hooks.json", "a.md", "x.json"),
            *("SKILL.md", "skills/a/SKILL.md", "skills/A b/SKILL.md", "a/SKILL.md", "agents/x.md", ".app.json"),
        ]
    ),
    _texts,
    max_size=6,
)
_links = st.dictionaries(
    st.sampled_from(["l", "skills/l", "agents/l.md"]), st.sampled_from(["link to a", "link to ../../../x"]), max_size=2
)


def is_said(error: ContentError) -> bool:
    """Whether an error names its source, in one printable line."""
    return error.where in str(error) and str(error).isprintable()


def outcome(act):
    """What `act` gives: a value, or the content error it is refused with."""
    try:
        return act()
    except ContentError as error:
        return error


@given(_named, _files, _links)
def test_any_plugin_is_contents_or_an_error_that_says_where(manifest, files, links):
    shelf = Shelf()
    tree = shelf.tree({".claude-plugin/plugin.json": json.dumps(manifest)} | links | files)

    found = outcome(lambda: find_plugin(LocalPlugin(path="/p"), tree, shelf.material, home="/root"))

    assert is_said(found) if isinstance(found, ContentError) else found.name


@given(st.lists(_named | _json, max_size=3), st.dictionaries(_keys, _json, max_size=2), _files)
def test_any_marketplace_is_an_entry_or_an_error_that_says_where(entries, fields, files):
    shelf = Shelf()
    tree = shelf.tree({MARKETPLACE_PATH: json.dumps({"plugins": entries} | fields)} | files)

    found = outcome(lambda: find_entry("lint", tree, shelf.material, where="m"))

    assert is_said(found) if isinstance(found, ContentError) else b".." not in found.path


@given(_files, _links, st.none() | _words)
def test_any_source_of_skills_is_skills_or_an_error_that_says_where(files, links, path):
    shelf = Shelf()
    tree = shelf.tree(files | links)

    found = outcome(lambda: find_skills(GitSkills(repo="r", url="u/r.git", path=path), tree, shelf.material))

    assert is_said(found) if isinstance(found, ContentError) else found.skills
