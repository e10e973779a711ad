"""What everything outside was when it was looked at, once a plan."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import attrs

from reeval_build.digest import Digest
from reeval_build.errors import InfraError
from reeval_build.model.spec import DockerSandbox, GitWorkspace
from reeval_build.state.state import Layout

if TYPE_CHECKING:
    from reeval_build.model.spec import Sandbox


@attrs.frozen
class BaseName:
    """What a sandbox's base is called: the name of an image, or none for the empty one of the fake sandbox."""

    image: str | None = None

    def __str__(self) -> str:
        return "fake sandbox" if self.image is None else self.image


@attrs.frozen(kw_only=True)
class Base:
    """What the lowest state of a sandbox is, by content: equal for equal content and platform, on every engine."""

    identity: Digest
    platform: str


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
class Resolution:
    """For everything some cells name: what it is now, or why it cannot be had."""

    bases: Mapping[BaseName, Base | InfraError]
    layouts: Mapping[str, Layout]
    workspaces: Mapping[GitWorkspace, ResolvedTree | InfraError]
    files: Mapping[str, ResolvedFile | InfraError]


def base_name(sandbox: Sandbox) -> BaseName:
    """What a sandbox's base is called: sandboxes of one base are looked up once."""
    return BaseName(sandbox.base_image if isinstance(sandbox, DockerSandbox) else None)
