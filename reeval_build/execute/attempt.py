"""Runs a command in a sandbox started from a snapshot, and says what it changed."""

from __future__ import annotations

from typing import TYPE_CHECKING, BinaryIO, Final

import attrs

from reeval_build.digest import Digest
from reeval_build.execute import trees
from reeval_build.execute.ignore import ignored
from reeval_build.state.workspace import apply_entries
from reeval_build.tree import directory
from reeval_build.tree.compare import Change, compare
from reeval_build.tree.draft import Draft

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from reeval_build.digest import Domain
    from reeval_build.execute.context import Context
    from reeval_build.model.cells import Cell
    from reeval_build.plan.outputs import SnapshotOutput
    from reeval_build.state.delta import DeltaEntry
    from reeval_build.tree.directory import Directory, Entry, Loader

_CHUNK_BYTES: Final = 1024 * 1024


@attrs.frozen(kw_only=True)
class Attempt:
    """How a command ended, and what of the workspace it changed: sorted by path."""

    exit_code: int
    changes: tuple[Change, ...]


def attempt(
    cell: Cell,
    snapshot: SnapshotOutput,
    command: Sequence[str],
    context: Context,
    *,
    stdout: BinaryIO,
    stderr: BinaryIO,
) -> Attempt:
    """Start a sandbox from `snapshot`, run `command` in its workspace with the cell's variables, and compare.

    What counts as a change: see `docs/adr/0004-what-counts-as-a-change.md`. Nothing of it is kept in the store.

    Raises:
        InfraError: when the engine fails. LostObjectError: when the store lacks a piece of the snapshot.
    """
    engine = context.engines(cell.sandbox.kind)
    with engine.start(snapshot.state, cancel=context.cancel) as sandbox:
        code = sandbox.execute(command, cwd=".", env=dict(cell.merged.env), stdout=stdout, stderr=stderr)
        entries = sandbox.capture(_Digests())
    return Attempt(exit_code=code, changes=_changes(snapshot, entries, engine.layout.workspace, context))


def _changes(
    snapshot: SnapshotOutput, entries: Sequence[DeltaEntry], place: tuple[bytes, ...], context: Context
) -> tuple[Change, ...]:
    load, made = trees.loader(context.objects), _Directories()
    draft = Draft(load, snapshot.baseline)
    apply_entries(draft, place, entries)
    after = draft.save(made.save)
    changes = [
        change for change in compare(snapshot.baseline, after, made.on_top_of(load)) if change.parts[0] != b".git"
    ]
    placed = Draft(load, snapshot.placed)
    untracked = [change.parts for change in changes if placed.get(change.parts) is None]
    left_out = ignored(untracked, snapshot.baseline, load, context.objects)
    return tuple(change for change in changes if change.parts not in left_out)


class _Digests:
    """A batch that keeps nothing: what an agent wrote is compared, not stored."""

    def add(self, domain: Domain, data: bytes) -> Digest:
        """See `ports.objects.Batch.add`."""
        return domain.digest(data)

    def add_stream(self, domain: Domain, source: BinaryIO) -> tuple[Digest, int]:
        """See `ports.objects.Batch.add_stream`."""
        hasher, size = domain.hasher(), 0
        while chunk := source.read(_CHUNK_BYTES):
            hasher.update(chunk)
            size += len(chunk)
        return Digest(hasher.digest()), size


class _Directories:
    """Directories that are in memory only."""

    def __init__(self) -> None:
        self._made: dict[Digest, Directory] = {}

    def save(self, entries: Mapping[bytes, Entry]) -> Digest:
        digest = directory.tree_digest(entries)
        self._made[digest] = dict(entries)
        return digest

    def on_top_of(self, load: Loader) -> Loader:
        def load_either(digest: Digest) -> Mapping[bytes, Entry]:
            return self._made[digest] if digest in self._made else load(digest)

        return load_either
