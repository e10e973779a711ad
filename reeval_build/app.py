"""What the commands do, from their settings to their results."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Final, TypeVar

import attrs

from reeval_build.composition import (
    Host,
    MadeEngines,
    Shelf,
    compose,
    keeper_of,
    packages_now,
    project_lock_file,
    registry_answers,
    working_directory,
)
from reeval_build.errors import InfraError, PlanError
from reeval_build.execute.image_locks import ImageLocks
from reeval_build.execute.resolve import resolve
from reeval_build.loading.configuration import configured_budget, configured_platform
from reeval_build.model.cells import dockerfiles_of, images_of, most_at_once
from reeval_build.model.harness_recipes import HarnessRecipe
from reeval_build.plan.outputs import SnapshotOutput, TreeOutput
from reeval_build.plan.planner import plan
from reeval_build.ports.objects import LostObjectError
from reeval_build.stores.local import LocalStore

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from reeval_build.execute.attempt import Attempt, Ran
    from reeval_build.execute.context import Engines
    from reeval_build.execute.outcome import Outcome
    from reeval_build.loading.project_file import ProjectSettings
    from reeval_build.model.cells import Cell
    from reeval_build.plan.graph import Graph, PlannedCell
    from reeval_build.plan.harness_check import HarnessChange
    from reeval_build.plan.lock_check import LockChange, LockCheck
    from reeval_build.ports.events import Listener
    from reeval_build.tree.compare import Change

HOME_VARIABLE: Final = "REEVAL_BUILD_HOME"
_REPAIRS: Final = 3

Result = TypeVar("Result")


@attrs.frozen(kw_only=True)
class Settings:
    """What the command line and the environment decide. `store` None means the default place.

    `budget_bytes` is how large the store may become, and `platform` what images are for; None means what the
    environment or the project says. `is_frozen` refuses images and harnesses that are not locked.
    `harnesses` is how the project has the programs of harnesses installed, by kind.
    `rehash` reads every file of the host, also those that look as they did when they were read last.
    """

    store: Path | None = None
    sandbox: str = "docker"
    rehash: bool = False
    budget_bytes: int | None = None
    platform: str | None = None
    is_frozen: bool = False
    harnesses: Mapping[str, HarnessRecipe] = attrs.field(factory=dict)
    jobs: int = attrs.field(factory=lambda: os.cpu_count() or 1)


def default_store() -> Path:
    """Where the store is when nothing says otherwise: $REEVAL_BUILD_HOME, else the platform's cache directory."""
    if home := os.environ.get(HOME_VARIABLE):
        return Path(home)
    import platformdirs

    return Path(platformdirs.user_cache_dir("reeval-build", appauthor=False))


def read_project() -> ProjectSettings:
    """What the pyproject.toml of the project says. Raises PlanError when that is wrong, or cannot be read."""
    from reeval_build.loading.project_file import ProjectSettings, project_settings

    directory = working_directory()
    return ProjectSettings() if directory is None else project_settings(directory)


class App:
    """A store and the adapters around it, for one command."""

    def __init__(self, settings: Settings, store: LocalStore, shelf: Shelf, engines: Engines, host: Host) -> None:
        self._jobs = settings.jobs
        self._platform = settings.platform
        locks = ImageLocks(project_lock_file(), platform=settings.platform, is_frozen=settings.is_frozen)
        self._context = compose(store, shelf, engines, host, locks, settings.harnesses)
        self._remove_leftovers = store.remove_leftovers
        self._keeper = keeper_of(store, settings.budget_bytes, self._context.cancel)

    def plan(self, cells: Iterable[Cell]) -> Graph:
        """The graph of `cells`, from what everything they name is now."""
        cells = tuple(cells)
        return plan(cells, resolve(cells, self._context, jobs=self._jobs))

    def build(self, graph: Graph, listen: Listener, *, verify: bool = False, hold: bool = False) -> Outcome:
        """Build what of `graph` is not built. See `execute.executor.execute`.

        What killed runs left in the store is removed first, and what images were found to be is locked.
        """
        from reeval_build.execute.executor import Capacity, execute
        from reeval_build.execute.recording import keep_records

        self._context.locks.keep(listen)
        self._remove_leftovers(discard)
        if self._keeper is not None:
            self._keeper.listen = listen
        capacity = Capacity(
            jobs=self._jobs,
            sandboxes=most_at_once(planned.cell for planned in graph.cells),
            room_is_scarce=self._keeper is not None,
        )
        outcome = execute(graph, self._context, capacity=capacity, listen=listen, verify=verify, hold=hold)
        keep_records(outcome, self._context.cells, listen)
        if self._keeper is not None:
            self._keeper.settle()
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
            outcome, (snapshot, ran) = self._repairing(graph, listen, self.build(graph, listen, hold=True), run)
            _, changes = self._repairing(graph, listen, outcome, compare)
        return Attempt(
            command=ran.command,
            exit_code=ran.exit_code,
            changes=changes,
            was_killed_for_memory=ran.was_killed_for_memory,
            telling=ran.telling,
        )

    def update_locks(self, cells: Iterable[Cell], names: Iterable[str] = ()) -> tuple[LockChange | HarnessChange, ...]:
        """Lock what the images of `cells`, and harnesses, are now, or those of `names`. See `execute.update_locks`."""
        from reeval_build.execute.update_locks import update_locks

        return update_locks(_named_images(cells, self._platform), names, self._context, jobs=self._jobs)

    def _repairing(
        self, graph: Graph, listen: Listener, outcome: Outcome, work: Callable[[Outcome], Result]
    ) -> tuple[Outcome, Result]:
        """What `work` makes of an outcome, and that, which is built again when the store has lost a piece of it.

        More than once, for other processes may be repairing the same.
        """
        from reeval_build.ports.events import ObjectLost

        for _ in range(_REPAIRS):
            try:
                return outcome, work(outcome)
            except LostObjectError as lost:
                listen(ObjectLost(digest=lost.digest, problem=str(lost)))
                outcome = self.build(graph, listen, verify=True, hold=True)
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


