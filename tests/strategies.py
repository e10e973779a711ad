"""Every kind of value that properties are stated about."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hypothesis import strategies as st

from reeval_build.content.docker_ignore import DockerIgnore
from reeval_build.content.plugins import PluginContents
from reeval_build.digest import BLOB, Digest
from reeval_build.model.egress import POLICIES, AllowHosts
from reeval_build.model.plugins import LocalPlugin
from reeval_build.model.secrets import PLACES, Secret
from reeval_build.model.skills import LocalSkills
from reeval_build.model.spec import DockerSandbox, FakeSandbox, GitWorkspace, HostFile, InstallStep
from reeval_build.model.start_options import StartOptions
from reeval_build.paths import Destination, check_link
from reeval_build.plan.dockerfiles import DockerfileWork, FromImage, ResolvedDockerfile
from reeval_build.plan.harnesses import HarnessInstall
from reeval_build.plan.locks import LockedImage
from reeval_build.plan.resolution import (
    FetchedSource,
    ResolvedDirectory,
    ResolvedPlugin,
    ResolvedSource,
    ResolvedTree,
)
from reeval_build.plan.secrets import views
from reeval_build.plan.sources import LocalDirectory
from reeval_build.plan.work import (
    BaseWork,
    BuiltPlugin,
    FilesWork,
    HarnessWork,
    InputsWork,
    InstallWork,
    McpWork,
    MergeWork,
    PlacedFile,
    PlacedSkill,
    PluginBuildWork,
    PluginWork,
    RootWork,
    RulesWork,
    SetupWork,
    SkillsWork,
    SnapshotWork,
    SourceWork,
    WorkspaceWork,
)
from reeval_build.state.delta import DeltaEntry, DeltaKind, in_order
from reeval_build.state.state import Layout, PlacedTree, StepDelta
from reeval_build.tree.directory import Entry

if TYPE_CHECKING:
    from reeval_build.paths import Parts
    from tests.support.directories import Model

digests = st.binary(min_size=32, max_size=32).map(Digest)

# Few enough to meet again: a property about names is about the same name in two places.
_common_names = st.sampled_from([b"a", b"b", b"ab", b"a.txt", b"A", b"\xc3\xa9", b"e\xcc\x81", b"\xff"])
_other_names = st.binary(min_size=1, max_size=12).filter(
    lambda name: b"/" not in name and b"\0" not in name and not name.startswith(b".")
)
names = _common_names | _other_names
paths = st.lists(names, min_size=1, max_size=4).map(tuple)
near_names = st.sampled_from([b"a", b"b", b"ab"])
near_paths = st.lists(near_names, min_size=1, max_size=4).map(tuple)


# Canonical values ----------------------------------------------------------------------------------------------------

_integers = st.integers() | st.integers(-5, 5) | st.integers(10**300, 10**301) | st.integers(-(10**301), -(10**300))
# Text of a pair of surrogates is refused like that of one, so it is not among these.
_text = st.text() | st.sampled_from(["", "a", "1", "n", "T", "\0", "\U0001f600", "\ufeff", "é", "e\u0301"])
_bytes = st.binary() | st.sampled_from([b"", b"a", b"1", b"n", b"T", b"\0"])
scalars = st.none() | st.booleans() | _integers | _text | _bytes | digests
values: st.SearchStrategy[Any] = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(_text, inner, max_size=4), max_leaves=20
)


# Trees ---------------------------------------------------------------------------------------------------------------

_contents = st.sampled_from([b"", b"x", b"y", b"one\n"]) | st.binary(max_size=8)


@st.composite
def files(draw: st.DrawFn) -> Entry:
    content = draw(_contents)
    return Entry.file(BLOB.digest(content), len(content), executable=draw(st.booleans()))


link_targets = st.lists(names | st.sampled_from([b".", b"..", b""]), min_size=1, max_size=5).map(b"/".join)
links = st.sampled_from([b"a", b"./a", b"a/b"]).map(Entry.symlink)
leaves = files() | links
_tree_names = near_names | near_names | names
trees: st.SearchStrategy[Model] = st.dictionaries(
    _tree_names,
    st.recursive(leaves, lambda inner: st.dictionaries(_tree_names, inner, max_size=3), max_leaves=8),
    max_size=4,
)


@st.composite
def accepted_links(draw: st.DrawFn) -> tuple[Parts, bytes]:
    """A path and a link target that is accepted there."""
    parts, target = draw(paths), draw(link_targets.filter(lambda target: not target.startswith(b"/")))
    try:
        check_link(parts, target)
    except ValueError:
        return parts, b"a"
    return parts, target


# Deltas and states ---------------------------------------------------------------------------------------------------

_modes = st.integers(0, 0o7777)
_owners = st.integers(0, 2**31)
_times = st.integers(-(2**33), 2**40)
_attributes = st.dictionaries(st.text(min_size=1, max_size=5), st.binary(max_size=5), max_size=2).map(
    lambda attributes: tuple(sorted(attributes.items()))
)


@st.composite
def delta_entries(draw: st.DrawFn) -> DeltaEntry:
    kind = draw(st.sampled_from(DeltaKind))
    common = {"parts": draw(paths), "kind": kind, "mtime_s": draw(_times)}
    if kind is DeltaKind.DELETED:
        return DeltaEntry(**common)
    common |= {"mode": draw(_modes), "uid": draw(_owners), "gid": draw(_owners), "xattrs": draw(_attributes)}
    match kind:
        case DeltaKind.FILE:
            return DeltaEntry(**common, digest=draw(digests), size=draw(st.integers(0, 2**40)))
        case DeltaKind.HARD_LINK:
            target = b"/".join(draw(paths))
            return DeltaEntry(**common, digest=draw(digests), size=draw(st.integers(0, 2**40)), target=target)
        case DeltaKind.SYMLINK:
            return DeltaEntry(**common, target=draw(st.binary(min_size=1, max_size=8)))
        case DeltaKind.DIRECTORY:
            return DeltaEntry(**common, opaque=draw(st.booleans()))
        case DeltaKind.CHARACTER_DEVICE | DeltaKind.BLOCK_DEVICE:
            return DeltaEntry(**common, device=(draw(st.integers(0, 500)), draw(st.integers(0, 500))))
        case _:
            return DeltaEntry(**common)


def _without_what_is_below_leaves(entries: list[DeltaEntry]) -> tuple[DeltaEntry, ...]:
    leaves = {entry.parts for entry in entries if entry.kind is not DeltaKind.DIRECTORY}
    return in_order(
        entry for entry in entries if not any(entry.parts[:depth] in leaves for depth in range(len(entry.parts)))
    )


entries_of_any_shape = st.lists(delta_entries(), max_size=6, unique_by=lambda entry: entry.parts)
deltas = entries_of_any_shape.map(_without_what_is_below_leaves)

placed_trees = st.builds(PlacedTree, at=paths, tree=digests, replaces=st.booleans())
step_deltas = st.builds(StepDelta, delta=digests, times=digests)


# What people write ---------------------------------------------------------------------------------------------------

durations = (
    st.integers(1, 10**6)
    | st.floats(min_value=0.001, max_value=10**6)
    | st.tuples(st.integers(1, 999), st.sampled_from(["ms", "s", "m", "h"])).map(lambda pair: f"{pair[0]}{pair[1]}")
)
words = st.text("abc xyz-'\"$\n", min_size=1, max_size=12).filter(str.strip)
variable_names = st.from_regex(r"[A-Za-z_][A-Za-z0-9_]{0,6}", fullmatch=True).filter(
    lambda name: not any(word in name.upper() for word in ("KEY", "TOKEN", "SECRET", "PASSWORD", "CREDENTIAL"))
)
environment_names = st.from_regex(r"[A-Za-z0-9][A-Za-z0-9._@+-]{0,10}", fullmatch=True)
# One level, so that no two of them are a file and a directory of one name.
destinations = st.builds(
    lambda home, name: f"~/{name}" if home else name, st.booleans(), st.from_regex(r"[a-z]{1,3}\.md", fullmatch=True)
)
steps = words | st.fixed_dictionaries(
    {"run": words}, optional={"timeout": durations, "cwd": st.sampled_from([".", "sub", "/srv", "a/b"])}
)
specs = st.fixed_dictionaries(
    {},
    optional={
        "sandbox": st.fixed_dictionaries(
            {"kind": st.just("docker")},
            optional={"from": st.sampled_from(["x:1", "y:2"]), "install": st.lists(words, max_size=2)},
        )
        | st.just({"kind": "fake"}),
        "workspace": st.fixed_dictionaries(
            {"kind": st.just("git"), "repo": st.sampled_from(["https://example.com/a.git", "github:o/r"])},
            optional={"ref": st.sampled_from(["main", "v1.0.0"]), "path": st.just("sub"), "init": st.booleans()},
        ),
        "env": st.dictionaries(variable_names, st.text("abc \n\u00e9", max_size=5), max_size=3),
        "files": st.dictionaries(destinations, st.text(max_size=10), max_size=3),
        "rules": st.text(max_size=10),
        "setup": st.lists(steps, max_size=3),
    },
)

_some = st.none() | st.integers(1, 9)
_capabilities = st.lists(st.sampled_from(["NET_ADMIN", "sys_ptrace", "CAP_SYS_PTRACE"]), unique=True, max_size=2)
_directories = st.none() | st.sampled_from(["/d", "/e"])
start_options = st.builds(
    StartOptions,
    cpus=st.none() | st.floats(0.1, 8),
    memory_bytes=_some,
    swap_bytes=_some,
    pids=_some,
    capabilities=_capabilities.map(frozenset),
    directory=_directories,
    max_concurrent=_some,
)
sandboxes: dict[type, st.SearchStrategy[Any]] = {
    DockerSandbox: st.builds(
        DockerSandbox,
        image=st.none() | st.sampled_from(["x:1", "y:2"]),
        dockerfile=_directories,
        install=st.lists(st.builds(InstallStep, run=words), max_size=1).map(tuple),
        engine=st.sampled_from(["docker", "podman"]),
        root=st.booleans(),
        capabilities=_capabilities.map(tuple),
        cpus=st.none() | st.floats(0.1, 8),
        memory=_some | st.just("4g"),
        swap=_some | st.just("4g"),
        pids=_some,
        id=st.none() | words,
        max_concurrent=_some,
        start_timeout_s=st.none() | st.just(90.0),
    ),
    FakeSandbox: st.builds(FakeSandbox, dir=_directories, id=st.none() | words, max_concurrent=_some),
}

# Anything at all, with the words that fields look for among it.
_telling = st.sampled_from(
    [
        "kind",
        "docker",
        "fake",
        "git",
        "file",
        "secret",
        "from",
        "install",
        "repo",
        "ref",
        "path",
        "token",
        "run",
        "skill",
        "plugin",
        "mcp",
        "source",
        "local",
        "npm",
        "inline",
        "transport",
        "stdio",
        "http",
        "url",
        "allow",
        "only",
    ]
)
# Not among them: an integer that Python does not write out, for then hypothesis cannot show it.
_odd = st.sampled_from([float("nan"), float("inf"), 10**400, "\ud800", "\0", "\n", "https://[", "a" * 10000])
junk: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary() | _telling | _odd,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.tuples(inner)
        | st.dictionaries(_telling | st.text() | st.integers() | st.none(), inner, max_size=4)
        | st.sets(st.integers(), max_size=2)
    ),
    max_leaves=10,
)


# Work ----------------------------------------------------------------------------------------------------------------

_destinations = st.builds(Destination, st.sampled_from(["workspace", "home"]), near_paths)
_resolved_directories = st.builds(ResolvedDirectory, tree=digests)
_placed_files = st.builds(
    PlacedFile,
    destination=_destinations,
    digest=digests,
    size=st.integers(0, 9),
    executable=st.booleans(),
    source=st.text(max_size=3) | st.builds(HostFile, st.text(max_size=3)),
)
_git_ids = st.text("0123456789abcdef", min_size=40, max_size=40)
_time_limits = st.floats(min_value=0.001, max_value=10**6)
_engines = st.sampled_from(["docker", "fake"])
_layouts = st.builds(Layout, near_paths, near_paths)
secret_values = st.builds(
    Secret,
    name=st.none() | st.sampled_from(["HOST_A", "HOST_B"]),
    optional=st.booleans(),
    to=st.sampled_from(["agent", "checks"]),
    hosts=st.none() | st.lists(st.sampled_from(["a.example.com", "*.example.com"]), min_size=1).map(tuple),
    in_=st.none() | st.lists(st.sampled_from(PLACES), min_size=1).map(tuple),
)
secret_views = st.dictionaries(variable_names, secret_values, max_size=2).flatmap(
    lambda env: st.sets(st.sampled_from(["HOST_A", "HOST_B", *env])).map(lambda known: views(env, known))
)
_from_images = st.builds(
    FromImage,
    name=words,
    named_platform=st.none() | st.just("linux/arm64"),
    content=digests,
    platform=st.sampled_from(["linux/amd64", "linux/arm64"]),
    locked=st.none()
    | st.builds(LockedImage, content=digests, digest=st.sampled_from(["sha256:0", "sha256:1"]))
    | st.builds(LockedImage, content=digests, image=st.just("sha256:0")),
)
works: dict[str, st.SearchStrategy[Any]] = {
    "base": st.builds(BaseWork, identity=digests, platform=st.sampled_from(["linux/amd64", "linux/arm64"])),
    "dockerfile": st.builds(
        DockerfileWork,
        dockerfile=digests,
        context=digests,
        images=st.lists(_from_images, max_size=2).map(tuple),
        platform=st.sampled_from(["linux/amd64", "linux/arm64"]),
        source=st.builds(
            ResolvedDockerfile,
            path=words,
            dockerfile=digests,
            context=digests,
            images=st.just(()),
            base=_from_images,
            selection=st.just(DockerIgnore(b"")),
        ),
        engine=_engines,
    ),
    "harness": st.builds(
        HarnessWork,
        install=st.builds(
            HarnessInstall,
            kind=st.sampled_from(["codex", "pi"]),
            version=st.none() | words,
            install=st.lists(words, max_size=2).map(tuple),
            smoke=words,
            needs=st.none() | st.just("npm"),
            timeout_s=_time_limits,
        ),
        engine=_engines,
    ),
    "install": st.builds(InstallWork, run=words, timeout_s=_time_limits, engine=_engines),
    "workspace": st.builds(
        WorkspaceWork,
        tree=_git_ids,
        init=st.booleans(),
        workspace=st.builds(GitWorkspace, repo=words, url=words),
        resolved=st.builds(ResolvedTree, tree=_git_ids, commit=_git_ids),
    ),
    "files": st.builds(FilesWork, files=st.lists(_placed_files, max_size=3).map(tuple)),
    "rules": st.builds(RulesWork, file=_placed_files),
    "root": st.builds(RootWork, layout=_layouts),
    "setup": st.builds(
        SetupWork,
        run=words,
        cwd=st.sampled_from([".", "a", "/a"]),
        env=st.dictionaries(variable_names, st.text(max_size=3), max_size=2).map(
            lambda env: tuple(sorted(env.items()))
        ),
        egress=st.sampled_from([*POLICIES, AllowHosts(()), AllowHosts(("a.example",)), AllowHosts(("a", "b.example"))]),
        secrets=secret_views,
        timeout_s=_time_limits,
        engine=_engines,
        start=start_options,
    ),
    "inputs": st.builds(
        InputsWork,
        at=near_paths,
        inputs=st.lists(st.sampled_from(["a", "a/b"]), max_size=2).map(tuple),
        run=words,
        engine=_engines,
    ),
    "merge": st.builds(MergeWork, at=near_paths, engine=_engines),
    "snapshot": st.builds(SnapshotWork, layout=_layouts),
    "source": st.builds(
        SourceWork,
        kind=st.sampled_from(["git", "npm", "local"]),
        identity=_git_ids,
        source=st.builds(ResolvedSource, request=st.just(LocalDirectory("/s")), resolved=_resolved_directories),
    ),
    "plugin-build": st.builds(
        PluginBuildWork,
        run=st.lists(words, min_size=1, max_size=2).map(tuple),
        cwd=st.sampled_from([".", "a"]),
        path=near_paths,
        layout=_layouts,
        engine=_engines,
    ),
    "plugin": st.builds(
        PluginWork,
        place=_destinations,
        tree=st.none() | digests,
        built=st.none() | st.builds(BuiltPlugin, selection=words, planned=words),
        source=st.builds(LocalPlugin, path=words),
        resolved=st.builds(
            ResolvedPlugin,
            contents=st.builds(
                PluginContents,
                name=words,
                version=st.none(),
                source=words,
                tree=digests,
                parts=st.just(()),
                items=st.just(()),
                hooks=st.just(()),
                servers=st.just({}),
                other_manifests=st.just(()),
                has_apps=st.booleans(),
                is_built=st.booleans(),
            ),
            fetched=st.builds(
                FetchedSource,
                source=st.builds(ResolvedSource, request=st.just(LocalDirectory("/s")), resolved=_resolved_directories),
                tree=digests,
            ),
            path=st.just(()),
        ),
        home=words,
    ),
    "skills": st.builds(
        SkillsWork,
        skills=st.lists(
            st.builds(
                PlacedSkill,
                destination=_destinations,
                tree=digests,
                origin=st.builds(LocalSkills, path=words),
                role=st.none() | words,
            ),
            max_size=3,
        ).map(tuple),
    ),
    "mcp": st.builds(McpWork, files=st.lists(_placed_files, max_size=2).map(tuple)),
}
any_work = st.one_of(*works.values())
