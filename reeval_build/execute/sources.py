"""Fetches the sources of skills and plugins, once a plan, each a node of its own."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from reeval_build.errors import CancelledError, InfraError
from reeval_build.model.spec import GitWorkspace
from reeval_build.plan.graph import Node, content_key
from reeval_build.plan.outputs import TreeOutput
from reeval_build.plan.resolution import (
    FetchedSource,
    ResolvedDirectory,
    ResolvedPackage,
    ResolvedSource,
    ResolvedTree,
)
from reeval_build.plan.sources import LocalDirectory, Package, SourceRequest
from reeval_build.plan.work import SourceWork
from reeval_build.ports.records import Record

if TYPE_CHECKING:
    from reeval_build.digest import Digest
    from reeval_build.execute.context import Context
    from reeval_build.ports.objects import Batch
    from reeval_build.ports.sources import IdentifiedTree


def fetch_source(request: SourceRequest, context: Context, *, lost: bool = False) -> FetchedSource:
    """Resolve a source, and read it into the store unless what it resolved to is there.

    When a piece of it was `lost`, and its record forgotten, each object of it is asked for.

    Raises:
        InfraError: when it cannot be had.
        CancelledError: when the run is told to stop.
    """
    began = time.monotonic()
    source, identified = _resolve(request, context)
    node = _node(source)
    material = node.material({})
    key, records = content_key(material), context.records
    record, seconds = records.find(key), None
    if record is None:
        with records.exclusive(key, cancel=context.cancel, waiting=lambda _owner: None):
            record = records.find(key)
            if record is None:
                if context.cancel.is_set():
                    raise CancelledError
                if identified is not None and not lost and identified.is_whole():
                    tree = identified.tree
                else:
                    tree = read_source(source, context)
                output = TreeOutput(workspace=tree)
                seconds = time.monotonic() - began
                record = Record(key=key, phase=node.phase, output=output, material=material, seconds=seconds)
                records.publish(record, recipe=node.recipe)
    assert isinstance(record.output, TreeOutput), "a source leaves a tree"
    assert record.output.workspace is not None, "a source is in the place of a workspace"
    return FetchedSource(source=source, tree=record.output.workspace, seconds=seconds)


def forget_source(source: ResolvedSource, context: Context) -> None:
    """Have a source read again, for the store has lost a piece of it."""
    context.records.forget(content_key(_node(source).material({})))


def read_source(source: ResolvedSource, context: Context) -> Digest:
    """Read a source into the store as it was resolved. Raises InfraError when it is not that any more."""
    with context.objects.batch() as batch:
        return _read(source, context, batch)


def _node(source: ResolvedSource) -> Node:
    return Node.of(SourceWork.of(source), label=source.label)


def _resolve(request: SourceRequest, context: Context) -> tuple[ResolvedSource, IdentifiedTree | None]:
    """What a source is now, and its tree when that is known by now."""
    match request:
        case LocalDirectory(path=path):
            with context.objects.batch() as batch:
                found = context.local_trees.identify(path, batch)
            source = ResolvedSource(request=request, resolved=ResolvedDirectory(tree=found.tree))
            return source, found
        case Package(spec=spec, registry=registry):
            package = context.packages.resolve(spec, registry=registry)
            return ResolvedSource(request=request, resolved=package), None
        case GitWorkspace():
            return ResolvedSource(request=request, resolved=context.git.resolve(request)), None


def _read(source: ResolvedSource, context: Context, batch: Batch) -> Digest:
    match source.request, source.resolved:
        case LocalDirectory(path=path), ResolvedDirectory(tree=tree):
            if context.local_trees.read(path, batch) != tree:
                raise InfraError(f'directory "{path}" was changed while the build ran', hint="build again")
            return tree
        case Package(spec=spec, registry=registry), ResolvedPackage() as package:
            return context.packages.read(spec, package, batch, registry=registry)
        case GitWorkspace() as workspace, ResolvedTree() as tree:
            return context.git.read(workspace, tree, batch)
        case _:
            raise AssertionError("what a request resolves to is of its kind")