def check_locks(cells: Iterable[Cell], *, platform: str | None, asks_registries: bool = False) -> LockCheck:
    """How the lock file compares with what `cells` name and the project says, and with what registries have now.

    They are asked only when `asks_registries`.

    Raises:
        PlanError: when the lock file, or what says the platform, cannot be read.
        InfraError: when a registry that is asked does not say.
    """
    from reeval_build.execute.harness_locks import harness_now
    from reeval_build.plan.harness_check import compare_harnesses, moved_harnesses
    from reeval_build.plan.lock_check import compare_locks, moved_images

    locks, project = ImageLocks(project_lock_file()).now, read_project()
    recipes = project.harnesses.values()
    platform = platform or configured_platform(project)
    found = compare_locks(_named_images(cells, platform), locks.images, platform=platform)
    harnesses = compare_harnesses(recipes, locks.harnesses)
    if asks_registries:
        with closing(registry_answers()) as registries, packages_now() as packages:
            found = attrs.evolve(found, moved=moved_images(locks.images, registries.digest))
            moved = moved_harnesses(recipes, locks.harnesses, partial(harness_now, packages=packages))
        harnesses = attrs.evolve(harnesses, moved=moved)
    return attrs.evolve(found, harnesses=harnesses)


def _named_images(cells: Iterable[Cell], platform: str | None) -> frozenset[str]:
    """The images that sandboxes are made from, and those that Dockerfiles of sandboxes name."""
    cells = tuple(cells)
    built = dockerfiles_of(cells)
    if not built:
        return images_of(cells)
    from reeval_build.execute.dockerfiles import images_of_dockerfiles

    return images_of(cells) | images_of_dockerfiles(built, platform=platform)


@contextmanager
def opened(settings: Settings) -> Iterator[App]:
    """An app on the store that `settings` choose, which is made when it is not there."""
    project = read_project()
    if settings.budget_bytes is None:
        settings = attrs.evolve(settings, budget_bytes=configured_budget(project))
    if settings.platform is None:
        settings = attrs.evolve(settings, platform=configured_platform(project))
    with (
        LocalStore(settings.store or default_store()) as store,
        closing(Shelf(store)) as shelf,
        closing(MadeEngines(store, shelf)) as engines,
        closing(Host(store, rehash=settings.rehash)) as host,
    ):
        yield App(attrs.evolve(settings, harnesses=project.harnesses), store, shelf, engines, host)


@contextmanager
def opened_store(path: Path | None) -> Iterator[LocalStore]:
    """A store for looking after it. What killed runs left in it is removed.

    None means the default place, where a store is made when there is none: scripts collect before the first build.

    Raises:
        PlanError: when there is nothing at `path`, which is then a slip.
    """
    if path is not None and not os.path.lexists(path):
        raise PlanError(f"there is no store at {path}", hint="the first build with this --store makes one")
    with LocalStore(path or default_store()) as store:
        store.remove_leftovers(discard)
        yield store


def discard(directory: Path) -> None:
    """Remove a directory that a killed process left, and end what still runs in the sandboxes in it."""
    from reeval_build.engines.fake import removal

    removal.discard(directory)
