"""What golden files hold: encodings, objects and keys of fixed inputs, written beside them.

`python -m tests.golden.vectors NAME` prints a document, and with no name writes all of them where they are kept. A
changed document is a changed format: it needs a new schema number, and every store is built anew.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from reeval_build import EnvironmentSpec, canon, define_environment, mcp, plugin, skill, step
from reeval_build.content.docker_ignore import DockerIgnore
from reeval_build.content.inline_skill import write_inline_skill
from reeval_build.content.plugins import find_plugin
from reeval_build.digest import BLOB, DELTA, TREE, Digest
from reeval_build.model.harness_recipes import HarnessRecipe
from reeval_build.model.skills import InlineSkill
from reeval_build.plan.dockerfiles import FromImage, ResolvedDockerfile
from reeval_build.plan.graph import content_key
from reeval_build.plan.harnesses import npm_install
from reeval_build.plan.locks import LockedHarness, LockedImage
from reeval_build.plan.outputs import SnapshotOutput, StateOutput, TreeOutput, content_of
from reeval_build.plan.resolution import (
    FetchedSource,
    ResolvedDirectory,
    ResolvedPlugin,
    ResolvedSkills,
    ResolvedSource,
)
from reeval_build.plan.sources import LocalDirectory
from reeval_build.state import delta
from reeval_build.state.delta import DeltaEntry, DeltaKind
from reeval_build.state.state import PlacedTree, State, StepDelta
from reeval_build.tree import directory
from reeval_build.tree.directory import Entry
from tests.support.definitions import defined
from tests.support.plans import base, cell, graph_of, host_file
from tests.unit.content.shelf import Shelf

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from reeval_build.model.environment import Environment
    from reeval_build.model.plugins import PluginSource
    from reeval_build.model.skills import SkillSource

HERE: Final = Path(__file__).parent

_ONE: Final = BLOB.digest(b"one\n")
_ENCODED: Final[tuple[Any, ...]] = (
    None,
    True,
    False,
    0,
    -1,
    10**30,
    "",
    "n",
    "\u00e9 e\u0301 \ufb01 \U0001f600",
    b"",
    b"\x00\xff",
    Digest(bytes(range(32))),
    [],
    ["a b", "c"],
    ["a", "b c"],
    [[], [[]], None],
    {},
    {"b": 1, "a": 2, "": 3, "\U0001f600": 4, "\ufb01": 5},
    {"ab": "c"},
    {"a": "bc"},
    {"list": [1, True, "1", b"1"], "mapping": {"digest": _ONE}},
)
_TREE: Final = {
    b"README.md": Entry.file(_ONE, 4),
    b"run.sh": Entry.file(_ONE, 4, executable=True),
    b"\xff\n": Entry.file(_ONE, 4),
    b"link": Entry.symlink(b"../README.md"),
    b"empty": Entry.directory(directory.tree_digest({})),
}
_DELTA: Final = (
    DeltaEntry(parts=(b"srv",), kind=DeltaKind.DIRECTORY, mode=0o755, mtime_s=1),
    DeltaEntry(parts=(b"srv", b"new"), kind=DeltaKind.DIRECTORY, mode=0o1777, uid=7, gid=8, opaque=True, mtime_s=2),
    DeltaEntry(parts=(b"srv", b"new", b"a"), kind=DeltaKind.FILE, mode=0o4755, digest=_ONE, size=4, mtime_s=-3,
               xattrs=(("security.capability", b"\x01\x00"),)),
    DeltaEntry(parts=(b"srv", b"new", b"b"), kind=DeltaKind.HARD_LINK, mode=0o755, digest=_ONE, size=4,
               target=b"srv/new/a", mtime_s=4),
    DeltaEntry(parts=(b"srv", b"old"), kind=DeltaKind.DELETED),
    DeltaEntry(parts=(b"srv", b"to"), kind=DeltaKind.SYMLINK, mode=0o777, target=b"/abs", mtime_s=5),
    DeltaEntry(parts=(b"srv", b"zero"), kind=DeltaKind.CHARACTER_DEVICE, mode=0o666, device=(1, 5), mtime_s=6),
)  # fmt: skip
# As the dictionaries they are: a new field of a value of ours is no new key.
_DEVELOPMENT: Final[EnvironmentSpec] = {
    "sandbox": {
        "kind": "docker",
        "from": "node:24-bookworm",
        "install": ["apt-get update", {"run": "npm i -g pnpm", "timeout": "10m"}],
    },
    "workspace": {
        "kind": "git",
        "repo": "https://example.com/app.git",
        "ref": "v1.2.0",
        "path": "packages/app",
        "init": True,
    },
    "env": {"NODE_ENV": "test", "A": "\u00e9"},
    "files": {
        "~/.npmrc": "fund=false\n",
        "src/agent.ts": {"kind": "file", "path": "/fixtures/agent.ts"},
        "bin/go": {"kind": "file", "path": "/fixtures/go"},
    },
    "rules": "# House rules\n",
    "setup": ["npm ci", {"run": "npm run build", "timeout": "10m", "cwd": "packages/app"}],
}
_EXTENSION: Final[EnvironmentSpec] = {"env": {"NODE_ENV": "production"}, "setup": ["npm prune"]}
_EQUIPPED: Final[EnvironmentSpec] = {
    "sandbox": {"kind": "docker", "from": "node:24-bookworm"},
    "skills": [
        skill.inline(name="tabs", description="Use tabs.", content="# Tabs\n"),
        skill.inline(name="shared", description="For all.", content="", placement="workspace"),
    ],
    "plugins": [plugin.local("/review", only=["skills", "mcp"]), plugin.local("/built", build=["npm ci", "make"])],
    "mcp": {"crm": mcp.http("https://crm.example.com/mcp")},
}
_INSTALLED: Final[EnvironmentSpec] = {"sandbox": {"kind": "docker", "from": "node:24-bookworm"}}
_BUILT: Final[EnvironmentSpec] = {"sandbox": {"kind": "docker", "dockerfile": "/image/Dockerfile"}}
_RECIPE: Final = HarnessRecipe(kind="pi", package="pi", version="latest", smoke="pi --version")
_LOCKED: Final = LockedHarness(package="pi", requested="latest", version="1.2.3", integrity=f"sha512-{'A' * 86}==")
_BARE: Final[EnvironmentSpec] = {
    "sandbox": {"kind": "fake"},
    "setup": ["true", step("make", inputs=["src", "Makefile"])],
}
_GUARDED: Final[EnvironmentSpec] = {
    "sandbox": {"kind": "fake"},
    "env": {
        "A": {"kind": "secret"},
        "B": {"kind": "secret", "from": "X", "to": "checks", "hosts": ["b.example.com", "a.example.com"]},
        "C": {"kind": "secret", "optional": True},
        "D": {"kind": "secret", "hosts": ["d.example.com"], "in": ["query", "header"]},
    },
    "setup": ["true"],
}


def encodings() -> Iterator[str]:
    """Canonical encodings of values."""
    for value in _ENCODED:
        yield ascii(value)
        yield f"    {canon.encode(value).hex(' ', 4)}"
    yield ""
    yield "One content in each domain:"
    for domain in (BLOB, TREE, DELTA):
        yield f"    {domain.kind} {domain.schema}  {domain.digest(bytes([1, 2, 3])).hex}"


def objects() -> Iterator[str]:
    """Objects of trees and deltas, and what identifies states and outputs."""
    for name, entries in {"an empty directory": {}, "a directory": _TREE}.items():
        data = directory.encode(entries)
        yield from (f"{name}:", *_items(canon.decode(data)))
        yield from (f"  object {data.hex()}", f"  digest {directory.tree_digest(entries).hex}", "")
    data, times = delta.encode(_DELTA)
    yield from ("a delta, and its times:", *_items(canon.decode(data)), *_items(canon.decode(times)))
    yield from (f"  object {data.hex()}", f"  digest {DELTA.digest(data).hex}")
    yield from (f"  object {times.hex()}", f"  digest {DELTA.digest(times).hex}", "")
    base_state = State(_ONE)
    state = base_state.on_top(
        PlacedTree(at=(b"srv", b"work"), tree=directory.tree_digest(_TREE), replaces=True),
        PlacedTree(at=(b"root",), tree=directory.tree_digest({}), replaces=False),
        StepDelta(delta=DELTA.digest(data), times=DELTA.digest(times)),
    )
    identified = {
        f"the state of the base {_ONE.hex} alone": base_state.content,
        "that with the directory at srv/work, an empty one over root, and the delta": state.content,
        "the state of the base with the environment A=b and C=": State(_ONE, env=("A=b", "C=")).content,
        "the output of a workspace of the base's digest": content_of(TreeOutput(workspace=_ONE)),
        "the output of a home of the base's digest": content_of(TreeOutput(home=_ONE)),
        "the output of the state of the base": content_of(StateOutput(state=base_state)),
        "its snapshot, with the base's digest as baseline and as placed tree": content_of(
            SnapshotOutput(state=base_state, baseline=_ONE, placed=_ONE)
        ),
    }
    for what, digest in identified.items():
        yield from (f"{what}:", f"  {digest.hex}")


def keys() -> Iterator[str]:
    """Keys of every node and cell of a small graph, with what enters them."""
    yield from ("Content keys are as if what each parent left were identified by the parent's recipe key.", "")
    specs = {
        "development": _DEVELOPMENT,
        "production, which extends it": _EXTENSION,
        "bare": _BARE,
        "guarded, on a host with neither X nor C": _GUARDED,
    }
    for name, spec in specs.items():
        yield from (f"{name}:", *(f"  {field} = {value!a}" for field, value in spec.items()))
    development = define_environment("development", _DEVELOPMENT)
    yield from ("equipped:", *(f"  {field} = {value!a}" for field, value in _EQUIPPED.items()))
    yield from ("built:", *(f"  {field} = {value!a}" for field, value in _BUILT.items()))
    yield from ("installed, on pi:", *(f"  {field} = {value!a}" for field, value in _INSTALLED.items()))
    environments = (
        development,
        development.extend("production", _EXTENSION),
        define_environment("bare", _BARE),
        define_environment("guarded", _GUARDED),
    )
    shelf, equipped = Shelf(), defined(_EQUIPPED, "equipped", directory=Path("/"))
    skills, plugins = _resolved(equipped, shelf)
    graph = graph_of(
        *(cell(environment, harness) for environment in environments for harness in ("fake", "claude-code")),
        *(cell(equipped, harness) for harness in ("claude-code", "codex")),
        cell(define_environment("installed", _INSTALLED), "pi"),
        cell(defined(_BUILT, "built", directory=Path("/"))),
        bases={"node:24-bookworm": base("the image"), None: base("nothing")},
        files={
            "/fixtures/agent.ts": host_file(b"export {}\n"),
            "/fixtures/go": host_file(b"#!/bin/sh\n", executable=True),
        },
        skills=skills,
        plugins=plugins,
        harnesses={"pi": npm_install(_RECIPE, _LOCKED)},
        dockerfiles={"/image/Dockerfile": _dockerfile()},
        variables=("A", "D"),
    )
    for node in graph.nodes.values():
        material = node.material({parent.recipe: parent.recipe for parent in node.parents})
        (phase, schema, fields), parents = _plain(canon.decode(material))
        yield from ("", f"{phase} {schema}, {node.label!a}")
        for field, value in fields.items():
            yield from (f"  {field} =", *_items(value)) if isinstance(value, list) else (f"  {field} = {value!a}",)
        yield from (f"  {role} from {recipe}" for role, recipe in parents)
        yield f"  recipe key  {node.recipe.hex}"
        yield f"  content key {content_key(material).hex}"
    for planned in graph.cells:
        yield from ("", f"cell {planned.cell.name}", f"  key      {planned.key.hex}")
        yield f"  snapshot {planned.snapshot.hex}"
        yield from (f"  start    {recipe.hex}" for recipe in planned.start)


def _dockerfile() -> ResolvedDockerfile:
    """A Dockerfile with an image of a registry, and one that has only one content."""
    images = [
        FromImage(
            name=name,
            named_platform=named,
            content=base(name).identity,
            platform="linux/arm64",
            locked=None if digest is None else LockedImage(content=base(name).identity, digest=digest),
        )
        for name, named, digest in (("node:24", "linux/arm64", f"sha256:{'0' * 64}"), ("scratch", None, None))
    ]
    return ResolvedDockerfile(
        path="/image/Dockerfile",
        dockerfile=_ONE,
        context=directory.tree_digest(_TREE),
        images=tuple(images),
        base=images[0],
        selection=DockerIgnore(b""),
    )


def _resolved(
    environment: Environment, shelf: Shelf
) -> tuple[dict[SkillSource, ResolvedSkills], dict[tuple[PluginSource, str], ResolvedPlugin]]:
    """What the sources of `_EQUIPPED` are: written skills, a plugin that is read, and one that is built."""
    files = {
        ".claude-plugin/plugin.json": '{"name": "review"}',
        "skills/check/SKILL.md": "x",
        ".mcp.json": '{"review-docs": {"command": "${CLAUDE_PLUGIN_ROOT}/docs"}}',
    }
    (spec,) = (layer.spec for layer in environment.layers)
    skills: dict[SkillSource, ResolvedSkills] = {
        source: ResolvedSkills(found=write_inline_skill(source, shelf.material))
        for source in spec.skills or ()
        if isinstance(source, InlineSkill)
    }
    plugins: dict[tuple[PluginSource, str], ResolvedPlugin] = {}
    for source in spec.plugins or ():
        name = "built" if source.build else "review"
        tree = shelf.tree({path: text.replace("review", name) for path, text in files.items()})
        request = LocalDirectory(f"/{name}")
        resolved = ResolvedSource(request=request, resolved=ResolvedDirectory(tree=tree))
        plugins[source, "/root"] = ResolvedPlugin(
            contents=find_plugin(source, tree, shelf.material, home="/root"),
            fetched=FetchedSource(source=resolved, tree=tree),
            path=(),
        )
    return skills, plugins


DOCUMENTS: Final[Mapping[str, Callable[[], Iterator[str]]]] = {
    "encodings": encodings,
    "keys": keys,
    "objects": objects,
}


def document(name: str) -> str:
    """A whole document: ASCII text, equal on every machine."""
    return (
        "\n".join([f"# {name.capitalize()}, made by `python -m tests.golden.vectors`", "", *DOCUMENTS[name]()]) + "\n"
    )


def kept(name: str) -> Path:
    """Where a document is kept."""
    return HERE / f"{name}.txt"


def _items(values: canon.Value) -> Iterator[str]:
    assert isinstance(values, list), "it has items"
    yield from (f"    {_plain(value)!a}" for value in values)


def _plain(value: Any) -> Any:
    if isinstance(value, Digest):
        return value.hex
    if isinstance(value, list):
        return [_plain(item) for item in value]
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    return value


if __name__ == "__main__":
    if len(sys.argv) > 1:
        sys.stdout.write(document(sys.argv[1]))
    else:
        for each in DOCUMENTS:
            kept(each).write_text(document(each), encoding="ascii")
