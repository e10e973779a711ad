"""Executes a graph: each node once, as soon as what it stands on is there."""

from __future__ import annotations

import time
from collections import Counter
from functools import partial
from typing import TYPE_CHECKING, Final

import attrs

from reeval_build.digest import Digest
from reeval_build.errors import CancelledError, HostError, InfraError
from reeval_build.execute.failures import StepFailedError
from reeval_build.execute.holding import Holding
from reeval_build.execute.integrity import is_whole
from reeval_build.execute.outcome import NodeResult, Outcome
from reeval_build.execute.phases import PrivateOutput, perform
from reeval_build.execute.threads import Workers, workers
from reeval_build.execute.twins import placed_twins
from reeval_build.plan.graph import Graph, content_key
from reeval_build.plan.outputs import Output, content_of
from reeval_build.ports.events import NamesAlike, NodeFinished, NodeWaiting, ObjectLost, SecretLeft, Status
from reeval_build.ports.objects import LostObjectError
from reeval_build.ports.records import Record

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from concurrent.futures import Future

    from reeval_build.execute.context import Context
    from reeval_build.plan.graph import Node
    from reeval_build.ports.events import Listener


_REPAIRS: Final = 3


@attrs.frozen(kw_only=True)
class _Built:
    """What a worker returns; `key` is that of the record which it found or published."""

    output: Output
    key: Digest | None = None
    log: str | None
    hit: bool
    seconds: float
    is_private: bool = False


@attrs.frozen(kw_only=True)
class _Ended:
    """What became of a piece of work, and how long it took from when a thread took it up."""

    seconds: float
    result: _Built | None = None
    error: Exception | None = None

    def built(self) -> _Built:
        """What it returned. Raises what it raised."""
        if self.error is not None:
            raise self.error
        assert self.result is not None, "work returns or raises"
        return self.result


def _timed(work: Callable[[], _Built]) -> _Ended:
    began = time.monotonic()
    try:
        result = work()
    except Exception as error:  # noqa: BLE001 - it is raised again where it is dealt with
        return _Ended(seconds=time.monotonic() - began, error=error)
    return _Ended(seconds=time.monotonic() - began, result=result)


def execute(
    graph: Graph, context: Context, *, jobs: int, listen: Listener, verify: bool = False, hold: bool = False
) -> Outcome:
    """Build what of `graph` is not built yet.

    A node that fails fails what stands on it, and nothing else. With `verify`, what is recorded counts only when
    every object of it is read and found right. Nothing may be collected that a node needs which has not ended; with
    `hold`, nothing that any node left, as long as the store is open.

    Raises:
        KeyboardInterrupt: when the run is told to stop: finished nodes stay recorded, and no work goes on.
    """
    kept = frozenset(graph.nodes) if hold else frozenset()
    return _Run(graph, context, listen, verify=verify, kept=kept).run(jobs)


