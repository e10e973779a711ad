"""What the node of each phase has to do: fields that take part in equality are what enters its key."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, ClassVar, Final, TypeAlias, cast

import attrs

from reeval_build.digest import Digest
from reeval_build.model.egress import Egress
from reeval_build.model.plugins import PluginSource
from reeval_build.model.skills import SkillSource
from reeval_build.model.spec import FileContent, GitWorkspace
from reeval_build.model.start_options import UNLIMITED, StartOptions
from reeval_build.paths import Destination
from reeval_build.plan.dockerfiles import DockerfileWork
from reeval_build.plan.harnesses import HarnessInstall
from reeval_build.plan.resolution import ResolvedPlugin, ResolvedSource, ResolvedTree
from reeval_build.plan.secrets import SecretView
from reeval_build.plan.sources import SourceKind
from reeval_build.state.state import Layout

if TYPE_CHECKING:
    from reeval_build import canon


@attrs.frozen(kw_only=True)
class BaseWork:
    """The lowest state: an image, by content, or the empty directory of the fake sandbox."""

    phase: ClassVar[str] = "base"
    schema: ClassVar[int] = 1

    identity: Digest
    platform: str


@attrs.frozen(kw_only=True)
class InstallWork:
    """A command baked into an image: as root, in `/`, without env."""

    phase: ClassVar[str] = "install"
    schema: ClassVar[int] = 1

    run: str

    timeout_s: float = attrs.field(eq=False)
    engine: str = attrs.field(eq=False)


@attrs.frozen(kw_only=True)
class HarnessWork:
    """The program of a harness, installed as an install step is run, and the command that says whether it works.

    Options of a harness that only matter when it runs are no part of it, so cells of one kind and version share it.
    """

    phase: ClassVar[str] = "harness"
    schema: ClassVar[int] = 1

    install: HarnessInstall

    engine: str = attrs.field(eq=False)


@attrs.frozen(kw_only=True)
class WorkspaceWork:
    """The files of a git tree, by the tree's object id; `others` are where the same tree is, too."""

    phase: ClassVar[str] = "workspace"
    schema: ClassVar[int] = 1

    tree: str
    init: bool

    workspace: GitWorkspace = attrs.field(eq=False)
    resolved: ResolvedTree = attrs.field(eq=False)
    others: tuple[WorkspaceWork, ...] = attrs.field(default=(), eq=False)

    def or_from(self, other: WorkspaceWork) -> WorkspaceWork:
        """The same work, which can also be done from another repository, ref or path."""
        known = {work.workspace for work in (self, *self.others)}
        return self if other.workspace in known else attrs.evolve(self, others=(*self.others, other))


@attrs.frozen(kw_only=True, order=True)
class PlacedFile:
    """One file of an environment's `files`, by the digest of its bytes; `source` is where those come from."""

    destination: Destination
    digest: Digest
    size: int
    executable: bool

    source: FileContent = attrs.field(eq=False, order=False)


@attrs.frozen(kw_only=True)
class FilesWork:
    """The `files` of an environment, sorted by destination."""

    phase: ClassVar[str] = "files"
    schema: ClassVar[int] = 1

    files: tuple[PlacedFile, ...]


@attrs.frozen(kw_only=True)
class RulesWork:
    """The rules, in the file a harness reads them from."""

    phase: ClassVar[str] = "rules"
    schema: ClassVar[int] = 1

    file: PlacedFile


@attrs.frozen(kw_only=True)
class SourceWork:
    """Everything that is fetched for skills or a plugin, by what decides its bytes."""

    phase: ClassVar[str] = "source"
    schema: ClassVar[int] = 1

    kind: SourceKind
    identity: str

    source: ResolvedSource = attrs.field(eq=False)

    @classmethod
    def of(cls, source: ResolvedSource) -> SourceWork:
        """The work that fetches `source`."""
        return cls(kind=source.kind, identity=source.identity, source=source)


@attrs.frozen(kw_only=True)
class PluginBuildWork:
    """The commands of a plugin's `build`, on the whole of its source: as root, without env or secrets.

    `cwd` and `path` are relative to the source's root: where the commands run, and what of the result is the plugin.
    `layout` is where the source stands meanwhile.
    """

    phase: ClassVar[str] = "plugin-build"
    schema: ClassVar[int] = 1

    run: tuple[str, ...]
    cwd: str
    path: tuple[bytes, ...]
    layout: Layout

    engine: str = attrs.field(eq=False)


@attrs.frozen(kw_only=True)
class BuiltPlugin:
    """How a plugin is read out of what its build left, as JSON: what is kept, and what must be as it was planned."""

    selection: str
    planned: str


@attrs.frozen(kw_only=True)
class PluginWork:
    """What is kept of a plugin, in its directory of the sandbox's home.

    `tree` is what is kept; of a plugin that is built it is not known before, and `built` says how it is found.
    """

    phase: ClassVar[str] = "plugin"
    schema: ClassVar[int] = 1

    place: Destination
    tree: Digest | None
    built: BuiltPlugin | None = None

    source: PluginSource = attrs.field(eq=False)
    resolved: ResolvedPlugin = attrs.field(eq=False)
    home: str = attrs.field(eq=False)


@attrs.frozen(kw_only=True, order=True)
class PlacedSkill:
    """A skill in the directory of its name. `origin` is where it is from, `role` the parent that has that source."""

    destination: Destination
    tree: Digest

    origin: SkillSource = attrs.field(eq=False, order=False)
    role: str | None = attrs.field(eq=False, order=False)


