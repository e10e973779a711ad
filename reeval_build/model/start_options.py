"""How a sandbox starts: what it may use, and where it is made."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeVar

import attrs

from reeval_build.model.sizes import size_bytes
from reeval_build.model.spec import DockerSandbox

if TYPE_CHECKING:
    from reeval_build.model.spec import Sandbox

Number = TypeVar("Number", int, float)


@attrs.frozen(kw_only=True)
class StartOptions:
    """What a sandbox may use while it runs, and where it is made.

    None of it decides what a command leaves behind, so none of it is in a key. `cpus` is a number of processors;
    `swap_bytes` come on top of `memory_bytes`, and are known when those are. `capabilities` are Linux capabilities
    besides the engine's own. `directory` is an absolute path of the host, in which a fake sandbox is made.
    `max_concurrent` is how many sandboxes of the kind may run at once. None stands for no limit, and for the default
    place.
    """

    cpus: float | None = None
    memory_bytes: int | None = None
    swap_bytes: int | None = None
    pids: int | None = None
    capabilities: frozenset[str] = frozenset()
    directory: str | None = None
    max_concurrent: int | None = None

    @classmethod
    def of(cls, sandbox: Sandbox) -> StartOptions:
        """What a sandbox's author wrote. Swap that nobody spoke of is as much as memory, as Docker has it."""
        if not isinstance(sandbox, DockerSandbox):
            return cls(directory=sandbox.dir, max_concurrent=sandbox.max_concurrent)
        memory_bytes = size_bytes(sandbox.memory)
        return cls(
            cpus=sandbox.cpus,
            memory_bytes=memory_bytes,
            swap_bytes=memory_bytes if sandbox.swap is None else size_bytes(sandbox.swap),
            pids=sandbox.pids,
            capabilities=frozenset(name.upper().removeprefix("CAP_") for name in sandbox.capabilities),
            max_concurrent=sandbox.max_concurrent,
        )

    def joined(self, other: StartOptions) -> StartOptions:
        """Those of a sandbox that two cells need: no less than each asks for, and no more of them at once."""
        directories = {self.directory, other.directory} - {None}
        return StartOptions(
            cpus=_greater(self.cpus, other.cpus),
            memory_bytes=_greater(self.memory_bytes, other.memory_bytes),
            swap_bytes=_greater(self.swap_bytes, other.swap_bytes),
            pids=_greater(self.pids, other.pids),
            capabilities=self.capabilities | other.capabilities,
            directory=min(filter(None, directories), default=None),
            max_concurrent=least(self.max_concurrent, other.max_concurrent),
        )


UNLIMITED: Final = StartOptions()


def at_rest(sandbox: Sandbox) -> Sandbox:
    """A sandbox without its start options: sandboxes that are equal so have one image, and one id."""
    if isinstance(sandbox, DockerSandbox):
        return attrs.evolve(sandbox, cpus=None, memory=None, swap=None, pids=None, capabilities=(), max_concurrent=None)
    return attrs.evolve(sandbox, dir=None, max_concurrent=None)


def least(*values: int | None) -> int | None:
    """The least of some limits."""
    return min((value for value in values if value is not None), default=None)


def _greater(one: Number | None, other: Number | None) -> Number | None:
    return None if one is None or other is None else max(one, other)
