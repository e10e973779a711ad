"""Kills a command at one of its system calls, so that every moment there is can be had, and had again."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections import Counter
from typing import TYPE_CHECKING, Final

import attrs
import pytest

from tests.support.torture import TIMES

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from tests.support.cli import ReevalBuild

CHANGING_FILES: Final = (
    "fdatasync",
    "fsync",
    "ftruncate",
    "link",
    "mkdir",
    "pwrite64",
    "rename",
    "rmdir",
    "symlink",
    "unlink",
    "unlinkat",
    "write",
)
"""System calls that change files. Opening is not among them: what a file is before it is written to is seen there."""

_LINE: Final = re.compile(r"(\d+) +(\w+)\(")


@attrs.frozen
class Moment:
    """Before a process or thread makes a system call for the `number`th time, counted from 1."""

    call: str
    number: int

    def __str__(self) -> str:
        return f"{self.call}-{self.number}"

    @property
    def prefix(self) -> tuple[str, ...]:
        """What to put before a command so that it is killed at this moment, if it gets there."""
        inject = f"inject={self.call}:signal=SIGKILL:when={self.number}"
        # Without a filter in the kernel, with which strace sees the call and does not send the signal.
        return ("strace", "-f", "-qq", "-o", "/dev/null", "-e", f"trace={self.call}", "-e", inject)


def moments(reeval: ReevalBuild, command: str, *arguments: str, trace: Path) -> list[Moment]:
    """Every moment at which a command is about to change a file, found by running it to its end.

    Programs that it starts are left out; threads that make as many calls are told apart by nothing.
    """
    calls = ",".join((*CHANGING_FILES, "execve"))
    reeval.prefix = ["strace", "-f", "-qq", "--seccomp-bpf", "-o", str(trace), "-e", f"trace={calls}"]
    try:
        reeval(command, *arguments)
    finally:
        reeval.prefix = []
    made = [match.groups() for line in trace.read_text(errors="replace").splitlines() if (match := _LINE.match(line))]
    main = made[0][0]
    others = {thread for thread, call in made if call == "execve" and thread != main}
    counts = Counter((thread, call) for thread, call in made if thread not in others)
    most = Counter[str]()
    for (_thread, call), count in counts.items():
        most[call] = max(most[call], count)
    return [Moment(call, number) for call in CHANGING_FILES for number in range(1, most[call] + 1)]


def some_of(found: Sequence[Moment], in_ci: int) -> list[Moment]:
    """All of them, when there is time; else some, as far apart as can be, which are others with more time."""
    count = min(len(found), in_ci * TIMES)
    return [found[(2 * at + 1) * len(found) // (2 * count)] for at in range(count)]


def require_strace() -> None:
    """Skip the test where a command cannot be traced."""
    if shutil.which("strace") is None:
        pytest.skip("strace is not installed")
    tried = subprocess.run(["strace", "-f", "--seccomp-bpf", "true"], capture_output=True, text=True, check=False)
    if tried.returncode != 0:
        pytest.skip(f"strace cannot be used here: {tried.stderr.strip()[-200:]}")
