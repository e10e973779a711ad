"""A real project as a git repository, made from its source distribution by its name alone."""

from __future__ import annotations

import fcntl
import os
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path
from typing import Final

from tests.support.engine.cache import root

PROJECT: Final = "click"
VERSION: Final = "8.1.8"
_IDENTITY: Final = ("-c", "user.name=tests", "-c", "user.email=tests@example.com")


def make_repository(directory: Path) -> Path:
    """A git repository at `directory` with one commit: the project's source distribution.

    The distribution is fetched once a machine and kept with the tests' other material.
    """
    with tarfile.open(_distribution()) as archive:
        archive.extractall(directory.parent, filter="data")
    (directory.parent / f"{PROJECT}-{VERSION}").rename(directory)
    git(directory, "init", "--quiet", "--initial-branch=main")
    git(directory, "add", "--all", "--force")
    git(directory, *_IDENTITY, "commit", "--quiet", f"--message={PROJECT} {VERSION}")
    return directory


def git(directory: Path, *arguments: str) -> str:
    """Run git in `directory` without anyone's configuration, and return what it printed."""
    env = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
    done = subprocess.run(
        ["git", "-C", str(directory), *arguments], env=env, check=True, capture_output=True, text=True
    )
    return done.stdout


def _distribution() -> Path:
    kept = root() / "distributions" / f"{PROJECT}-{VERSION}.tar.gz"
    kept.parent.mkdir(exist_ok=True)
    with (kept.parent / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not kept.exists():
            with tempfile.TemporaryDirectory(dir=kept.parent) as directory:
                _download(Path(directory))
                next(Path(directory).glob("*.tar.gz")).rename(kept)
    return kept


def _download(directory: Path) -> None:
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--no-binary=:all:"]
    subprocess.run([*command, f"--dest={directory}", f"{PROJECT}=={VERSION}"], check=True)
