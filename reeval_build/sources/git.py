"""Reads workspaces out of git repositories, local ones where they are and remote ones through a cache."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Final
from urllib.parse import unquote, urlsplit

import attrs

from reeval_build.digest import TREE
from reeval_build.plan.resolution import ResolvedTree
from reeval_build.sources.git_cache import FetchedRepository, UsedDirectories
from reeval_build.sources.git_init import read_with_git
from reeval_build.sources.git_known import KnownTrees
from reeval_build.sources.git_limits import GENEROUS, GitLimits
from reeval_build.sources.git_objects import GitObjects
from reeval_build.sources.git_refs import HEAD, warnings
from reeval_build.sources.git_tree import TreeReader
from reeval_build.tree.directory import encode

if TYPE_CHECKING:
    from pathlib import Path

    from reeval_build.digest import Digest
    from reeval_build.model.spec import GitWorkspace
    from reeval_build.ports.engine import Cancellation
    from reeval_build.ports.objects import Batch

_TIMEOUT_S: Final = 60.0


class _Tip:
    """A ref of a URL, and the commit it stood for when it was looked up."""

    def __init__(self) -> None:
        self.guard = threading.Lock()
        self.commit: str | None = None


class GitRepositories:
    """See `ports.sources.GitTrees`.

    It is for one run, which a branch that moves must not split: what a ref of a URL stands for is looked up once, and
    for every workspace of that URL and ref, whatever its path.

    Args:
        cache: where fetched repositories are kept; what nobody uses of it may be removed at any time.
        timeout_s: for how long a host may keep silent. It holds for the whole process: libgit2 has one such setting.
        limits: how much may be in a repository.
        cancel: ends a fetch when it is set, unless the host is silent: then its time must be over.
        known: which trees are not read again, for the store has them.
    """

    def __init__(
        self,
        cache: Path,
        *,
        timeout_s: float = _TIMEOUT_S,
        limits: GitLimits = GENEROUS,
        cancel: Cancellation | None = None,
        known: KnownTrees | None = None,
    ) -> None:
        self._cache = cache
        self._timeout_s = timeout_s
        self._limits = limits
        self._cancel = cancel
        self._known = KnownTrees() if known is None else known
        self._used = UsedDirectories()
        self._tips: dict[tuple[str, str], _Tip] = {}

    def resolve(self, workspace: GitWorkspace) -> ResolvedTree:
        """See `ports.sources.GitTrees.resolve`."""
        path = local_path(workspace.url)
        repository = self._fetched(workspace).path if path is None else path
        tip = self._tips.setdefault((workspace.url, workspace.ref or HEAD), _Tip())
        with tip.guard:
            commit = tip.commit = tip.commit or self._find_commit(workspace)
        return ResolvedTree(
            tree=self._objects(workspace, repository).tree_of(commit).hex(),
            commit=commit,
            repository=repository,
            warnings=warnings(workspace, local=path is not None),
        )

    def _find_commit(self, workspace: GitWorkspace) -> str:
        path = local_path(workspace.url)
        if path is None:
            return self._fetched(workspace).fetch_commit()
        return self._objects(workspace, path).find_commit()

    def read(self, workspace: GitWorkspace, resolved: ResolvedTree, batch: Batch) -> Digest:
        """See `ports.sources.GitTrees.read`."""
        path = local_path(workspace.url)
        if path is None:
            fetched = self._fetched(attrs.evolve(workspace, ref=resolved.commit))
            fetched.fetch_commit()
            path = fetched.path
        objects = self._objects(workspace, path)
        tree = bytes.fromhex(resolved.tree)
        if workspace.init:
            return batch.add(TREE, encode(read_with_git(objects, tree, batch, scratch=self._cache)))
        reader = TreeReader(objects, batch, known=self._known)
        digest = reader.keep(reader.read(tree))
        reader.remember()
        return digest

    def distrust(self) -> None:
        """See `ports.sources.GitTrees.distrust`."""
        self._known = KnownTrees()

    def _fetched(self, workspace: GitWorkspace) -> FetchedRepository:
        return FetchedRepository(
            self._cache,
            workspace,
            used=self._used,
            timeout_s=self._timeout_s,
            limits=self._limits,
            cancel=self._cancel,
        )

    def _objects(self, workspace: GitWorkspace, repository: str) -> GitObjects:
        return GitObjects(workspace, repository, limits=self._limits)


def local_path(url: str) -> str | None:
    """The path of a repository on this machine, or None for one that has to be fetched."""
    if url.startswith("/"):
        return url
    parts = urlsplit(url)
    if parts.scheme == "file" and parts.netloc in {"", "localhost"}:
        return unquote(parts.path)
    return None
