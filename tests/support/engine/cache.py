"""The directory of this machine where engines run and base images are kept."""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

from tests.support.engine.needs import EngineError

if TYPE_CHECKING:
    from collections.abc import Iterator

_UNUSED_DAYS: Final = 30
_LONGEST_SOCKET_PATH: Final = 107


def root() -> Path:
    """The cache directory, outside any checkout and shared by all of them."""
    chosen = os.environ.get("REEVAL_BUILD_TEST_CACHE")
    if chosen:
        directory = Path(chosen).absolute()
    else:
        directory = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "reeval-build-tests"
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    return directory


@contextmanager
def locked(name: str, *, timeout_s: float) -> Iterator[None]:
    """Hold the lock `name` of the cache directory for as long as the block runs."""
    path = root() / f"{name}.lock"
    with path.open("w") as lock:
        end = time.monotonic() + timeout_s
        while not _take(lock.fileno()):
            if time.monotonic() > end:
                raise EngineError(f"another process has held {path} for {timeout_s:.0f} s")
            time.sleep(0.1)
        yield


def images_directory(key: str) -> Path:
    """Where the images made from the ingredients `key` are kept; it is there only when they are complete."""
    directory = root() / "images" / key
    directory.parent.mkdir(exist_ok=True)
    return directory


def mark_used(images: Path) -> None:
    """Note that a directory of images is in use, and drop those that have not been for long."""
    os.utime(images)
    oldest = time.time() - _UNUSED_DAYS * 86400
    for other in images.parent.iterdir():
        if other.stat().st_mtime < oldest:
            shutil.rmtree(other)


@contextmanager
def new_run() -> Iterator[tuple[Path, int]]:
    """Make a fresh directory for an engine, and remove what engines that are gone have left.

    With it comes the open file whose lock says that the engine lives. Every process that inherits it keeps the
    directory alive, and when the last one has ended, however that came about, it is free to be removed.
    """
    runs = root() / "runs"
    with locked("runs", timeout_s=60):
        runs.mkdir(exist_ok=True)
        for old in runs.iterdir():
            if not is_alive(old):
                shutil.rmtree(old)
        run = Path(tempfile.mkdtemp(prefix="", dir=runs))
        lock = (run / "lock").open("w")
        _take(lock.fileno())
    with lock:
        if len(os.fsencode(run / "exec/containerd/containerd-debug.sock")) > _LONGEST_SOCKET_PATH:
            raise EngineError(f"no socket can be made in {run}: set REEVAL_BUILD_TEST_CACHE to a shorter path")
        yield run, lock.fileno()


def is_alive(run: Path) -> bool:
    """Whether any process of the engine in `run` lives."""
    try:
        lock = (run / "lock").open()
    except OSError:
        return False
    with lock:
        return not _take(lock.fileno())


def remove(run: Path, *, timeout_s: float = 20.0) -> None:
    """Remove an engine's directory as soon as its last process has ended; its mounts went with its namespaces."""
    end = time.monotonic() + timeout_s
    while is_alive(run):
        if time.monotonic() > end:
            raise EngineError(f"processes of the engine in {run} do not end")
        time.sleep(0.02)
    with locked("runs", timeout_s=60):
        shutil.rmtree(run, ignore_errors=True)


def _take(lock: int) -> bool:
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
