"""The adapters that a command works with, made for a store; each is imported when it is first needed."""

from __future__ import annotations

import os
import threading
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeVar

from reeval_build.content.facts import LateFacts, NoFacts
from reeval_build.execute.context import Context
from reeval_build.stores.layered import LayeredObjects
from reeval_build.stores.private import PrivateObjects
from reeval_build.stores.unread_facts import UnreadFacts
from reeval_build.stores.unread_stats import UnreadStats

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from reeval_build.content.facts import Facts
    from reeval_build.digest import Digest
    from reeval_build.execute.context import Engines
    from reeval_build.execute.image_locks import ImageLocks
    from reeval_build.model.harness_recipes import HarnessRecipe
    from reeval_build.model.spec import GitWorkspace
    from reeval_build.plan.locks import Locks
    from reeval_build.plan.resolution import ResolvedPackage, ResolvedTree
    from reeval_build.ports.engine import Cancellation, Engine
    from reeval_build.ports.locks import LockFile, RegistryAnswers
    from reeval_build.ports.objects import Batch, Objects
    from reeval_build.ports.sources import GitTrees, Packages
    from reeval_build.stores.local import LocalStore
    from reeval_build.stores.local.keeper import BudgetKeeper

Result = TypeVar("Result")


class Shelf:
    """The objects of a store, and those on top of them that are gone when it is closed."""

    def __init__(self, store: LocalStore) -> None:
        self._own = PrivateObjects(scratch=store.scratch)
        self.objects = LayeredObjects(self._own, store.objects, into=store.objects)
        self.private = LayeredObjects(self._own, store.objects, into=self._own)

    def close(self) -> None:
        """Remove what is private."""
        self._own.close()


class Host:
    """Reads files and directories of the host, and remembers what they are when it is closed."""

    def __init__(self, store: LocalStore, *, rehash: bool) -> None:
        from reeval_build.sources.freshness import Freshness
        from reeval_build.sources.host_files import HostFileReader
        from reeval_build.sources.local_trees import LocalDirectories

        freshness = Freshness(UnreadStats(store.stats) if rehash else store.stats)
        self.facts: Facts = UnreadFacts(store.facts) if rehash else store.facts
        self.trees_read = LateFacts(self.facts)
        self.files = HostFileReader(store.objects, freshness)
        self.trees = LocalDirectories(store.objects, freshness)

    def close(self) -> None:
        """Remember."""
        self.files.close()
        self.trees_read.close()


def compose(
    store: LocalStore,
    shelf: Shelf,
    engines: Engines,
    host: Host,
    locks: ImageLocks,
    harnesses: Mapping[str, HarnessRecipe],
) -> Context:
    """All that a run needs from outside."""
    cancel = threading.Event()
    return Context(
        objects=shelf.objects,
        private=shelf.private,
        facts=host.facts,
        records=store.records,
        cells=store.cells,
        engines=engines,
        locks=locks,
        harnesses=harnesses,
        git=_LazyGit(store, host.trees_read, shelf.objects, cancel),
        host_files=host.files,
        packages=_LazyPackages(store, cancel),
        local_trees=host.trees,
        logs=store.logs,
        scratch=store.scratch,
        cancel=cancel,
        variables=dict(os.environ),
    )


def keeper_of(store: LocalStore, budget_bytes: int | None, cancel: Cancellation) -> BudgetKeeper | None:
    """What keeps a store within a budget while this process writes to it, when there is one."""
    if budget_bytes is None:
        return None
    from reeval_build.stores.local.keeper import BudgetKeeper

    keeper = BudgetKeeper(store, budget_bytes, cancel=cancel)
    store.tally.watch = keeper.make_room
    return keeper


class MadeEngines:
    """Makes each engine when it is first asked for, once."""

    def __init__(self, store: LocalStore, shelf: Shelf) -> None:
        self._make = {kind: partial(make, store, shelf.objects) for kind, make in _ENGINES.items()}
        self._made: dict[str, Engine] = {}
        self._guard = threading.Lock()

    def __call__(self, kind: str) -> Engine:
        """See `execute.context.Engines`."""
        with self._guard:
            if kind not in self._made:
                self._made[kind] = self._make[kind]()
            return self._made[kind]

    def close(self) -> None:
        """Close what was made."""
        for engine in self._made.values():
            engine.close()


def _fake_engine(store: LocalStore, objects: Objects) -> Engine:
    from reeval_build.engines.fake.engine import FakeEngine

    return FakeEngine(objects, scratch=store.scratch, scratch_in=store.scratch_in)


