"""Reads objects of a git repository on this machine, as they are."""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING, Final

import attrs
import pygit2
from pygit2.enums import ObjectType, RepositoryOpenFlag

from reeval_build.sources.git_errors import (
    EmptyRepositoryError,
    HugeRepositoryError,
    LostGitObjectError,
    NoRepositoryError,
    NoSuchPathError,
    NoSuchRefError,
    UnsupportedRepositoryError,
    UnusableRefError,
)
from reeval_build.sources.git_limits import GENEROUS, GitLimits
from reeval_build.sources.git_refs import as_abbreviation, as_commit, full_names

if TYPE_CHECKING:
    from collections.abc import Iterator

    from reeval_build.model.spec import GitWorkspace

_ID_BYTES: Final = 20

# Reading objects runs nothing that the repository's owner could have configured, so it may be anyone's.
pygit2.settings.owner_validation = False


@attrs.frozen
class GitEntry:
    """An entry of a git tree, as it is written there."""

    mode: int
    name: bytes
    object_id: bytes

    @property
    def kind(self) -> int:
        """The file type bits of the mode."""
        return stat.S_IFMT(self.mode)


def parse_tree(data: bytes) -> Iterator[GitEntry]:
    """The entries of a git tree object. Raises ValueError for bytes that are none."""
    at = 0
    while at < len(data):
        end = data.index(b"\0", at)
        mode, _, name = data[at:end].partition(b" ")
        at = end + 1 + _ID_BYTES
        if at > len(data):
            raise ValueError("cut inside an object id")
        yield GitEntry(int(mode, 8), name, data[end + 1 : at])


