"""An engine and a store on which its contract is tried."""

from __future__ import annotations

import io
import threading
from collections.abc import Callable
from contextlib import contextmanager
from typing import TYPE_CHECKING

import attrs

from reeval_build.digest import BLOB, DELTA, TREE, Digest
from reeval_build.model.spec import DockerSandbox, FakeSandbox
from reeval_build.model.start_options import UNLIMITED
from reeval_build.ports.engine import Engine
from reeval_build.ports.objects import Objects
from reeval_build.state import delta as deltas
from reeval_build.state.state import PlacedTree, State, StepDelta
from reeval_build.state.workspace import tree_at
from reeval_build.tree import directory
from reeval_build.tree.directory import Entry, Kind, walk
from reeval_build.tree.draft import Draft

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from reeval_build.model.start_options import StartOptions
    from reeval_build.paths import Parts
    from reeval_build.ports.engine import Sandbox
    from reeval_build.ports.objects import Batch

# Of every path: type and mode, names of a file, its size and bytes, where a link points. Not: times of directories.
_LISTING = r"""
find . -type f -exec ls -ldn {} + | sed 's/^/file /'
find . -type f -exec cksum {} + | sed 's/^/sum /'
find . -type d -exec ls -ldn {} + | sed 's/^/directory /'
find . -type l -exec ls -ldn {} + | sed 's/^/link /'
find . -type p -exec ls -ldn {} + | sed 's/^/fifo /'
"""


@attrs.frozen(kw_only=True)
class Bench:
    """An engine, a store, and the base that its sandboxes stand on.

    `another` makes an engine of the kind in the same place; `leftovers` is what sandboxes left behind by now, and
    `traces` what is there of a state.
    """

    engine: Engine
    another: Callable[[], Engine]
    objects: Objects
    sandbox: DockerSandbox | FakeSandbox
    leftovers: Callable[[], list[str]]
    traces: Callable[[State], list[str]]
    random_sequences: int = 12

    def base(self) -> State:
        """The state of the base alone."""
        return State(self.engine.resolve(self.sandbox, cancel=threading.Event()).identity)

    def workspace(self, files: Mapping[str, bytes] | None = None) -> State:
        """The base with a workspace of some files; a name that ends in `*` is executable."""
        return self.place(self.base(), self.engine.layout.workspace, files or {}, replaces=True)

    def place(self, state: State, at: Parts, files: Mapping[str, bytes], *, replaces: bool) -> State:
        """A state with some files on it."""
        with self.objects.batch() as batch:
            draft = Draft(self.load)
            for name, content in files.items():
                entry = Entry.file(batch.add(BLOB, content), len(content), executable=name.endswith("*"))
                draft.put(tuple(name.removesuffix("*").encode().split(b"/")), entry)
            tree = draft.save(lambda entries: batch.add(TREE, directory.encode(entries)))
        return state.on_top(PlacedTree(at=at, tree=tree, replaces=replaces))

    @contextmanager
    def start(self, state: State, options: StartOptions = UNLIMITED) -> Iterator[Sandbox]:
        """A sandbox that nobody stops."""
        with self.engine.start(state, options=options, cancel=threading.Event()) as sandbox:
            yield sandbox

    def step(self, state: State, script: str) -> State:
        """The state after a script that succeeds."""
        with self.start(state) as sandbox, self.objects.batch() as batch:
            succeed(sandbox, script)
            return state.on_top(self.capture(sandbox, batch))

    def capture(self, sandbox: Sandbox, batch: Batch) -> StepDelta:
        """What a sandbox's commands left, kept."""
        data, times = deltas.encode(sandbox.capture(batch))
        return StepDelta(delta=batch.add(DELTA, data), times=batch.add(DELTA, times))

    def said(self, state: State, script: str) -> str:
        """What a script that succeeds prints, in a sandbox of its own."""
        with self.start(state) as sandbox:
            return succeed(sandbox, script)

    def tree(self, state: State) -> dict[bytes, str]:
        """Every path of a state's workspace with what is there, in words."""
        draft = tree_at(state, self.engine.layout.workspace, self.load, self._load_delta)
        made: dict[Digest, directory.Directory] = {}

        def save(entries: Mapping[bytes, Entry]) -> Digest:
            digest = directory.tree_digest(entries)
            made[digest] = dict(entries)
            return digest

        root = draft.save(save)
        found = walk(root, lambda digest: made[digest] if digest in made else self.load(digest))
        return {b"/".join(parts): self._in_words(entry) for parts, entry in found}

    def load(self, digest: Digest) -> directory.Directory:
        """A directory of the store."""
        return directory.decode(self.objects.read(TREE, digest))

    def _load_delta(self, delta: StepDelta) -> tuple[deltas.DeltaEntry, ...]:
        return deltas.decode(self.objects.read(DELTA, delta.delta), self.objects.read(DELTA, delta.times))

    def _in_words(self, entry: Entry) -> str:
        if entry.kind is Kind.DIRECTORY:
            return "directory"
        if entry.kind is Kind.SYMLINK:
            return f"-> {(entry.target or b'').decode(errors='backslashreplace')}"
        content = self.objects.read(BLOB, entry.content)
        assert len(content) == entry.size
        return ("executable " if entry.kind is Kind.EXECUTABLE else "") + content.decode(errors="backslashreplace")


def run(
    sandbox: Sandbox, *command: str, cwd: str = ".", timeout_s: float | None = None, **env: str
) -> tuple[int, bytes, bytes]:
    """The exit code of a command, and its two outputs."""
    stdout, stderr = io.BytesIO(), io.BytesIO()
    code = sandbox.execute(list(command), cwd=cwd, env=env, stdout=stdout, stderr=stderr, timeout_s=timeout_s)
    return code, stdout.getvalue(), stderr.getvalue()


def shell(
    sandbox: Sandbox, script: str, *, cwd: str = ".", timeout_s: float | None = None, **env: str
) -> tuple[int, bytes, bytes]:
    """The same of a script."""
    return run(sandbox, "/bin/sh", "-c", script, cwd=cwd, timeout_s=timeout_s, **env)


def succeed(sandbox: Sandbox, script: str, *, cwd: str = ".") -> str:
    """What a script that must succeed prints."""
    code, stdout, stderr = shell(sandbox, script, cwd=cwd)
    assert code == 0, stderr.decode(errors="replace")
    return stdout.decode()


def listing(sandbox: Sandbox) -> list[str]:
    """All that is in the workspace, one line a path, without what may differ between two sandboxes of one state."""
    lines = []
    for line in succeed(sandbox, _LISTING).splitlines():
        kind, *words = line.split()
        if kind == "sum":
            lines.append(line)
        else:
            mode, names, _uid, _gid, size = words[:5]
            path = " ".join(words[8:])
            lines.append(" ".join([kind, mode, *([names, size] if kind == "file" else []), path]))
    return sorted(lines)
