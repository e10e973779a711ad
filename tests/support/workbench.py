"""A Docker engine with a store of its own, to try states and sandboxes on."""

from __future__ import annotations

import io
import threading
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING

import attrs

from reeval_build.digest import BLOB, DELTA, TREE
from reeval_build.engines.docker.engine import DockerEngine
from reeval_build.model.spec import DockerSandbox
from reeval_build.model.start_options import UNLIMITED
from reeval_build.paths import split
from reeval_build.state import delta as deltas
from reeval_build.state.state import PlacedTree, State, StepDelta
from reeval_build.stores.local import LocalStore
from reeval_build.tree import directory
from reeval_build.tree.directory import Entry
from reeval_build.tree.draft import Draft

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

    from reeval_build.digest import Digest
    from reeval_build.engines.docker.sandbox import ContainerSandbox
    from reeval_build.model.start_options import StartOptions
    from reeval_build.ports.engine import Sandbox
    from reeval_build.ports.objects import Batch, Objects
    from reeval_build.state.delta import DeltaEntry

# All that a state is, of what is below a directory; nothing of what differs between two containers of one state.
_LISTING = r"""
cd "$1" || exit
find . -print0 | sort -z > /dev/shm/names
xargs -0 -r sh -c 'for name; do
  if [ -d "$name" ] && [ ! -L "$name" ]; then stat -c "%N|%F|%a|%u:%g|%Y" "$name"
  else stat -c "%N|%F|%a|%u:%g|%Y|%s|%t,%T" "$name"; fi
  if [ -f "$name" ] && [ ! -L "$name" ]; then stat -c "%h names" "$name"; sha256sum < "$name"; fi
done' sh < /dev/shm/names
rm /dev/shm/names
"""


@attrs.frozen
class Result:
    """How a command ended, and what it wrote."""

    code: int
    stdout: bytes
    stderr: bytes


class Workbench:
    """A Docker engine and a store to try it with; `another` makes an engine like it."""

    def __init__(self, address: str, directory: Path, *, portable: bool = False) -> None:
        self.store = LocalStore(directory / "store")
        self.objects: Objects = self.store.objects
        self.another = partial(
            DockerEngine, self.objects, scratch=directory / "scratch", address=address, portable=portable
        )
        self.engine = self.another()
        self.cancel = threading.Event()

    def close(self) -> None:
        """Close the engine and the store."""
        self.engine.close()
        self.store.close()

    def base(self, image: str) -> State:
        """The state of an image and nothing else."""
        return State(self.engine.resolve(DockerSandbox(image=image), cancel=threading.Event()).identity)

    @contextmanager
    def sandbox(self, state: State, options: StartOptions = UNLIMITED) -> Iterator[ContainerSandbox]:
        """A sandbox of a state."""
        with self.engine.start(state, options=options, cancel=self.cancel) as sandbox:
            yield sandbox

    def run(self, state: State, script: str) -> Result:
        """The result of a script in a sandbox of its own."""
        with self.sandbox(state) as sandbox:
            return run(sandbox, script)

    def changes(self, state: State, script: str) -> dict[bytes, DeltaEntry]:
        """What a script changes in a sandbox of its own, by path."""
        with self.sandbox(state) as sandbox, self.objects.batch() as batch:
            succeed(sandbox, script)
            return {entry.path: entry for entry in sandbox.capture(batch)}

    def step(self, state: State, script: str) -> State:
        """The state after a script."""
        with self.sandbox(state) as sandbox, self.objects.batch() as batch:
            succeed(sandbox, script)
            return state.on_top(keep_delta(batch, sandbox.capture(batch)))

    def by_hand(self, state: State, *entries: DeltaEntry) -> State:
        """The state after a step that left exactly these entries."""
        with self.objects.batch() as batch:
            return state.on_top(keep_delta(batch, entries))

    def keep(self, content: bytes) -> Digest:
        """The digest of these bytes, which are kept."""
        with self.objects.batch() as batch:
            return batch.add(BLOB, content)

    def place(self, state: State, at: str, files: Mapping[str, bytes], *, replaces: bool = True) -> State:
        """The state with a tree of files on it; a name that ends in `*` is executable."""
        with self.objects.batch() as batch:
            draft = Draft(lambda digest: directory.decode(self.objects.read(TREE, digest)))
            for name, content in files.items():
                entry = Entry.file(batch.add(BLOB, content), len(content), executable=name.endswith("*"))
                draft.put(split(name.removesuffix("*").encode()), entry)
            tree = draft.save(lambda entries: batch.add(TREE, directory.encode(entries)))
        return state.on_top(PlacedTree(at=split(at.encode()), tree=tree, replaces=replaces))


def keep_delta(batch: Batch, entries: Iterable[DeltaEntry]) -> StepDelta:
    """Keep a delta whose files are kept already."""
    data, times = deltas.encode(entries)
    return StepDelta(delta=batch.add(DELTA, data), times=batch.add(DELTA, times))


def run(sandbox: Sandbox, script: str, *, cwd: str = "/", timeout_s: float | None = None, **env: str) -> Result:
    """The result of a script in a sandbox."""
    stdout, stderr = io.BytesIO(), io.BytesIO()
    code = sandbox.execute(
        ["/bin/sh", "-c", script], cwd=cwd, env=env, stdout=stdout, stderr=stderr, timeout_s=timeout_s
    )
    return Result(code, stdout.getvalue(), stderr.getvalue())


def succeed(sandbox: Sandbox, script: str) -> bytes:
    """What a script that must succeed writes."""
    result = run(sandbox, script)
    assert result.code == 0, result.stderr.decode(errors="replace")
    return result.stdout


def listing(sandbox: Sandbox, below: str) -> bytes:
    """Everything that matters of every path below a directory, contents included; needs find, stat and sha256sum."""
    stdout, stderr = io.BytesIO(), io.BytesIO()
    code = sandbox.execute(["/bin/sh", "-c", _LISTING, "sh", below], cwd="/", env={}, stdout=stdout, stderr=stderr)
    assert (code, stderr.getvalue()) == (0, b"")
    return stdout.getvalue()
