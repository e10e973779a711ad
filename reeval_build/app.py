"""Composition: settings in, adapters chosen; adapters are imported when they are first needed."""

from __future__ import annotations

import os
import threading
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Final, TypeVar

import attrs

from reeval_build.errors import InfraError
from reeval_build.execute.context import Context
from reeval_build.execute.executor import execute
from reeval_build.execute.recording import keep_records
from reeval_build.execute.resolve import resolve
from reeval_build.model.cells import most_at_once
from reeval_build.plan.outputs import SnapshotOutput, TreeOutput
from reeval_build.plan.planner import plan
from reeval_build.ports.events import ObjectLost
from reeval_build.ports.objects import LostObjectError
from reeval_build.stores.layered import LayeredObjects
from reeval_build.stores.local import LocalStore
from reeval_build.stores.private import PrivateObjects
from reeval_build.stores.unread_stats import UnreadStats

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from reeval_build.digest import Digest
    from reeval_build.execute.attempt import Attempt, Ran
    from reeval_build.execute.context import Engines
    from reeval_build.execute.outcome import Outcome
    from reeval_build.model.cells import Cell
    from reeval_build.model.spec import GitWorkspace
    from reeval_build.plan.graph import Graph, PlannedCell
    from reeval_build.plan.resolution import ResolvedPackage, ResolvedTree
    from reeval_build.ports.engine import Cancellation, Engine
    from reeval_build.ports.events import Listener
    from reeval_build.ports.objects import Batch, Objects
    from reeval_build.ports.sources import GitTrees, Packages
    from reeval_build.tree.compare import Change

HOME_VARIABLE: Final = "REEVAL_BUILD_HOME"
_REPAIRS: Final = 3

Result = TypeVar("Result")


@attrs.frozen(kw_only=True)
class Settings:
    """What the command line and the environment decide. `store` None means the default place.

    `rehash` reads every file of the host, also those that look as they did when they were read last.
    """

    store: Path | None = None
    sandbox: str = "docker"
    rehash: bool = False
    jobs: int = attrs.field(factory=lambda: os.cpu_count() or 1)


def default_store() -> Path:
    """Where the store is when nothing says otherwise: $REEVAL_BUILD_HOME, else the platform's cache directory."""
    if home := os.environ.get(HOME_VARIABLE):
        return Path(home)
    import platformdirs

    return Path(platformdirs.user_cache_dir("reeval-build", appauthor=False))


class App:
    """A store and the adapters around it, for one command."""

    def __init__(self, settings: Settings, store: LocalStore, shelf: _Shelf, engines: Engines, host: _Host) -> None:
        self._jobs = settings.jobs
        self._context = _compose(store, shelf, engines, host)
        self._remove_leftovers = store.remove_leftovers

    def plan(self, cells: Iterable[Cell]) -> Graph:
        """The graph of `cells`, from what everything they name is now."""
        cells = tuple(cells)
        return plan(cells, resolve(cells, self._context, jobs=self._jobs))

    def build(self, graph: Graph, listen: Listener, *, verify: bool = False) -> Outcome:
        """Build what of `graph` is not built. See `execute.executor.execute`.

        What killed runs left in the store is removed first.
        """
        self._remove_leftovers(_discard)
        engines = _Bounded(self._context.engines, most_at_once(planned.cell for planned in graph.cells))
        context = attrs.evolve(self._context, engines=engines)
        outcome = execute(graph, context, jobs=self._jobs, listen=listen, verify=verify)
        keep_records(outcome, context.records, listen)
        return outcome

    def attempt(
        self, graph: Graph, command: Sequence[str], listen: Listener, *, stdout: BinaryIO, stderr: BinaryIO
    ) -> Attempt:
        """Run `command` in a sandbox from the snapshot of the one cell of `graph`, which was built.

        A snapshot that the store has lost a piece of is built again. The command runs once. Values of secrets are in
        nothing of what is written or returned.

        Raises:
            InfraError: when the host variable of a secret is not set, before anything is done.
        """
        from reeval_build.execute.attempt import Attempt, changes_since, reveal_all, run_command

        planned, context = graph.cells[0], self._context

        def run(outcome: Outcome) -> tuple[SnapshotOutput, Ran]:
            snapshot, placed = snapshot_of(outcome), placed_at_start(outcome)
            return snapshot, run_command(
                planned, command, context, snapshot=snapshot, placed=placed, stdout=stdout, stderr=stderr
            )

        def compare(outcome: Outcome) -> tuple[Change, ...]:
            if snapshot_of(outcome) != snapshot:
                raise InfraError("its snapshot was lost, and is another one now: what changed cannot be told")
            return changes_since(snapshot, ran, context)

        with _concerning(planned):
            reveal_all(planned, context)
            outcome, (snapshot, ran) = self._repairing(graph, listen, self.build(graph, listen), run)
            _, changes = self._repairing(graph, listen, outcome, compare)
        return Attempt(
            command=ran.command,
            exit_code=ran.exit_code,
            changes=changes,
            was_killed_for_memory=ran.was_killed_for_memory,
            telling=ran.telling,
        )

    def _repairing(
        self, graph: Graph, listen: Listener, outcome: Outcome, work: Callable[[Outcome], Result]
    ) -> tuple[Outcome, Result]:
        """What `work` makes of an outcome, and that, which is built again when the store has lost a piece of it.

        More than once, for other processes may be repairing the same.
        """
        for _ in range(_REPAIRS):
            try:
                return outcome, work(outcome)
            except LostObjectError as lost:
                listen(ObjectLost(digest=lost.digest, problem=str(lost)))
                outcome = self.build(graph, listen, verify=True)
        return outcome, work(outcome)


