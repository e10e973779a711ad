"""Other users to run a command as; a test that cannot have one is skipped, and says so."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from typing import Final

import pytest

_ROOT: Final = 0
_CHECKED_AS_OWNER: Final = ("setpriv", "--bounding-set=-dac_override,-dac_read_search,-fowner")
_ANOTHER_USER: Final = ("unshare", "--user", "--map-user=54321", "--map-group=54321")


def checked_by_permissions() -> tuple[str, ...]:
    """What to put before a command so that permissions hold for it, as they do not for root."""
    if os.geteuid() != _ROOT:
        return ()
    return _usable(_CHECKED_AS_OWNER)


def not_root() -> tuple[str, ...]:
    """What to put before a command so that it does not run as root: under another user id where we are root."""
    return another_user() if os.geteuid() == _ROOT else ()


def another_user() -> tuple[str, ...]:
    """What to put before a command so that it runs under another user id."""
    return _usable(_ANOTHER_USER)


def _usable(prefix: tuple[str, ...]) -> tuple[str, ...]:
    if shutil.which(prefix[0]) is None:
        pytest.skip(f"{prefix[0]} is not installed")
    tried = subprocess.run([*prefix, sys.executable, "-c", ""], capture_output=True, text=True, check=False)
    if tried.returncode != 0:
        pytest.skip(f"{' '.join(prefix)} cannot be used here: {tried.stderr.strip()}")
    return prefix
