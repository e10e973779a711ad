"""What everything outside was when it was looked at, once a plan."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import attrs

from reeval_build.content.registries import NO_REGISTRIES, Registries
from reeval_build.digest import Digest
from reeval_build.errors import InfraError
from reeval_build.model.plugins import PluginSource
from reeval_build.model.skills import SkillSource
from reeval_build.model.spec import DockerSandbox, GitWorkspace
from reeval_build.paths import Parts
from reeval_build.plan.dockerfiles import ResolvedDockerfile, called
from reeval_build.plan.harnesses import HarnessInstall
from reeval_build.plan.locks import LockedImage
from reeval_build.plan.sources import LocalDirectory, Package, SourceKind, SourceRequest
from reeval_build.state.state import Layout

if TYPE_CHECKING:
    from reeval_build.content.marketplaces import MarketplaceEntry
    from reeval_build.content.plugins import PluginContents
    from reeval_build.content.skills import FoundSkills
    from reeval_build.model.spec import Sandbox
    from reeval_build.plan.record import CellRecord


@attrs.frozen
class BaseName:
    """What a sandbox's base is called: the name of an image, or none for the empty one of the fake sandbox.

    `dockerfile` is the absolute path of the Dockerfile that an image is built from instead.
    """

    image: str | None = None
    dockerfile: str | None = None

    def __str__(self) -> str:
        if self.dockerfile is not None:
            return called(self.dockerfile)
        return "fake sandbox" if self.image is None else self.image


@attrs.frozen(kw_only=True)
class Base:
    """What the lowest state of a sandbox is, by content: equal for equal content and platform, on every engine.

    `locked` is what to lock an image as, None for what is no image, or has only one content by its name.
    """

    identity: Digest
    platform: str

    locked: LockedImage | None = attrs.field(default=None, eq=False)
    warnings: tuple[str, ...] = attrs.field(default=(), eq=False)


@attrs.frozen(kw_only=True)
class ResolvedTree:
    """A git tree that a workspace's repository, ref and path stand for now.

    `tree` is the hexadecimal object id of the tree of `commit` at the workspace's path, and is all that decides
    the files; `repository` is the path of a local repository that has its objects, when they are here already.
    """

    tree: str

    commit: str = attrs.field(eq=False)
    repository: str | None = attrs.field(default=None, eq=False)
    warnings: tuple[str, ...] = attrs.field(default=(), eq=False)


@attrs.frozen(kw_only=True)
class ResolvedFile:
    """A host file whose bytes are in the store."""

    digest: Digest
    size: int
    executable: bool


@attrs.frozen(kw_only=True)
class ResolvedPackage:
    """An npm package of exactly one version, or a package that is a directory or an archive of the host.

    `integrity` decides its files: it is the subresource integrity of its archive (`sha512-...`), or `tree-` and the
    digest of its tree for one that is a directory of the host.
    """

    name: str
    version: str
    integrity: str

    warnings: tuple[str, ...] = attrs.field(default=(), eq=False)


@attrs.frozen(kw_only=True)
class ResolvedDirectory:
    """A directory of the host whose files are in the store."""

    tree: Digest


@attrs.frozen(kw_only=True)
class ResolvedSource:
    """What a source of skills or a plugin is now.

    `identity` decides its files, and is what its node is keyed by: the object id of a git tree, the integrity of a
    package's archive, the digest of a local tree.
    """

    request: SourceRequest
    resolved: ResolvedTree | ResolvedPackage | ResolvedDirectory

    @property
    def kind(self) -> SourceKind:
        """What serves it."""
        match self.resolved:
            case ResolvedTree():
                return "git"
            case ResolvedPackage():
                return "npm"
            case ResolvedDirectory():
                return "local"

    @property
    def identity(self) -> str:
        """What decides its files."""
        match self.resolved:
            case ResolvedTree(tree=tree):
                return tree
            case ResolvedPackage(integrity=integrity):
                return integrity
            case ResolvedDirectory(tree=digest):
                return digest.hex

    @property
    def version(self) -> str | None:
        """The commit, or the exact version, that it is."""
        match self.resolved:
            case ResolvedTree(commit=commit):
                return commit
            case ResolvedPackage(version=version):
                return version
            case ResolvedDirectory():
                return None

    @property
    def warnings(self) -> tuple[str, ...]:
        """What its author should know."""
        return () if isinstance(self.resolved, ResolvedDirectory) else self.resolved.warnings

    @property
    def label(self) -> str:
        """What people call it."""
        match self.request:
            case LocalDirectory(path=path):
                return path
            case Package(spec=spec):
                return spec
            case GitWorkspace(repo=repo, ref=ref):
                return repo + (f"@{ref}" if ref else "")


@attrs.frozen(kw_only=True)
class FetchedSource:
    """A source whose files are in the store, and how long that took: None for one that was there before."""

    source: ResolvedSource
    tree: Digest

    seconds: float | None = attrs.field(default=None, eq=False)


@attrs.frozen(kw_only=True)
class ResolvedSkills:
    """The skills that a source gives; `fetched` is None for a skill that is written in the definition."""

    found: FoundSkills
    fetched: FetchedSource | None = None


@attrs.frozen(kw_only=True)
class ResolvedPlugin:
    """A plugin as its source has it, before it is built.

    `path` leads to the plugin's directory in what was `fetched`. Of an entry of a marketplace there is the `entry`,
    and the `marketplace` that it is in.
    """

    contents: PluginContents
    fetched: FetchedSource
    path: Parts
    entry: MarketplaceEntry | None = None
    marketplace: FetchedSource | None = None

    @property
    def warnings(self) -> tuple[str, ...]:
        """What its author should know."""
        places = (self.marketplace, self.fetched)
        fetched = (warning for place in places if place is not None for warning in place.source.warnings)
        return (*dict.fromkeys(fetched), *self.contents.warnings)


@attrs.frozen(kw_only=True)
class Resolution:
    """For everything some cells name: what it is now, or why it cannot be had.

    Plugins are by their source and the home directory of the sandbox they are read for. `harnesses` are what installs
    those kinds that the project wants installed, for cells whose sandbox can have them. `registries` are the hosts that
    package runners need. `earlier` are the last records of cells of the same names, where plugins of the
    host may have changed. `variables` are those host variables that secrets name and that are set: names, and no value.
    """

    bases: Mapping[BaseName, Base | InfraError]
    layouts: Mapping[str, Layout]
    workspaces: Mapping[GitWorkspace, ResolvedTree | InfraError]
    files: Mapping[str, ResolvedFile | InfraError]
    skills: Mapping[SkillSource, ResolvedSkills | InfraError] = attrs.field(factory=dict)
    plugins: Mapping[tuple[PluginSource, str], ResolvedPlugin | InfraError] = attrs.field(factory=dict)
    harnesses: Mapping[str, HarnessInstall | InfraError] = attrs.field(factory=dict)
    registries: Registries = NO_REGISTRIES
    earlier: Mapping[str, CellRecord] = attrs.field(factory=dict)
    variables: frozenset[str] = frozenset()
    dockerfiles: Mapping[str, ResolvedDockerfile | InfraError] = attrs.field(factory=dict)


def base_name(sandbox: Sandbox) -> BaseName:
    """What a sandbox's base is called: sandboxes of one base are looked up once."""
    if not isinstance(sandbox, DockerSandbox):
        return BaseName()
    return BaseName(sandbox.base_image) if sandbox.dockerfile is None else BaseName(dockerfile=sandbox.dockerfile)


def home_of(layout: Layout) -> str:
    """The home directory of a sandbox, as what runs in it names it."""
    return "/" + b"/".join(layout.home).decode()
