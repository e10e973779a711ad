"""Builds one node, in whichever thread: found by its content key, or made and recorded."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import attrs

from reeval_build.digest import Digest
from reeval_build.errors import CancelledError, filling
from reeval_build.execute.twins import placed_twins
from reeval_build.plan.graph import content_key, work_key
from reeval_build.plan.outputs import Output, content_of
from reeval_build.ports.events import NamesAlike, NodeWaiting, SecretLeft
from reeval_build.ports.records import Record

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from reeval_build.execute.context import Context
    from reeval_build.plan.graph import Node
    from reeval_build.ports.events import Listener


@attrs.frozen(kw_only=True)
class Built:
    """What a node left; `key` is that of the record which was found or published."""

    output: Output
    key: Digest | None = None
    log: str | None
    hit: bool
    seconds: float
    is_private: bool = False


@attrs.frozen(kw_only=True)
class Ended:
    """What became of a node, and how long it took from when a thread took it up."""

    seconds: float
    result: Built | None = None
    error: Exception | None = None

    def built(self) -> Built:
        """What it left. Raises what stopped it."""
        if self.error is not None:
            raise self.error
        assert self.result is not None, "work returns or raises"
        return self.result


class Builder:
    """Builds nodes with the adapters of a run; several threads may use it at once."""

    def __init__(self, context: Context, listen: Listener) -> None:
        self._context = context
        self._listen = listen

    def build(self, node: Node, inputs: Mapping[str, Output], *, privately: bool) -> Ended:
        """Build a node from the outputs of its parents by their roles. Whatever goes wrong is in what it returns.

        What is built `privately` has the value of a secret in what it stands on, and is not kept.
        """
        began = time.monotonic()
        try:
            result = self._build_privately(node, inputs) if privately else self._build(node, inputs)
        except Exception as error:  # noqa: BLE001 - it is raised again where it is dealt with
            return Ended(seconds=time.monotonic() - began, error=error)
        return Ended(seconds=time.monotonic() - began, result=result)

    def _build(self, node: Node, inputs: Mapping[str, Output]) -> Built:
        """Find the node by its content key, or hold the key and do the work."""
        began = time.monotonic()
        contents = {parent.recipe: content_of(inputs[parent.role]) for parent in node.parents}
        material = node.material(contents)
        key = content_key(material)
        records = self._context.records
        found = records.find(key)
        if found is None:
            with records.exclusive(key, cancel=self._context.cancel, waiting=self._waiting_for(node)):
                found = records.find(key)
                if found is None:
                    with records.working():
                        built = self._perform(node, inputs, self._context, key)
                        if built.is_private:
                            return built
                        self._publish(node, built, key, material)
                    return attrs.evolve(built, key=key)
        records.link(node.recipe, key)
        return Built(output=found.output, key=key, log=found.log, hit=True, seconds=time.monotonic() - began)

    def _build_privately(self, node: Node, inputs: Mapping[str, Output]) -> Built:
        """Do the work on what has the value of a secret in it.

        Nothing of it is found again, so it is neither looked up nor recorded. Its content key would be a hash of the
        value: no name of a file has that.
        """
        context = attrs.evolve(self._context, objects=self._context.private)
        return attrs.evolve(self._perform(node, inputs, context, node.recipe), is_private=True)

    def _waiting_for(self, node: Node) -> Callable[[str], None]:
        return lambda owner: self._listen(NodeWaiting(node=node, owner=owner))

    def _perform(self, node: Node, inputs: Mapping[str, Output], context: Context, log_name: Digest) -> Built:
        from reeval_build.execute.phases import PrivateOutput, perform  # noqa: PLC0415 - only when something is done

        assert node.work is not None, "a broken node is never begun"
        if self._context.cancel.is_set():
            raise CancelledError
        log = context.logs / f"{log_name.hex}.log"
        began = time.monotonic()
        with filling(context.logs):
            done = perform(node.work, inputs, context, log)
        seconds = time.monotonic() - began
        is_private = isinstance(done, PrivateOutput)
        if isinstance(done, PrivateOutput):
            names = sorted({name for leak in done.leaks for name in leak.names})
            paths = [leak.path for leak in done.leaks]
            self._listen(SecretLeft(node=node, names=tuple(names), paths=tuple(paths)))
            done = done.output
        alike = placed_twins(node.work, done, context.objects, context.facts)
        if alike:
            self._listen(NamesAlike(node=node, groups=alike))
        return Built(
            output=done, log=str(log) if log.exists() else None, hit=False, seconds=seconds, is_private=is_private
        )

    def _publish(self, node: Node, built: Built, key: Digest, material: bytes) -> None:
        record = Record(
            key=key,
            phase=node.phase,
            output=built.output,
            material=material,
            seconds=built.seconds,
            log=built.log,
        )
        assert node.work is not None, "it was done"
        self._context.records.publish(record, recipe=node.recipe, work=work_key(node.work))
