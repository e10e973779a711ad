"""The engine that runs commands in a directory of the host."""

from __future__ import annotations

import os
import platform
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

from reeval_build import canon
from reeval_build.digest import Domain
from reeval_build.errors import filling
from reeval_build.model.start_options import UNLIMITED
from reeval_build.plan.locks import ANY
from reeval_build.plan.resolution import Base
from reeval_build.state.state import Layout

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from contextlib import AbstractContextManager
    from typing import BinaryIO

    from reeval_build.engines.fake.restore import Restored
    from reeval_build.model.spec import Sandbox as SandboxSpec
    from reeval_build.model.start_options import StartOptions
    from reeval_build.plan.locks import Terms
    from reeval_build.ports.builds import BuiltImage, ImageRecipe
    from reeval_build.ports.engine import Cancellation
    from reeval_build.ports.objects import Batch, Objects
    from reeval_build.state.delta import DeltaEntry
    from reeval_build.state.state import State

FAKE_BASE: Final = Domain("fake-base", 1)
_LAYOUT: Final = Layout(workspace=(b"workspace",), home=(b"home",))
_PLACES: Final = (_LAYOUT.workspace, _LAYOUT.home)
_TEMPORARY: Final = "tmp"


class FakeEngine:
    """See `ports.engine.Engine`.

    A sandbox is a new directory with `workspace`, `home` and `tmp` in it; commands run on the host, as the user, with
    `PATH` of the host and nothing else of its environment. Nothing is isolated, and nothing is limited.

    Args:
        objects: where the trees and deltas of states are.
        scratch: the directory in which sandboxes are made.
        scratch_in: gives the directory for those that are to be made in one of the user's.
    """

    layout = _LAYOUT

    def __init__(self, objects: Objects, *, scratch: Path, scratch_in: Callable[[Path], Path]) -> None:
        self._objects = objects
        self._scratch = scratch
        self._scratch_in = scratch_in

    def resolve(self, sandbox: SandboxSpec, *, terms: Terms = ANY, cancel: Cancellation) -> Base:  # noqa: ARG002 - the port's signature
        """See `ports.engine.Engine.resolve`. The base is nothing, on this kind of machine."""
        name = f"{sys.platform}/{platform.machine().lower()}"
        return Base(identity=FAKE_BASE.digest(canon.encode([name])), platform=name)

    def scratch(self, platform: str | None) -> Base:  # noqa: ARG002 - the port's signature
        """See `ports.engine.Engine.scratch`."""
        raise AssertionError("no image is built for a directory")

    def built(
        self,
        recipe: ImageRecipe,  # noqa: ARG002 - the port's signature
        *,
        output: BinaryIO,  # noqa: ARG002 - likewise
        timeout_s: float,  # noqa: ARG002 - likewise
        cancel: Cancellation,  # noqa: ARG002 - likewise
    ) -> AbstractContextManager[BuiltImage]:
        """See `ports.engine.Engine.built`."""
        raise AssertionError("no image is built for a directory")

    def keep_private(self, state: State) -> None:
        """See `ports.engine.Engine.keep_private`. Nothing is left of any state when its sandbox ends."""

    def close(self) -> None:
        """See `ports.engine.Engine.close`. Nothing is open."""

    @contextmanager
    def start(self, state: State, *, options: StartOptions = UNLIMITED, cancel: Cancellation) -> Iterator[FakeSandbox]:
        """See `ports.engine.Engine.start`. Of the options only the directory is heeded."""
        import tempfile

        from reeval_build.engines.fake.removal import remove
        from reeval_build.engines.fake.restore import restore

        above = self._scratch if options.directory is None else self._scratch_in(Path(options.directory))
        directory = Path(tempfile.mkdtemp(prefix="fake-", dir=above)).resolve()
        try:
            (directory / _TEMPORARY).mkdir(mode=0o755)
            with filling(directory):
                restored = restore(state, os.fsencode(directory), _PLACES, self._objects)
            yield FakeSandbox(directory, restored, cancel)
        finally:
            remove(directory)


class FakeSandbox:
    """See `ports.engine.Sandbox`."""

    def __init__(self, directory: Path, restored: Restored, cancel: Cancellation) -> None:
        self._directory = directory
        self._restored = restored
        self._cancel = cancel

    def execute(
        self,
        command: Sequence[str],
        *,
        cwd: str,
        env: Mapping[str, str],
        stdout: BinaryIO,
        stderr: BinaryIO,
        timeout_s: float | None = None,
    ) -> int:
        """See `ports.engine.Sandbox.execute`."""
        from reeval_build.engines.fake.processes import encoded, run

        workspace = os.path.join(os.fsencode(self._directory), *_LAYOUT.workspace)
        home = self._directory / os.fsdecode(_LAYOUT.home[0])
        surroundings = {
            "PATH": os.environ.get("PATH", os.defpath),
            # Not the host's: it is in no key.
            "LANG": "C.UTF-8",
            "HOME": str(home),
            "TMPDIR": str(self._directory / _TEMPORARY),
        }
        return run(
            command,
            sandbox=self._directory,
            cwd=os.path.join(workspace, encoded(cwd)),
            env={**surroundings, **env},
            stdout=stdout,
            stderr=stderr,
            timeout_s=timeout_s,
            cancel=self._cancel,
        )

    def was_killed_for_memory(self) -> bool:
        """See `ports.engine.Sandbox.was_killed_for_memory`. The host does not say."""
        return False

    def capture(self, batch: Batch) -> tuple[DeltaEntry, ...]:
        """See `ports.engine.Sandbox.capture`. No process is left to end: `execute` has seen to it."""
        from reeval_build.engines.fake.scan import scan

        return scan(os.fsencode(self._directory), _PLACES, self._restored, batch)