class GitObjects:
    """The objects of one repository, for one workspace; used from one thread.

    An object that is larger than `limits` allow is refused with HugeRepositoryError, unread.

    Raises:
        NoRepositoryError: when there is none at `path`.
        UnsupportedRepositoryError: when it cannot be read here.
    """

    def __init__(self, workspace: GitWorkspace, path: str, *, limits: GitLimits = GENEROUS) -> None:
        self.workspace = workspace
        self.limits = limits
        self._path = path
        try:
            self._repository = pygit2.Repository(path, RepositoryOpenFlag.NO_SEARCH)
        except (pygit2.GitError, OSError) as error:
            raise _explain(workspace, path, error) from error
        except ValueError as error:
            # A NUL, or what no encoding of names has.
            hint = "check the path's spelling"
            raise NoRepositoryError(workspace, "is no path that a directory can have", hint=hint) from error
        self._database = self._repository.odb

    def find_commit(self) -> str:
        """The commit that the workspace's ref stands for.

        Raises:
            EmptyRepositoryError, NoSuchRefError, UnusableRefError: when there is none.
            LostGitObjectError: when a reference leads to an object that is not there.
        """
        ref = self.workspace.ref
        if commit := as_commit(ref):
            return self.peel(commit)
        for name in full_names(ref):
            try:
                found = self._repository.lookup_reference(name).resolve()
            except (KeyError, pygit2.GitError):
                continue
            return self.peel(str(found.target))
        if start := as_abbreviation(ref):
            return self.peel(start)
        if not any(True for _reference in self._repository.references):
            raise EmptyRepositoryError(self.workspace)
        raise NoSuchRefError(self.workspace)

    def has(self, object_id: str) -> bool:
        """Whether an object is there, by its full id."""
        return object_id in self._repository

    def peel(self, object_id: str) -> str:
        """The commit that a commit or a tag stands for. Raises as `find_commit` does."""
        found = self._look_up(object_id)
        while isinstance(found, pygit2.Tag):
            found = self._look_up(str(found.target))
        if not isinstance(found, pygit2.Commit):
            raise UnusableRefError(self.workspace, "it is not a commit")
        return str(found.id)

    def tree_of(self, commit: str) -> bytes:
        """The id of the tree of `commit` at the workspace's path.

        Raises:
            NoSuchPathError: when no directory is there.
            LostGitObjectError: when an object on the way is missing.
        """
        found = self._look_up(commit)
        assert isinstance(found, pygit2.Commit), "only ids of commits come here"
        tree = found.tree_id.raw
        walked = []
        for name in [] if self.workspace.path is None else self.workspace.path.split("/"):
            walked.append(name)
            entry = next((entry for entry in self.tree(tree) if entry.name == name.encode()), None)
            if entry is None:
                raise NoSuchPathError(self.workspace, commit, f'has no "{"/".join(walked)}"')
            if entry.kind != stat.S_IFDIR:
                raise NoSuchPathError(self.workspace, commit, f'has "{"/".join(walked)}", which is not a directory')
            tree = entry.object_id
        self.read(tree, ObjectType.TREE)
        return tree

    def tree(self, object_id: bytes) -> list[GitEntry]:
        """The entries of a tree. Raises LostGitObjectError when it is missing or is none."""
        data = self.read(object_id, ObjectType.TREE)
        try:
            return list(parse_tree(data))
        except ValueError as error:
            raise self._lost(object_id.hex(), "is not a valid tree") from error

    def read(self, object_id: bytes, kind: ObjectType) -> bytes:
        """The bytes of an object, which libgit2 checks against its id. Raises LostGitObjectError."""
        oid = pygit2.Oid(raw=object_id)
        try:
            self._check_size(oid)
            found, data = self._repository.read(oid)
        except KeyError as error:
            raise self._lost(object_id.hex(), "is missing") from error
        except pygit2.GitError as error:
            raise self._lost(object_id.hex(), "is corrupt") from error
        except OSError as error:
            raise self._lost(object_id.hex(), "cannot be read") from error
        if found != kind:
            raise self._lost(object_id.hex(), f"is not a {kind.name.lower()}")
        return data

    def _check_size(self, object_id: pygit2.Oid) -> None:
        _, size = self._database.read_header(object_id)
        if size > self.limits.object_bytes:
            most = f"{self.limits.object_bytes:,}"
            raise HugeRepositoryError(
                self.workspace, f"needs an object of {size:,} bytes, more than the {most} allowed"
            )

    def _look_up(self, object_id: str) -> pygit2.Object | pygit2.Commit:
        try:
            if as_commit(object_id):
                self._check_size(pygit2.Oid(hex=object_id))
            return self._repository[object_id]
        except KeyError as error:
            if self.workspace.ref is not None and self.workspace.ref.lower() == object_id:
                raise NoSuchRefError(self.workspace) from error
            raise self._lost(object_id, "is missing") from error
        except ValueError as error:
            raise UnusableRefError(self.workspace, "the ids of several objects start so") from error
        except pygit2.GitError as error:
            raise self._lost(object_id, "is corrupt") from error
        except OSError as error:
            raise self._lost(object_id, "cannot be read") from error

    def _lost(self, object_id: str, reason: str) -> LostGitObjectError:
        return LostGitObjectError(self.workspace, object_id, repository=self._path, reason=reason)


def _explain(workspace: GitWorkspace, path: str, error: Exception) -> NoRepositoryError | UnsupportedRepositoryError:
    said = str(error).removeprefix(f"{path}: ")
    if not isinstance(error, OSError) and not said.startswith("Repository not found"):
        return UnsupportedRepositoryError(workspace, said)
    try:
        with os.scandir(path):
            pass
    except FileNotFoundError:
        return NoRepositoryError(workspace, f"is not there: {path} does not exist", hint="check the path's spelling")
    except OSError as refused:
        reason = (refused.strerror or str(refused)).lower()
        return NoRepositoryError(workspace, f"cannot be opened: {path}: {reason}", hint="check what is there")
    above = pygit2.discover_repository(path)
    if above is not None:
        hint = f"name the repository's root and use path=; {path} is inside {above}"
        return NoRepositoryError(workspace, "is a directory in a repository, not its root", hint=hint)
    return NoRepositoryError(workspace, f"is no git repository: {path} has no .git", hint="`git init` and commit there")
