"""How tests are run: which look for counterexamples, in what way, and which in one process.

Hypothesis looks freely on a developer's machine, and the same way every time in CI.
"""

from __future__ import annotations

import os
import signal
from typing import Any

import pytest
from hypothesis import settings
from xdist.scheduler import LoadScopeScheduling  # type: ignore[import-untyped]

from tests.support.torture import examples

settings.register_profile("developer", deadline=None, max_examples=examples(100))
settings.register_profile("ci", deadline=None, derandomize=True, print_blob=True, max_examples=examples(100))
settings.load_profile("ci" if os.environ.get("CI") else "developer")

# What is ignored stays ignored in every program that is started: a suite that runs in the background, or under nohup,
# would find that no signal stops the command. With a handler here, programs begin with what is usual.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
    signal.signal(signal.SIGHUP, lambda _signal, _frame: None)


class ByFile(LoadScopeScheduling):  # type: ignore[misc]
    """Keeps the tests of one file in one process, and all that need a container engine: there is one for the tests."""

    def _split_scope(self, nodeid: str) -> str:
        return "tests/engine" if nodeid.startswith("tests/engine/") else nodeid.partition("::")[0]


@pytest.hookimpl
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> ByFile:
    """How tests are shared out when they run in several processes."""
    return ByFile(config, log)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What looks for counterexamples looks longer in `make torture`."""
    for item in items:
        if getattr(getattr(item, "obj", None), "is_hypothesis_test", False):
            item.add_marker(pytest.mark.torture)