@attrs.frozen(kw_only=True)
class SkillsWork:
    """Skills where a harness reads them, sorted by destination; all in the workspace, or all in the home directory."""

    phase: ClassVar[str] = "skills"
    schema: ClassVar[int] = 1

    skills: tuple[PlacedSkill, ...]


@attrs.frozen(kw_only=True)
class McpWork:
    """The files that a harness reads its MCP servers from."""

    phase: ClassVar[str] = "mcp"
    schema: ClassVar[int] = 1

    files: tuple[PlacedFile, ...]


@attrs.frozen(kw_only=True)
class RootWork:
    """The state before setup: workspace, then files, then rules, then plugins, on what was installed."""

    phase: ClassVar[str] = "root"
    schema: ClassVar[int] = 1

    layout: Layout


@attrs.frozen(kw_only=True)
class InputsWork:
    """What a step that declares its inputs sees: a state with nothing else in the workspace, which is at `at`.

    `run` is the step, as messages name it.
    """

    phase: ClassVar[str] = "inputs"
    schema: ClassVar[int] = 1

    at: tuple[bytes, ...]
    inputs: tuple[str, ...]

    run: str = attrs.field(eq=False)
    engine: str = attrs.field(eq=False)


@attrs.frozen(kw_only=True)
class SetupWork:
    """One command of an environment's setup, with what it can see and reach.

    `secrets` are sorted by name; `egress` is as `effective` gives it. `start` is what the sandbox may use in which it
    runs.
    """

    phase: ClassVar[str] = "setup"
    schema: ClassVar[int] = 3

    run: str
    cwd: str
    env: tuple[tuple[str, str], ...]
    secrets: tuple[SecretView, ...]
    egress: Egress

    timeout_s: float = attrs.field(eq=False)
    engine: str = attrs.field(eq=False)
    start: StartOptions = attrs.field(eq=False, default=UNLIMITED)


@attrs.frozen(kw_only=True)
class MergeWork:
    """What a step that saw only its inputs did, put on the state that has the whole workspace, which is at `at`."""

    phase: ClassVar[str] = "merge"
    schema: ClassVar[int] = 1

    at: tuple[bytes, ...]

    engine: str = attrs.field(eq=False)


@attrs.frozen(kw_only=True)
class SnapshotWork:
    """The state a cell starts from, with the workspace its changes are compared with."""

    phase: ClassVar[str] = "snapshot"
    schema: ClassVar[int] = 1

    layout: Layout


# What is made from the host and the store alone, without a sandbox.
TreeWork: TypeAlias = SourceWork | WorkspaceWork | FilesWork | RulesWork | PluginWork | SkillsWork | McpWork
StateWork: TypeAlias = (
    BaseWork | DockerfileWork | InstallWork | HarnessWork | RootWork | InputsWork | SetupWork | MergeWork | SnapshotWork
)
Work: TypeAlias = StateWork | PluginBuildWork | TreeWork

PHASES: Final = (
    "base",
    "dockerfile",
    "install",
    "harness",
    "source",
    "plugin-build",
    "workspace",
    "files",
    "rules",
    "plugin",
    "root",
    "inputs",
    "setup",
    "merge",
    "skills",
    "snapshot",
    "mcp",
)


def engine_of(work: Work) -> str | None:
    """The kind of engine that runs the command of a node; None for a node that has none."""
    return (
        work.engine
        if isinstance(work, DockerfileWork | InstallWork | HarnessWork | SetupWork | PluginBuildWork)
        else None
    )


def material(work: Work) -> canon.Value:
    """What of a node's work enters its key: every field that takes part in equality, by name."""
    return [work.phase, work.schema, canonical(work)]


def canonical(value: object) -> canon.Value:
    """A value of ours as what enters keys: of its fields those that take part in equality, by name."""
    if value is None or isinstance(value, (bool, int, str, bytes, Digest)):
        return value
    if isinstance(value, tuple):
        return [canonical(item) for item in value]
    instance = cast("attrs.AttrsInstance", value)
    return {name: canonical(getattr(value, name)) for name in _compared(type(instance))}


@cache
def _compared(kind: type[attrs.AttrsInstance]) -> tuple[str, ...]:
    """The names of those fields of a class that take part in equality."""
    return tuple(field.name for field in attrs.fields(kind) if field.eq)


def joined(one: Work, other: Work) -> Work:
    """The work of one node that two cells ask for: equal work, under the more generous of two limits.

    Secrets can be filled from the host variables of either, and a tree that is in two repositories be had from either.
    """
    assert one == other, "nodes of one key have equal work"
    if isinstance(one, WorkspaceWork) and isinstance(other, WorkspaceWork):
        return one.or_from(other)
    if isinstance(one, HarnessWork) and isinstance(other, HarnessWork):
        timeout_s = max(one.install.timeout_s, other.install.timeout_s)
        one = attrs.evolve(one, install=attrs.evolve(one.install, timeout_s=timeout_s))
    if isinstance(one, (InstallWork, SetupWork)) and isinstance(other, (InstallWork, SetupWork)):
        one = attrs.evolve(one, timeout_s=max(one.timeout_s, other.timeout_s))
    if isinstance(one, SetupWork) and isinstance(other, SetupWork):
        secrets = tuple(mine.joined(theirs) for mine, theirs in zip(one.secrets, other.secrets, strict=True))
        one = attrs.evolve(one, start=one.start.joined(other.start), secrets=secrets)
    return one
