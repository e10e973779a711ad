"""Runs a command in a sandbox started from a snapshot, and says what it changed."""

from __future__ import annotations

from typing import TYPE_CHECKING, BinaryIO

import attrs

from reeval_build.digest import Digest
from reeval_build.errors import InfraError
from reeval_build.execute import trees
from reeval_build.execute.ignore import ignored
from reeval_build.execute.leaks import WatchedBatch
from reeval_build.execute.redaction import Redactor
from reeval_build.execute.secrets import given, reveal
from reeval_build.execute.server_secrets import reveal_servers
from reeval_build.paths import Parts
from reeval_build.state.delta import DeltaEntry, DeltaKind
from reeval_build.state.state import PlacedTree
from reeval_build.state.workspace import apply_entries, is_replaced
from reeval_build.tree import directory
from reeval_build.tree.compare import Change, compare
from reeval_build.tree.directory import Entry
from reeval_build.tree.draft import Draft

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from reeval_build.digest import Domain
    from reeval_build.execute.context import Context
    from reeval_build.plan.graph import PlannedCell
    from reeval_build.plan.outputs import SnapshotOutput, TreeOutput
    from reeval_build.tree.directory import Directory, Loader


@attrs.frozen(kw_only=True)
class Attempt:
    """How a command ended, and what of the workspace it changed: sorted by path. No value of a secret is in it.

    `telling` are digests of files that have values in them, and are not to be shown.
    """

    command: tuple[str, ...]
    exit_code: int
    changes: tuple[Change, ...]
    telling: frozenset[Digest] = frozenset()
    was_killed_for_memory: bool = False


@attrs.frozen(kw_only=True)
class Ran:
    """How a command ended, and what it left in its sandbox, whose workspace is at `workspace`.

    `redactor` knows the values that must not be shown of it; they are not in `command` any more. `telling` are digests
    of files with values in them.
    """

    command: tuple[str, ...]
    exit_code: int
    entries: tuple[DeltaEntry, ...]
    workspace: Parts
    was_killed_for_memory: bool
    redactor: Redactor
    telling: frozenset[Digest]


def run_command(
    planned: PlannedCell,
    command: Sequence[str],
    context: Context,
    *,
    snapshot: SnapshotOutput,
    placed: Iterable[TreeOutput],
    stdout: BinaryIO,
    stderr: BinaryIO,
) -> Ran:
    """Start a sandbox from `snapshot` and run `command` in its workspace with the cell's variables.

    `placed` are the files that the harness is given when it starts, over those of the home directory. Of its secrets
    the command is given those that the agent is to see; its output is redacted of all of them. Nothing of what it does
    is kept in the store.

    Raises:
        InfraError: when the engine fails.
        LostObjectError: when the store lacks a piece of the snapshot, before the command has begun.
        MissingSecretError: when the host variable of a secret is not set, before the command has begun.
    """
    secrets, of_servers = reveal_all(planned, context)
    mcp = planned.contents.mcp
    assert not isinstance(mcp, InfraError), "a cell that is built has what it names"
    # What the files of servers refer to: the harness has it from its own variables.
    shown = {name: of_servers[name] for name in mcp.variables}
    shown |= given((view for view in planned.secrets if view.to == "agent"), secrets)
    redactor, engine = Redactor(secrets, of_servers), context.engines(planned.cell.sandbox.kind)
    homes = [PlacedTree(at=engine.layout.home, tree=tree.home, replaces=False) for tree in placed if tree.home]
    start = snapshot.state.on_top(*homes)
    with (
        redactor.errors(),
        engine.start(start, options=planned.cell.start, cancel=context.cancel) as sandbox,
    ):
        with redactor.stream(stdout) as out, redactor.stream(stderr) as err:
            env = {**planned.cell.merged.literals, **shown}
            code = sandbox.execute(command, cwd=".", env=env, stdout=out, stderr=err)
        killed = code != 0 and sandbox.was_killed_for_memory()
        watched = WatchedBatch(_Digests(), redactor)
        entries = sandbox.capture(watched)
    return Ran(
        command=tuple(map(redactor.text, command)),
        exit_code=code,
        entries=entries,
        workspace=engine.layout.workspace,
        was_killed_for_memory=killed,
        redactor=redactor,
        telling=watched.telling,
    )


def reveal_all(planned: PlannedCell, context: Context) -> tuple[dict[str, str], dict[str, str]]:
    """The values of a cell's secrets by name, and those of its MCP servers by the names of their host variables.

    Raises:
        InfraError: for host variables that are not set, and for values that cannot be used.
    """
    servers = reveal_servers(planned.contents.server_secrets, context.variables)
    return reveal(planned.secrets, context.variables), servers


def changes_since(snapshot: SnapshotOutput, ran: Ran, context: Context) -> tuple[Change, ...]:
    """What a command that ran on `snapshot` changed in the workspace.

    What counts as a change: see `docs/adr/0004-what-counts-as-a-change.md`.

    Raises:
        InfraError: when the command put something else in the workspace's place.
        LostObjectError: when the store lacks a piece of the snapshot's baseline.
    """
    if is_replaced(ran.workspace, [entry for entry in ran.entries if entry.kind is not DeltaKind.DELETED]):
        raise InfraError("the command put something else in the place of the workspace: its changes cannot be told")
    load, made = trees.loader(context.objects), _Directories()
    draft = Draft(load, snapshot.baseline)
    apply_entries(draft, ran.workspace, ran.entries)
    after = draft.save(made.save)
    changes = [
        change for change in compare(snapshot.baseline, after, made.on_top_of(load)) if b".git" not in change.parts
    ]
    placed = Draft(load, snapshot.placed)
    untracked = [change.parts for change in changes if placed.get(change.parts) is None]
    left_out = ignored(untracked, snapshot.baseline, load, context.objects, scratch=context.scratch)
    counted = (change for change in changes if change.parts not in left_out)
    ordered = sorted(counted, key=lambda change: b"/".join(change.parts))
    return tuple(_redacted(change, ran.redactor) for change in ordered)


def _redacted(change: Change, redactor: Redactor) -> Change:
    """The change without values of secrets in names and targets, which are printed."""
    path = redactor.redact(b"/".join(change.parts))
    before, after = (_redacted_entry(entry, redactor) for entry in (change.before, change.after))
    return attrs.evolve(change, parts=tuple(path.split(b"/")), before=before, after=after)


def _redacted_entry(entry: Entry | None, redactor: Redactor) -> Entry | None:
    if entry is None or entry.target is None:
        return entry
    return Entry.symlink(redactor.redact(entry.target))


class _Digests:
    """A batch that keeps nothing: what an agent wrote is compared, not stored."""

    def add(self, domain: Domain, data: bytes) -> Digest:
        """See `ports.objects.Batch.add`."""
        return domain.digest(data)

    def add_stream(self, domain: Domain, source: BinaryIO) -> tuple[Digest, int]:
        """See `ports.objects.Batch.add_stream`."""
        return domain.digest_stream(source)


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