def snapshot_of(outcome: Outcome) -> SnapshotOutput:
    """The snapshot of the one cell of an outcome. Raises InfraError for what stands in its way."""
    planned = outcome.graph.cells[0]
    for result in outcome.results.values():
        if result.problem is not None:
            raise result.problem
    output = outcome.results[planned.snapshot].output
    assert isinstance(output, SnapshotOutput), "a cell that did not fail has a snapshot"
    return output


def placed_at_start(outcome: Outcome) -> tuple[TreeOutput, ...]:
    """What a sandbox of the one cell of an outcome, which did not fail, is given besides its snapshot."""
    outputs = (outcome.results[recipe].output for recipe in outcome.graph.cells[0].start)
    return tuple(output for output in outputs if isinstance(output, TreeOutput))


@contextmanager
def _concerning(planned: PlannedCell) -> Iterator[None]:
    """Have messages name the file and the cell."""
    try:
        yield
    except InfraError as problem:
        raise InfraError(f"{planned.cell.file}: {planned.cell.name}: {problem}") from problem


@contextmanager
def opened(settings: Settings) -> Iterator[App]:
    """An app on the store that `settings` choose, which is made when it is not there."""
    with (
        LocalStore(settings.store or default_store()) as store,
        closing(_Shelf(store)) as shelf,
        closing(_Engines(store, shelf)) as engines,
        closing(_Host(store, rehash=settings.rehash)) as host,
    ):
        yield App(settings, store, shelf, engines, host)


@contextmanager
def opened_store(path: Path | None) -> Iterator[LocalStore]:
    """A store for looking after it; None means the default place. What killed runs left in it is removed."""
    with LocalStore(path or default_store()) as store:
        store.remove_leftovers(_discard)
        yield store


class _Shelf:
    """The objects of a store, and those on top of them that are gone when it is closed."""

    def __init__(self, store: LocalStore) -> None:
        self._own = PrivateObjects(scratch=store.scratch)
        self.objects = LayeredObjects(self._own, store.objects, into=store.objects)
        self.private = LayeredObjects(self._own, store.objects, into=self._own)

    def close(self) -> None:
        """Remove what is private."""
        self._own.close()


class _Host:
    """Reads files and directories of the host, and remembers what they are when it is closed."""

    def __init__(self, store: LocalStore, *, rehash: bool) -> None:
        from reeval_build.sources.freshness import Freshness
        from reeval_build.sources.host_files import HostFileReader
        from reeval_build.sources.local_trees import LocalDirectories

        freshness = Freshness(UnreadStats(store.stats) if rehash else store.stats)
        self.files = HostFileReader(store.objects, freshness)
        self.trees = LocalDirectories(store.objects, freshness)

    def close(self) -> None:
        """Remember."""
        self.files.close()


