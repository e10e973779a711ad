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


@attrs.frozen(kw_only=True)
class Base:
    """What the lowest state of a sandbox is, by content.

    `identity` is equal for images of equal content and platform, on every engine; `reference` is how this engine
    finds it now.
    """

    identity: Digest
    platform: str

    reference: str = attrs.field(eq=False)


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

    `integrity` is the subresource integrity of its archive (`sha512-...`), which decides its files.
    """

    name: str
    version: str
    integrity: str

    warnings: tuple[str, ...] = attrs.field(default=(), eq=False)


@attrs.frozen(kw_only=True)
class Resolution:
    """For everything some cells name: what it is now, or why it cannot be had."""

    bases: Mapping[str, Base | InfraError]
    layouts: Mapping[str, Layout]
    workspaces: Mapping[GitWorkspace, ResolvedTree | InfraError]
    files: Mapping[str, ResolvedFile | InfraError]


def base_name(sandbox: Sandbox) -> str:
    """What a sandbox's base is called: sandboxes of one base are looked up once."""
    return sandbox.base_image if isinstance(sandbox, DockerSandbox) else "fake sandbox"
