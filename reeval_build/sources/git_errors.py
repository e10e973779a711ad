"""What can be wrong with a git workspace, as sentences that name the repository as its author wrote it."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from reeval_build.errors import InfraError
from reeval_build.paths import display

if TYPE_CHECKING:
    from pathlib import Path

    from reeval_build.model.spec import GitWorkspace


class GitSourceError(InfraError):
    """A workspace cannot be had from its repository."""

    def __init__(self, workspace: GitWorkspace, problem: str, *, hint: str | None = None) -> None:
        super().__init__(f"{workspace.called} {problem}", hint=hint)
        self.workspace = workspace


class NoRepositoryError(GitSourceError):
    """There is no repository where the workspace says."""


class UnsupportedRepositoryError(GitSourceError):
    """The repository is kept in a way that cannot be read here."""

    def __init__(self, workspace: GitWorkspace, reason: str) -> None:
        super().__init__(
            workspace,
            f"cannot be read: {reason}",
            hint="only SHA-1 repositories with loose and packed references are supported; clone it into such a one",
        )
        self.reason = reason


class EmptyRepositoryError(GitSourceError):
    """The repository has no commit."""

    def __init__(self, workspace: GitWorkspace) -> None:
        super().__init__(workspace, "has no commit yet", hint="commit something to it, or name another repository")


class NoSuchRefError(GitSourceError):
    """The repository has nothing of that name."""

    def __init__(self, workspace: GitWorkspace) -> None:
        if workspace.ref is None:
            problem, hint = "has a HEAD that names no commit", "name a branch, tag or commit with ref="
        else:
            problem = f'has no branch, tag or commit "{workspace.ref}"'
            hint = "check its spelling, and that it was pushed"
        super().__init__(workspace, problem, hint=hint)


class UnusableRefError(GitSourceError):
    """The ref is there but does not say which commit is meant."""

    def __init__(self, workspace: GitWorkspace, reason: str) -> None:
        super().__init__(workspace, f'has "{workspace.ref}", but {reason}', hint="name a commit by its 40 digits")
        self.reason = reason


class NoSuchPathError(GitSourceError):
    """The commit has no directory at the workspace's path."""

    def __init__(self, workspace: GitWorkspace, commit: str, reason: str) -> None:
        at = commit if workspace.ref is None else workspace.ref
        super().__init__(
            workspace, f'at "{at}" {reason}', hint="path= names a directory of the repository, from its root"
        )
        self.commit, self.reason = commit, reason


class AccessRefusedError(GitSourceError):
    """The host does not let us read the repository."""

    def __init__(self, workspace: GitWorkspace, reason: str, *, hint: str) -> None:
        super().__init__(workspace, f"refuses access: {reason}", hint=hint)
        self.reason = reason


class TokenNotSetError(GitSourceError):
    """The variable that holds the token is not set, or empty."""

    def __init__(self, workspace: GitWorkspace) -> None:
        super().__init__(
            workspace,
            f"takes its token from the host variable {workspace.token}, which is not set or empty",
            hint=f"export {workspace.token} and run again",
        )


class HostAwayError(GitSourceError):
    """The host does not answer."""

    category: ClassVar[str] = "network"

    def __init__(self, workspace: GitWorkspace, reason: str) -> None:
        super().__init__(
            workspace,
            f"cannot be reached: {reason}",
            hint="check the host's name and your network; a full commit id that was fetched before needs neither",
        )
        self.reason = reason


class LostGitObjectError(GitSourceError):
    """An object that the commit needs is not in the repository, or is corrupt."""

    def __init__(self, workspace: GitWorkspace, object_id: str, *, repository: str, reason: str) -> None:
        super().__init__(
            workspace,
            f"needs the git object {object_id}, which {reason} in {repository}",
            hint="`git fsck` in it tells more; a partial clone lacks what was not checked out;"
            " what was fetched into the store's git folder can be removed and is fetched again",
        )
        self.object_id, self.repository, self.reason = object_id, repository, reason


class RefusedTreeError(GitSourceError):
    """The tree has an entry that must not be placed."""

    def __init__(self, workspace: GitWorkspace, path: bytes, reason: str) -> None:
        super().__init__(
            workspace,
            f'has "{display(path)}", which {reason}',
            hint="take it out of the repository, or narrow the workspace with path=",
        )
        self.path, self.reason = path, reason


class HugeRepositoryError(GitSourceError):
    """There is more in the repository than anything that is meant to be a workspace."""

    def __init__(self, workspace: GitWorkspace, reason: str) -> None:
        super().__init__(workspace, reason, hint="take it out of the repository, or narrow the workspace with path=")
        self.reason = reason


class FetchCacheError(InfraError):
    """The directory for fetched repositories cannot be used."""

    def __init__(self, directory: Path, error: OSError) -> None:
        super().__init__(
            f"fetched repositories cannot be kept in {directory}: {error}",
            hint="make room or give access to it, or choose another store",
        )
        self.directory = directory