def _compose(store: LocalStore, shelf: _Shelf, engines: Engines, host: _Host) -> Context:
    cancel = threading.Event()
    return Context(
        objects=shelf.objects,
        private=shelf.private,
        records=store.records,
        engines=engines,
        git=_LazyGit(store, cancel),
        host_files=host.files,
        packages=_LazyPackages(store, cancel),
        local_trees=host.trees,
        logs=store.logs,
        scratch=store.scratch,
        cancel=cancel,
        variables=dict(os.environ),
    )


def _discard(directory: Path) -> None:
    from reeval_build.engines.fake.removal import discard

    discard(directory)


class _Engines:
    """Makes each engine when it is first asked for, once."""

    def __init__(self, store: LocalStore, shelf: _Shelf) -> None:
        self._make = {kind: partial(make, store, shelf.objects) for kind, make in _ENGINES.items()}
        self._made: dict[str, Engine] = {}
        self._guard = threading.Lock()

    def __call__(self, kind: str) -> Engine:
        with self._guard:
            if kind not in self._made:
                self._made[kind] = self._make[kind]()
            return self._made[kind]

    def close(self) -> None:
        """Close what was made."""
        for engine in self._made.values():
            engine.close()


class _Bounded:
    """Engines on which only so many sandboxes of a kind run at once."""

    def __init__(self, engines: Engines, limits: Mapping[str, int]) -> None:
        self._engines = engines
        self._limits = limits
        self._made: dict[str, Engine] = {}
        self._guard = threading.Lock()

    def __call__(self, kind: str) -> Engine:
        from reeval_build.engines.bounded import BoundedEngine

        with self._guard:
            if kind not in self._made:
                engine, limit = self._engines(kind), self._limits.get(kind)
                self._made[kind] = engine if limit is None else BoundedEngine(engine, limit)
            return self._made[kind]


def _fake_engine(store: LocalStore, objects: Objects) -> Engine:
    from reeval_build.engines.fake.engine import FakeEngine

    return FakeEngine(objects, scratch=store.scratch, scratch_in=store.scratch_in)


def _docker_engine(store: LocalStore, objects: Objects) -> Engine:
    from reeval_build.engines.docker import DockerEngine

    return DockerEngine(objects, scratch=store.scratch)


_ENGINES: Final[dict[str, Callable[[LocalStore, Objects], Engine]]] = {"docker": _docker_engine, "fake": _fake_engine}


class _LazyGit:
    """Reads git repositories with a library that is loaded when the first one is read."""

    def __init__(self, store: LocalStore, cancel: Cancellation) -> None:
        self._store = store
        self._cancel = cancel
        self._made: GitTrees | None = None
        self._guard = threading.Lock()

    def resolve(self, workspace: GitWorkspace) -> ResolvedTree:
        """See `ports.sources.GitTrees.resolve`."""
        return self._git.resolve(workspace)

    def read(self, workspace: GitWorkspace, resolved: ResolvedTree, batch: Batch) -> Digest:
        """See `ports.sources.GitTrees.read`."""
        return self._git.read(workspace, resolved, batch)

    @property
    def _git(self) -> GitTrees:
        with self._guard:
            if self._made is None:
                from reeval_build.sources.git import GitRepositories

                self._made = GitRepositories(self._store.git, cancel=self._cancel)
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
        return self._packages.resolve(spec, registry=registry)

    def read(self, spec: str, resolved: ResolvedPackage, batch: Batch, *, registry: str | None = None) -> Digest:
        """See `ports.sources.Packages.read`."""
        return self._packages.read(spec, resolved, batch, registry=registry)

    @property
    def _packages(self) -> Packages:
        with self._guard:
            if self._made is None:
                from reeval_build.sources.npm import NpmPackages

                self._made = NpmPackages(self._store.npm, project=_working_directory(), cancel=self._cancel)
            return self._made


def _working_directory() -> Path | None:
    """Where the command was started, which may have been removed."""
    try:
        return Path.cwd()
    except FileNotFoundError:
        return None
