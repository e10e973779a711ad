"""What runs sandboxes."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Protocol

from reeval_build.errors import InfraError
from reeval_build.model.start_options import UNLIMITED
from reeval_build.plan.locks import ANY

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from contextlib import AbstractContextManager
    from typing import BinaryIO

    from reeval_build.model.spec import Sandbox as SandboxSpec
    from reeval_build.model.start_options import StartOptions
    from reeval_build.plan.locks import Terms
    from reeval_build.plan.resolution import Base
    from reeval_build.ports.builds import BuiltImage, ImageRecipe
    from reeval_build.ports.objects import Batch
    from reeval_build.state.delta import DeltaEntry
    from reeval_build.state.state import Layout, State


class EngineError(InfraError):
    """The engine did not do its part."""

    category: ClassVar[str] = "engine"


class EngineAwayError(EngineError):
    """The engine does not answer."""


class CommandTimeoutError(InfraError):
    """A command in a sandbox did not end in time; its whole process group is gone."""

    def __init__(self, timeout_s: float) -> None:
        super().__init__(f"timed out after {timeout_s:g} s")
        self.timeout_s = timeout_s


class Cancellation(Protocol):
    """Tells whether the run was told to stop (a `threading.Event` is one)."""

    def is_set(self) -> bool:
        """Whether to stop."""

    def set(self) -> None:
        """Tell everyone to stop."""

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until told to stop, or for `timeout` seconds."""


class Sandbox(Protocol):
    """A file system that started as a state, in which commands run."""

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
        """Run a command to its end and return its exit code (128 + N when signal N ended it).

        `cwd` is relative to the workspace or absolute in the sandbox. `env` reaches this command and nothing else.

        Raises:
            CommandTimeoutError: after `timeout_s` seconds; every process of the sandbox has been ended.
            CancelledError: when the run was told to stop; likewise.
            InfraError: when the engine fails.
        """

    def was_killed_for_memory(self) -> bool:
        """Whether a process of the sandbox was killed because its memory, or the machine's, was used up.

        False where that cannot be told. Asked after a command that failed, and before `capture`.

        Raises:
            InfraError: when the engine fails.
        """

    def capture(self, batch: Batch) -> tuple[DeltaEntry, ...]:
        """End every process of the sandbox, then read what differs from the state it started from.

        The bytes of files are added to `batch`. Nothing can run in the sandbox afterwards.

        Raises:
            InfraError: when the engine fails or the change cannot be kept; names the path.
        """


class Engine(Protocol):
    """Makes sandboxes; safe to use from several threads."""

    @property
    def layout(self) -> Layout:
        """Where its sandboxes have the workspace and the home directory."""

    def resolve(self, sandbox: SandboxSpec, *, terms: Terms = ANY, cancel: Cancellation) -> Base:
        """What the sandbox's base is, on these terms.

        What it is locked as it is, whatever its name is now; the engine need not have that before a sandbox starts.
        What is not locked is what the engine has under that name, or is fetched.

        Raises:
            CancelledError: when the run is told to stop while it is fetched.
            EngineAwayError: when the engine does not answer.
            NotLockedError: when it must be locked and is not.
            MissingPlatformError: when there is none for the platform.
            InfraError: when there is no such image.
        """

    def scratch(self, platform: str | None) -> Base:
        """The base that has nothing in it, for a platform or the engine's own.

        Raises:
            EngineAwayError: when the engine does not answer.
        """

    def built(
        self, recipe: ImageRecipe, *, output: BinaryIO, timeout_s: float, cancel: Cancellation
    ) -> AbstractContextManager[BuiltImage]:
        """An image that is built from a Dockerfile; nothing of it is left in the engine when the block ends.

        What the builder says is written to `output`, as it comes. All images of the recipe must have been resolved by
        this engine object before.

        Raises:
            BuildFailedError: when it cannot be built.
            CommandTimeoutError: after `timeout_s` seconds.
            CancelledError: when the run was told to stop.
            EngineAwayError: when the engine does not answer.
            LostObjectError: when the store lacks a piece of the context.
        """

    def keep_private(self, state: State) -> None:
        """Leave nothing of `state`, or of a state on top of it, in the engine for longer than this object is open.

        When the process is killed, the next engine object of another process removes what is left.
        """

    def close(self) -> None:
        """Close what is open; nothing is asked of it afterwards."""

    def start(
        self, state: State, *, options: StartOptions = UNLIMITED, cancel: Cancellation
    ) -> AbstractContextManager[Sandbox]:
        """A sandbox whose file system is `state`; nothing of it is left when the block ends.

        The base of `state` must have been resolved by this engine object before. An engine leaves out what of
        `options` it has no notion of; how many sandboxes run at once is up to the caller.

        Raises:
            EngineAwayError: when the engine does not answer.
            LostObjectError: when the store lacks a piece of the state.
        """
