"""What every engine does, whatever it runs sandboxes as.

A test class inherits `EngineContract` and has a fixture `bench`, a `Bench`. Scripts keep to what a POSIX shell, busybox
included, can do, since nothing else is in every sandbox.
"""

from __future__ import annotations

from tests.contract.engine_bench import Bench
from tests.contract.engine_changes import ChangeContract
from tests.contract.engine_commands import CommandContract
from tests.contract.engine_inputs import InputsContract
from tests.contract.engine_states import StateContract

__all__ = ["Bench", "EngineContract"]


class EngineContract(CommandContract, ChangeContract, StateContract, InputsContract):
    """The tests that a class with the fixture `bench` inherits."""
