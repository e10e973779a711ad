"""Who made a thing that must not outlive its maker: a process, told apart from any later one."""

from __future__ import annotations

import os
import platform
from pathlib import Path
from typing import Final

_BOOT_ID: Final = Path("/proc/sys/kernel/random/boot_id")
_PROCESSES: Final = Path("/proc")
_PID_NAMESPACE: Final = "/proc/self/ns/pid"
_UNKNOWN: Final = "-"
_ENDED_STATES: Final = frozenset({"X", "Z"})

# Fields of /proc/PID/stat, counted after the name, which may have anything in it: see proc_pid_stat(5).
_STATE_FIELD: Final = 0
_START_FIELD: Final = 19


def current_owner() -> str:
    """This process, as `PLACE:PID:START`.

    Where there is /proc, the place is this boot of this machine and this namespace of process ids, and the start
    tells the process from a later one of the same number; elsewhere there is only the host's name.
    """
    _state, start = _look(os.getpid())
    return f"{_place()}:{os.getpid()}:{start}"


def is_dead(owner: str) -> bool:
    """Whether the process that `current_owner` named has certainly ended: False whenever that cannot be known."""
    place, _, process = owner.partition(":")
    pid_text, _, start = process.partition(":")
    if place != _place() or not pid_text.isdecimal() or int(pid_text) == 0:
        return False
    pid = int(pid_text)
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    except (PermissionError, OverflowError):
        return False
    state, start_now = _look(pid)
    return state in _ENDED_STATES or (_UNKNOWN not in {start, start_now} and start != start_now)


def _place() -> str:
    try:
        boot = _BOOT_ID.read_text(encoding="ascii").strip()
        # A container that shares the engine of its machine has process ids of its own.
        namespace = os.readlink(_PID_NAMESPACE)
    except OSError:
        return platform.node().replace(":", "-")
    return f"{boot}/{namespace.strip('pid:[]')}"


def _look(pid: int) -> tuple[str, str]:
    try:
        text = (_PROCESSES / str(pid) / "stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return _UNKNOWN, _UNKNOWN
    fields = text.rpartition(")")[2].split()
    return fields[_STATE_FIELD], fields[_START_FIELD]
