"""Where the material of environments comes from, on the host."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

import attrs

from reeval_build.digest import Digest
from reeval_build.errors import InfraError

if TYPE_CHECKING:
    from reeval_build.model.spec import GitWorkspace
    from reeval_build.plan.resolution import ResolvedFile, ResolvedPackage, ResolvedTree
    from reeval_build.ports.objects import Batch
    from reeval_build.tree.selection import Selection


class NoSuchDirectoryError(InfraError):
    """There is no such directory on the host."""


class GitTrees(Protocol):
    """Reads workspaces out of git repositories; safe to use from several threads."""

    def resolve(self, workspace: GitWorkspace) -> ResolvedTree:
        """The tree a workspace stands for now. Needs no network when `ref` is a commit that is known.

        Raises:
            InfraError: when the repository, the ref or the path is not there, or access is refused.
        """

    def read(self, workspace: GitWorkspace, resolved: ResolvedTree, batch: Batch) -> Digest:
        """The workspace's files as a tree whose objects are added to `batch`.

        Bytes are the git objects' bytes: attributes, filters and line endings do not apply, a submodule is an empty
        directory, a Git LFS pointer stays one. With `init` there is a `.git` with exactly one commit.

        Raises:
            InfraError: when an object is missing, or a path or link of the tree is refused; names the path.
        """

    def distrust(self) -> None:
        """Read every object from now on: the store has lost something below a directory that it has."""


class HostFiles(Protocol):
    """Reads files of the host; safe to use from several threads."""

    def read(self, path: str) -> ResolvedFile:
        """Keep the bytes a file has now, and say what they are. Raises InfraError when it cannot be read."""


class Packages(Protocol):
    """Reads npm packages; safe to use from several threads."""

    def resolve(self, spec: str, *, registry: str | None = None) -> ResolvedPackage:
        """The one version of a package that `spec` stands for now.

        `spec` is what `npm pack` takes: a name with a version, range or tag, or `file:` and an absolute path of a
        directory or an archive. A spec that can mean another version tomorrow has a warning in the result. `registry`
        is a URL when it is not the one that the user's configuration names.

        Raises:
            InfraError: when there is no such package or version, or npm or its registry does not answer.
        """

    def read(self, spec: str, resolved: ResolvedPackage, batch: Batch, *, registry: str | None = None) -> Digest:
        """The files of a package, without the directory that its archive has them in, as a tree added to `batch`.

        Raises:
            InfraError: when the archive is not what `resolved` says, or a member of it is refused; names the path.
        """


@attrs.frozen
class IdentifiedTree:
    """The tree that a directory is.

    `is_whole` asks whether the store has every object of it, once the batch has ended that some were added to. What is
    lost below a directory that the store has is not asked for.
    """

    tree: Digest

    is_whole: Callable[[], bool] = attrs.field(eq=False)


class LocalTrees(Protocol):
    """Reads directories of the host; safe to use from several threads."""

    def identify(self, path: str, batch: Batch, *, selection: Selection | None = None) -> IdentifiedTree:
        """The tree that the files below a directory are now.

        Without a `selection`, `.git` at any depth is left out.

        What has to be read for that is added to `batch`. What is known without may be in the store or not.

        Raises:
            NoSuchDirectoryError: when nothing is there, or something else than a directory.
            InfraError: when an entry is refused (a special file, a link out of the tree, a name that cannot stand in a
                tree) or cannot be read; names the path.
        """

    def read(self, path: str, batch: Batch, *, selection: Selection | None = None) -> Digest:
        """The same tree, every object of which is in the store or added to `batch`. Raises as `identify` does."""
