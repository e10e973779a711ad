"""Which objects are needed by what."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from reeval_build.digest import BLOB, DELTA, TREE, Digest, Domain
from reeval_build.plan.outputs import Output, SnapshotOutput, StateOutput, TreeOutput
from reeval_build.state import delta as deltas
from reeval_build.state.state import PlacedTree
from reeval_build.tree import directory
from reeval_build.tree.directory import Kind

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Set  # noqa: PYI025 - an abstract one

    from reeval_build.stores.local.objects import LocalObjects

# Raw digests, for there can be millions. The times of a step's delta name nothing, as blobs do.
Named: TypeAlias = tuple[Domain, bytes]
_TIMES = Domain("times of a delta", 1)


def named_by(output: Output) -> Iterator[Named]:
    """The objects that an output names itself."""
    match output:
        case TreeOutput(workspace=workspace, home=home):
            roots = [workspace, home]
        case StateOutput(state=state):
            roots = []
        case SnapshotOutput(state=state, baseline=baseline, placed=placed):
            roots = [baseline, placed]
    yield from ((TREE, root.raw) for root in roots if root is not None)
    if isinstance(output, TreeOutput):
        return
    for delta in state.deltas:
        if isinstance(delta, PlacedTree):
            yield TREE, delta.tree.raw
        else:
            yield DELTA, delta.delta.raw
            yield _TIMES, delta.times.raw


class Reach:
    """Finds what objects name, and reads each of them once. What cannot be read names nothing."""

    def __init__(self, objects: LocalObjects) -> None:
        self._objects = objects
        self._below: dict[bytes, tuple[Named, ...]] = {}

    def walk(self, roots: Iterable[Named], seen: set[bytes], *, known: Set[bytes] = frozenset()) -> Iterator[Named]:
        """`roots` and everything below them that is neither `known` nor in `seen`, to which each is added."""
        pending = list(roots)
        while pending:
            named = pending.pop()
            if named[1] not in seen and named[1] not in known:
                seen.add(named[1])
                yield named
                pending += self.below(named)

    def below(self, named: Named) -> tuple[Named, ...]:
        """What an object names."""
        domain, raw = named
        if domain is not TREE and domain is not DELTA:
            return ()
        if raw not in self._below:
            data = self._objects.peek(domain, Digest(raw))
            if data is None:
                # It may be kept again.
                return ()
            self._below[raw] = tuple(_names(domain, data))
        return self._below[raw]


def _names(domain: Domain, data: bytes) -> Iterator[Named]:
    if domain is DELTA:
        yield from ((BLOB, digest.raw) for digest in deltas.blobs_of(data))
        return
    for entry in directory.decode(data).values():
        if entry.kind is not Kind.SYMLINK:
            yield TREE if entry.kind is Kind.DIRECTORY else BLOB, entry.content.raw
