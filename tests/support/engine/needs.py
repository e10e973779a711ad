"""What a machine must have before a private engine can run on it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from functools import cache

_PROGRAMS = (
    # program, Debian package
    ("busybox", "busybox-static"),
    ("debootstrap", "debootstrap"),
    ("docker-registry", "docker-registry"),
    ("dockerd", "docker.io"),
    ("ip", "iproute2"),
    ("iptables", "iptables"),
    ("setpriv", "util-linux"),
    ("slirp4netns", "slirp4netns"),
    ("unshare", "util-linux"),
)

# Everything a private engine does happens in namespaces of its own: its network and firewall rules, its mounts, and
# its processes. So it cannot disturb another engine, and the end of its first process is the end of all of it.
NAMESPACES = ("unshare", "--mount", "--propagation=slave", "--net", "--pid", "--fork", "--kill-child", "--mount-proc")


class EngineError(Exception):
    """The private engine, or something it is made from, could not be had."""


def environment() -> dict[str, str]:
    """The environment in which to run system programs, whose directories are not on every PATH."""
    path = os.environ.get("PATH", os.defpath)
    return {**os.environ, "PATH": f"{path}:/usr/local/sbin:/usr/sbin:/sbin", "LC_ALL": "C"}


@cache
def obstacle() -> str | None:
    """Why a private engine cannot run on this machine, or None when it can."""
    if sys.platform != "linux":
        return "a private engine needs Linux"
    if os.geteuid() != 0:
        return "a private engine needs root"
    missing = sorted({package for program, package in _PROGRAMS if not _is_there(program)})
    if missing:
        return f"a private engine needs the Debian packages {', '.join(missing)}"
    probe = subprocess.run([*NAMESPACES, "true"], env=environment(), capture_output=True, text=True, check=False)
    if probe.returncode:
        return f"a private engine needs namespaces of its own: {probe.stderr.strip()}"
    return None


def _is_there(program: str) -> bool:
    return shutil.which(program, path=environment()["PATH"]) is not None
