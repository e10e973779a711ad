"""How hypothesis looks for counterexamples: freely on a developer's machine, the same way every time in CI."""

from __future__ import annotations

import os
import signal

from hypothesis import settings

settings.register_profile("developer", deadline=None)
settings.register_profile("ci", deadline=None, derandomize=True, print_blob=True)
settings.load_profile("ci" if os.environ.get("CI") else "developer")

# What is ignored stays ignored in every program that is started: a suite that runs in the background, or under nohup,
# would find that no signal stops the command. With a handler here, programs begin with what is usual.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
    signal.signal(signal.SIGHUP, lambda _signal, _frame: None)