class _Run:
    """One execution: the loop owns all of this, workers see none of it."""

    def __init__(
        self, graph: Graph, context: Context, listen: Listener, *, verify: bool, kept: frozenset[Digest]
    ) -> None:
        self._graph = graph
        self._context = context
        self._listen = listen
        self._verify = verify
        self._began = time.monotonic()
        self._results: dict[Digest, NodeResult] = {}
        self._waiting: dict[Digest, None] = {}
        self._running: set[Digest] = set()
        self._repairs: Counter[tuple[Digest, Digest]] = Counter()
        self._holding = Holding(graph, context.records, kept=kept)

    def run(self, jobs: int) -> Outcome:
        self._take_known()
        with workers(jobs) as threads:
            pool: Workers[Digest, _Ended] = Workers(threads)
            try:
                while self._waiting or len(pool):
                    self._begin_ready(pool)
                    self._holding.let_go()
                    for recipe, future in pool.finished() if len(pool) else ():
                        self._running.discard(recipe)
                        self._finish(recipe, future)
            except BaseException:
                self._context.cancel.set()
                raise
        self._holding.let_go()
        results = {recipe: self._results[recipe] for recipe in self._graph.nodes}
        return Outcome(graph=self._graph, results=results, seconds=time.monotonic() - self._began)

    def _take_known(self) -> None:
        """Take what is recorded under the recipe keys, and mark for work only what a cell still lacks."""
        sound = [recipe for recipe, node in self._graph.nodes.items() if node.problem is None]
        known = self._given(sound)
        if self._verify:
            known = {recipe: record for recipe, record in known.items() if self._is_usable(record)}
        lacking = self._lacking(known)
        for recipe in self._graph.nodes:
            if recipe in lacking:
                self._waiting[recipe] = None
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
            self._listen(ObjectLost(digest=lost.digest, problem=str(lost)))
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

    def _begin_ready(self, pool: Workers[Digest, _Ended]) -> None:
        for recipe in list(self._waiting):
            node = self._graph.nodes[recipe]
            results = [self._results.get(parent.recipe) for parent in node.parents]
            if node.problem is not None:
                self._fail(recipe, node.problem)
            elif any(result is not None and result.output is None for result in results):
                self._end(recipe, NodeResult(status=Status.SKIPPED))
            elif None not in results:
                del self._waiting[recipe]
                self._running.add(recipe)
                inputs = {parent.role: self._output(parent.recipe) for parent in node.parents}
                is_private = any(self._results[parent.recipe].is_private for parent in node.parents)
                build = self._build_privately if is_private else self._build
                pool.begin(recipe, partial(_timed, partial(build, node, inputs)))

    def _output(self, recipe: Digest) -> Output:
        output = self._results[recipe].output
        assert output is not None, "a node begins when its parents have left something"
        return output

    def _build(self, node: Node, inputs: Mapping[str, Output]) -> _Built:
        """What a worker does: find the node by its content key, or hold the key and do the work."""
        began = time.monotonic()
        contents = {parent.recipe: content_of(inputs[parent.role]) for parent in node.parents}
        material = node.material(contents)
        key = content_key(material)
        records = self._context.records
        found = records.find(key)
        if found is None:
            with records.exclusive(key, cancel=self._context.cancel, waiting=partial(self._wait_for, node)):
                found = records.find(key)
                if found is None:
                    with records.working():
                        built = self._perform(node, inputs, self._context, key)
                        if built.is_private:
                            return built
                        self._publish(node, built, key, material)
                    return attrs.evolve(built, key=key)
        records.link(node.recipe, key)
        return _Built(output=found.output, key=key, log=found.log, hit=True, seconds=time.monotonic() - began)

    def _build_privately(self, node: Node, inputs: Mapping[str, Output]) -> _Built:
        """Do the work on what has the value of a secret in it.

        Nothing of it is found again, so it is neither looked up nor recorded. Its content key would be a hash of the
        value: no name of a file has that.
        """
        context = attrs.evolve(self._context, objects=self._context.private)
        return attrs.evolve(self._perform(node, inputs, context, node.recipe), is_private=True)

    def _wait_for(self, node: Node, owner: str) -> None:
        self._listen(NodeWaiting(node=node, owner=owner))

    def _perform(self, node: Node, inputs: Mapping[str, Output], context: Context, log_name: Digest) -> _Built:
        assert node.work is not None, "a broken node is never begun"
        if self._context.cancel.is_set():
            raise CancelledError
        log = context.logs / f"{log_name.hex}.log"
        began = time.monotonic()
        done = perform(node.work, inputs, context, log)
        seconds = time.monotonic() - began
        is_private = isinstance(done, PrivateOutput)
        if isinstance(done, PrivateOutput):
            names = sorted({name for leak in done.leaks for name in leak.names})
            paths = [leak.path for leak in done.leaks]
            self._listen(SecretLeft(node=node, names=tuple(names), paths=tuple(paths)))
            done = done.output
        alike = placed_twins(node.work, done, context.objects)
        if alike:
            self._listen(NamesAlike(node=node, groups=alike))
        return _Built(
            output=done, log=str(log) if log.exists() else None, hit=False, seconds=seconds, is_private=is_private
        )

    def _publish(self, node: Node, built: _Built, key: Digest, material: bytes) -> None:
        record = Record(
            key=key,
            phase=node.phase,
            output=built.output,
            material=material,
            seconds=built.seconds,
            log=built.log,
        )
        self._context.records.publish(record, recipe=node.recipe)

    def _finish(self, recipe: Digest, future: Future[_Ended]) -> None:
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

    def _repair(self, recipe: Digest, lost: LostObjectError, seconds: float) -> None:
        """Drop what an object is missing from, and build it and `recipe` again.

        An object that a node lacks again and again cannot be kept: that is the end of the node. Once more than once,
        for other processes may be repairing the same.
        """
        self._repairs[recipe, lost.digest] += 1
        if self._repairs[recipe, lost.digest] > _REPAIRS:
            self._fail(recipe, lost, seconds)
            return
        self._listen(ObjectLost(digest=lost.digest, problem=str(lost)))
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
            if name in whole or name in self._waiting or name in self._running:
                continue
            self._results.pop(name, None)
            self._waiting[name] = None
            self._holding.begin_again(name)
            pending += [parent.recipe for parent in self._graph.nodes[name].parents]

    def _fail(self, recipe: Digest, problem: InfraError, seconds: float = 0.0) -> None:
        log = str(problem.log) if isinstance(problem, StepFailedError) else None
        self._end(recipe, NodeResult(status=Status.FAILED, seconds=seconds, problem=problem, log=log))

    def _end(self, recipe: Digest, result: NodeResult) -> None:
        self._waiting.pop(recipe, None)
        self._results[recipe] = result
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