def _docker_engine(store: LocalStore, objects: Objects) -> Engine:
    from reeval_build.engines.docker.prompt import PromptEngine

    return PromptEngine(objects, scratch=store.scratch)


_ENGINES: Final[dict[str, Callable[[LocalStore, Objects], Engine]]] = {"docker": _docker_engine, "fake": _fake_engine}


class _ProjectLockFile:
    """The lock file of the project that a directory is in."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def read(self) -> Locks:
        """See `ports.locks.LockFile.read`."""
        from reeval_build.loading.lock_file import lock_path, read_locks

        return read_locks(lock_path(self._directory))

    def change(self, change: Callable[[Locks], Locks]) -> None:
        """See `ports.locks.LockFile.change`."""
        from reeval_build.loading.lock_file import lock_path
        from reeval_build.loading.lock_writing import change_locks

        change_locks(lock_path(self._directory), change)


def project_lock_file() -> LockFile | None:
    """The lock file for who works in this directory, which may have been removed."""
    directory = working_directory()
    return None if directory is None else _ProjectLockFile(directory)


def registry_answers() -> RegistryAnswers:
    """What can be asked of registries, by way of the engine."""
    from reeval_build.engines.docker.registry import EngineRegistries

    return EngineRegistries()


@contextmanager
def packages_now() -> Iterator[Packages]:
    """What registries of npm packages have now, whatever was known of them before."""
    from tempfile import TemporaryDirectory

    from reeval_build.sources.npm import NpmPackages

    with TemporaryDirectory(prefix="reeval-build-") as directory:
        yield NpmPackages(Path(directory), project=working_directory())


class _LazyGit:
    """Reads git repositories with a library that is loaded when the first one is read."""

    def __init__(self, store: LocalStore, facts: Facts, objects: Objects, cancel: Cancellation) -> None:
        self._store = store
        self._facts: Facts = facts
        self._objects = objects
        self._cancel = cancel
        self._made: GitTrees | None = None
        self._guard = threading.Lock()

    def resolve(self, workspace: GitWorkspace) -> ResolvedTree:
        """See `ports.sources.GitTrees.resolve`."""
        return self._noting(workspace, self._git.resolve(workspace))

    def read(self, workspace: GitWorkspace, resolved: ResolvedTree, batch: Batch) -> Digest:
        """See `ports.sources.GitTrees.read`."""
        return self._noting(workspace, self._git.read(workspace, resolved, batch))

    def distrust(self) -> None:
        """See `ports.sources.GitTrees.distrust`."""
        with self._guard:
            self._facts = NoFacts()
            if self._made is not None:
                self._made.distrust()

    def _noting(self, workspace: GitWorkspace, result: Result) -> Result:
        """`result`, after which more may be in the store than was tallied."""
        if not workspace.url.startswith(("/", "file:")):
            self._store.tally.is_sure = False
        return result

    @property
    def _git(self) -> GitTrees:
        with self._guard:
            if self._made is None:
                from reeval_build.sources.git import GitRepositories
                from reeval_build.sources.git_known import KnownTrees

                known = KnownTrees(self._facts, self._objects.present_trees)
                self._made = GitRepositories(self._store.git, cancel=self._cancel, known=known)
            return self._made


class _LazyPackages:
    """Reads npm packages with modules that are loaded when the first one is read."""

    def __init__(self, store: LocalStore, cancel: Cancellation) -> None:
        self._store = store
        self._cancel = cancel
        self._made: Packages | None = None
        self._guard = threading.Lock()

    def resolve(self, spec: str, *, registry: str | None = None) -> ResolvedPackage:
        """See `ports.sources.Packages.resolve`."""
        resolved = self._packages.resolve(spec, registry=registry)
        self._store.tally.is_sure = False
        return resolved

    def read(self, spec: str, resolved: ResolvedPackage, batch: Batch, *, registry: str | None = None) -> Digest:
        """See `ports.sources.Packages.read`."""
        tree = self._packages.read(spec, resolved, batch, registry=registry)
        self._store.tally.is_sure = False
        return tree

    @property
    def _packages(self) -> Packages:
        with self._guard:
            if self._made is None:
                from reeval_build.sources.npm import NpmPackages

                self._made = NpmPackages(self._store.npm, project=working_directory(), cancel=self._cancel)
            return self._made


def working_directory() -> Path | None:
    """Where the command was started, which may have been removed."""
    try:
        return Path.cwd()
    except FileNotFoundError:
        return None
