"""What the machine is, as far as it explains times."""

from __future__ import annotations

import os
import platform
from pathlib import Path


def describe() -> str:
    """The class of the machine in a line: never its name."""
    memory_gib = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 2**30
    python = f"{platform.system()}, Python {platform.python_version()}"
    return f"{os.cpu_count()} x {_processor()}, {memory_gib:.0f} GiB, {python}"


def load() -> float:
    """How many processes wanted a processor in the last minute: above the number of processors, times are inflated."""
    return os.getloadavg()[0]


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()
