"""Executes a graph: each node once, as soon as what it stands on is there."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Final

import attrs

from reeval_build.errors import CancelledError, HostError, InfraError
from reeval_build.execute.agenda import Agenda
from reeval_build.execute.builder import Builder
from reeval_build.execute.failures import StepFailedError
from reeval_build.execute.holding import Holding
from reeval_build.execute.integrity import is_whole
from reeval_build.execute.outcome import NodeResult, Outcome
from reeval_build.execute.threads import Workers, workers
from reeval_build.plan.graph import Graph, work_key
from reeval_build.plan.work import engine_of
from reeval_build.ports.events import NodeFinished, ObjectLost, Status
from reeval_build.ports.objects import LostObjectError

if TYPE_CHECKING:
    from collections.abc import Container, Iterable

    from reeval_build.digest import Digest
    from reeval_build.execute.builder import Ended
    from reeval_build.execute.context import Context
    from reeval_build.execute.threads import Future
    from reeval_build.plan.graph import Node
    from reeval_build.plan.outputs import Output
    from reeval_build.ports.events import Listener
    from reeval_build.ports.records import Record


_REPAIRS: Final = 3


@attrs.frozen(kw_only=True)
class Capacity:
    """How much is done at once: pieces of work, and of those that need a sandbox how many on an engine of a kind.

    Where `room_is_scarce` in the store, what was begun is brought to an end before more is, so that little is needed at
    a time.
    """

    jobs: int
    sandboxes: Mapping[str, int] = attrs.field(factory=dict)
    room_is_scarce: bool = False


def execute(
    graph: Graph,
    context: Context,
    *,
    capacity: Capacity,
    listen: Listener,
    verify: bool = False,
    hold: bool = False,
) -> Outcome:
    """Build what of `graph` is not built yet, first that on which the longest work waits.

    A node that fails fails what stands on it, and nothing else. With `verify`, what is recorded counts only when
    every object of it is read and found right. Nothing may be collected that a node needs which has not ended; with
    `hold`, nothing that any node left, as long as the store is open.

    Raises:
        KeyboardInterrupt: when the run is told to stop: finished nodes stay recorded, and no work goes on.
    """
    kept = frozenset(graph.nodes) if hold else frozenset()
    return _Run(graph, context, capacity, listen, verify=verify, kept=kept).run()


class _Run:
    """One execution: the loop owns all of this, workers see none of it."""

    def __init__(
        self,
        graph: Graph,
        context: Context,
        capacity: Capacity,
        listen: Listener,
        *,
        verify: bool,
        kept: frozenset[Digest],
    ) -> None:
        self._graph = graph
        self._context = context
        self._capacity = capacity
        self._listen = listen
        self._verify = verify
        self._began = time.monotonic()
        self._results: dict[Digest, NodeResult] = {}
        self._sandboxes: Counter[str | None] = Counter()
        self._repairs: Counter[tuple[Digest, Digest]] = Counter()
        self._holding = Holding(graph, context.records, kept=kept)
        self._builder = Builder(context, listen)

    def run(self) -> Outcome:
        known, lacking = self._look_up()
        self._agenda = Agenda(self._graph, self._expected(lacking), ends_first=self._capacity.room_is_scarce)
        self._take_known(known, lacking)
        with workers(self._capacity.jobs) as threads:
            pool: Workers[Digest, Ended] = Workers(threads)
            try:
                while len(self._agenda) or len(pool):
                    self._begin_ready(pool)
                    self._holding.let_go()
                    for recipe, future in pool.finished() if len(pool) else ():
                        self._sandboxes[self._engine(recipe)] -= 1
                        self._finish(recipe, future)
            except BaseException:
                self._context.cancel.set()
                raise
        self._holding.let_go()
        results = {recipe: self._results[recipe] for recipe in self._graph.nodes}
        return Outcome(graph=self._graph, results=results, seconds=time.monotonic() - self._began)

    def _look_up(self) -> tuple[Mapping[Digest, Record], set[Digest]]:
        """What is recorded under the recipe keys, and what a cell still lacks."""
        sound = [recipe for recipe, node in self._graph.nodes.items() if node.problem is None]
        known = self._given(sound)
        if self._verify:
            known = {recipe: record for recipe, record in known.items() if self._is_usable(record)}
        return known, self._lacking(known)

    def _expected(self, recipes: Iterable[Digest]) -> dict[Digest, float]:
        """How many seconds nodes will take, as far as that is known."""
        nodes = [node for node in map(self._graph.nodes.__getitem__, recipes) if node.work is not None]
        works = {node.recipe: work_key(node.work) for node in nodes if node.work is not None}
        seconds = self._context.records.expected({works[node.recipe]: node.phase for node in nodes})
        return {recipe: seconds[work] for recipe, work in works.items() if work in seconds}

    def _take_known(self, known: Mapping[Digest, Record], lacking: Container[Digest]) -> None:
        """Take what is recorded, and put down for work only what is lacking."""
        for recipe in self._graph.nodes:
            if recipe in lacking:
                self._agenda.put(recipe)
            else:
                record = known.get(recipe)
                output = None if record is None else record.output
                seconds = self._graph.fetched.get(recipe)
                status = Status.HIT if seconds is None else Status.RAN
                self._end(recipe, NodeResult(status=status, seconds=seconds or 0.0, output=output))

    def _given(self, recipes: Iterable[Digest]) -> dict[Digest, Record]:
        known = dict(self._context.records.by_recipe(recipes))
        for recipe, record in known.items():
            self._holding.given(recipe, record.key)
        return known

    def _is_usable(self, record: Record) -> bool:
        lost = is_whole(record.output, self._context.objects)
        if lost is not None:
            self._note_loss(lost)
            self._context.records.forget(record.key)
        return lost is None

    def _lacking(self, known: Mapping[Digest, Record]) -> set[Digest]:
        lacking: set[Digest] = set()
        pending = [recipe for planned in self._graph.cells for recipe in planned.tops]
        while pending:
            recipe = pending.pop()
            if recipe not in known and recipe not in lacking:
                lacking.add(recipe)
                pending += [parent.recipe for parent in self._graph.nodes[recipe].parents]
        return lacking

    def _begin_ready(self, pool: Workers[Digest, Ended]) -> None:
        while len(pool) < self._capacity.jobs and (recipe := self._agenda.take(self._may_begin)) is not None:
            node = self._graph.nodes[recipe]
            parents = [self._results[parent.recipe] for parent in node.parents]
            if node.problem is not None:
                self._fail(recipe, node.problem)
            elif any(result.output is None for result in parents):
                self._end(recipe, NodeResult(status=Status.SKIPPED))
            else:
                self._sandboxes[self._engine(recipe)] += 1
                inputs = {parent.role: self._output(parent.recipe) for parent in node.parents}
                is_private = any(result.is_private for result in parents)
                pool.begin(recipe, partial(self._builder.build, node, inputs, privately=is_private))

    def _may_begin(self, node: Node) -> bool:
        engine = self._engine(node.recipe)
        return engine is None or self._sandboxes[engine] < self._capacity.sandboxes.get(engine, self._capacity.jobs)

    def _engine(self, recipe: Digest) -> str | None:
        work = self._graph.nodes[recipe].work
        return None if work is None else engine_of(work)

    def _output(self, recipe: Digest) -> Output:
        output = self._results[recipe].output
        assert output is not None, "a node begins when its parents have left something"
        return output

    def _finish(self, recipe: Digest, future: Future[Ended]) -> None:
        ended = future.result()
        seconds = ended.seconds
        try:
            built = ended.built()
        except LostObjectError as lost:
            self._repair(recipe, lost, seconds)
        except InfraError as problem:
            self._fail(recipe, problem, seconds)
        except OSError as error:
            self._fail(recipe, HostError(error), seconds)
        except CancelledError as stopped:
            raise KeyboardInterrupt from stopped
        else:
            if built.key is not None:
                self._holding.given(recipe, built.key)
            status = Status.HIT if built.hit else Status.RAN
            result = NodeResult(
                status=status,
                seconds=built.seconds,
                output=built.output,
                log=built.log,
                is_private=built.is_private,
            )
            self._end(recipe, result)

    def _note_loss(self, lost: LostObjectError) -> None:
        self._context.git.distrust()
        self._listen(ObjectLost(digest=lost.digest, problem=str(lost)))

    def _repair(self, recipe: Digest, lost: LostObjectError, seconds: float) -> None:
        """Drop what an object is missing from, and build it and `recipe` again.

        An object that a node lacks again and again cannot be kept: that is the end of the node. Once more than once,
        for other processes may be repairing the same.
        """
        self._repairs[recipe, lost.digest] += 1
        if self._repairs[recipe, lost.digest] > _REPAIRS:
            self._fail(recipe, lost, seconds)
            return
        self._note_loss(lost)
        known = self._given(self._graph.above(recipe))
        whole = {
            name: record for name, record in known.items() if is_whole(record.output, self._context.objects) is None
        }
        for name in known.keys() - whole.keys():
            self._context.records.forget(known[name].key)
        pending = [recipe]
        while pending:
            name = pending.pop()
            if name in whole and name in self._results:
                self._results[name] = attrs.evolve(self._results[name], output=whole[name].output)
            if name in whole or (name in self._agenda and name != recipe):
                continue
            self._results.pop(name, None)
            self._agenda.put(name)
            self._holding.begin_again(name)
            pending += [parent.recipe for parent in self._graph.nodes[name].parents]

    def _fail(self, recipe: Digest, problem: InfraError, seconds: float = 0.0) -> None:
        log = str(problem.log) if isinstance(problem, StepFailedError) else None
        self._end(recipe, NodeResult(status=Status.FAILED, seconds=seconds, problem=problem, log=log))

    def _end(self, recipe: Digest, result: NodeResult) -> None:
        self._results[recipe] = result
        self._agenda.end(recipe)
        if not result.is_private:
            # What stands on a private result needs what that stands on: no record of its own names it.
            self._holding.end(recipe)
        problem = None if result.problem is None else str(result.problem)
        self._listen(
            NodeFinished(
                node=self._graph.nodes[recipe],
                status=result.status,
                seconds=result.seconds,
                problem=problem,
                log=result.log,
            )
        )
