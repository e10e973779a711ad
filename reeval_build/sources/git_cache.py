"""Keeps what was fetched: one bare repository a URL, shared by processes, never half-written."""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
import threading
import time
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pygit2

from reeval_build.digest import Domain
from reeval_build.errors import CancelledError
from reeval_build.sources.git_errors import EmptyRepositoryError, FetchCacheError, GitSourceError, NoSuchRefError
from reeval_build.sources.git_objects import GitObjects
from reeval_build.sources.git_refs import as_abbreviation, as_commit
from reeval_build.sources.git_remote import EVERYTHING, Connection

if TYPE_CHECKING:
    from collections.abc import Iterator

    from reeval_build.model.spec import GitWorkspace
    from reeval_build.ports.engine import Cancellation
    from reeval_build.sources.git_limits import GitLimits
    from reeval_build.sources.git_refs import Tip

_URL: Final = Domain("git url", 1)
_FETCHED: Final = "refs/fetched"
_KNOWN: Final = "refs/commits"
_ASK_AGAIN_S: Final = 0.05

# A pack is durable before its name is, and so before anything that points into it.
pygit2.settings.enable_fsync_gitdir(value=True)


class UsedDirectories:
    """Directories that are locked so that nobody removes them while this is there.

    Whoever removes one has to hold it alone, and moves it away before it lets go.
    """

    def __init__(self) -> None:
        self._descriptors: dict[Path, int] = {}
        self._guard = threading.Lock()

    def use(self, path: Path) -> None:
        """Make a directory if it is not there, and use it. Raises OSError when that cannot be done."""
        with self._guard:
            # Who does not ask may have removed it all the same.
            while path not in self._descriptors or not _is_still_at(self._descriptors[path], path):
                if path in self._descriptors:
                    os.close(self._descriptors.pop(path))
                path.mkdir(parents=True, exist_ok=True)
                with suppress(FileNotFoundError):
                    self._descriptors[path] = _shared(path)
            with suppress(PermissionError):
                # When it was last used decides how soon it goes.
                os.utime(path)

    def __del__(self) -> None:
        for descriptor in self._descriptors.values():
            os.close(descriptor)


class FetchedRepository:
    """What was fetched of one workspace's URL.

    libgit2 only ever writes into a fresh directory that borrows the objects that are here. What it fetched is then
    moved in: packs, each before its index, then the list of shallow commits, then a reference. So a commit whose
    object is here has its whole tree here, and a process that is killed leaves nothing but a directory to sweep up.
    """

    def __init__(
        self,
        cache: Path,
        workspace: GitWorkspace,
        *,
        used: UsedDirectories,
        timeout_s: float,
        limits: GitLimits,
        cancel: Cancellation | None = None,
    ) -> None:
        self._workspace = workspace
        self._used = used
        self._timeout_s = timeout_s
        self._limits = limits
        self._cancel = cancel
        self._home = cache.absolute() / _URL.digest(workspace.url.encode()).hex
        self._path = self._home / "repository"

    @property
    def path(self) -> str:
        """Where the objects are."""
        return str(self._path)

    def fetch_commit(self) -> str:
        """The commit that the workspace's ref stands for, whose whole tree is here now.

        A full commit id that was fetched before needs no network; anything else asks the host what it is now, and
        fetches it if it is not here yet.

        Raises:
            GitSourceError: when it cannot be had.
            FetchCacheError: when it cannot be kept.
            CancelledError: when the run is told to stop while another process fetches, or the host sends.
        """
        try:
            return self._fetch_commit()
        except OSError as error:
            raise FetchCacheError(self._home, error) from error

    def _fetch_commit(self) -> str:
        self._make()
        wanted = as_commit(self._workspace.ref)
        if wanted is None:
            tip = self._find(self._path)[1]
            wanted = None if tip is None else tip.commit
        if wanted is not None and (known := self._known(wanted)):
            return known
        with self._locked():
            if wanted is not None and (known := self._known(wanted)):
                return known
            with self._incoming() as incoming:
                commit = self._fetch_into(incoming)
                self._take_in(incoming, commit)
                return commit

    def _known(self, object_id: str) -> str | None:
        objects = self._objects(self._path)
        return objects.peel(object_id) if objects.has(object_id) else None

    def _find(self, repository: Path) -> tuple[Connection, Tip | None]:
        connection = Connection(
            self._workspace,
            pygit2.Repository(repository),
            timeout_s=self._timeout_s,
            limits=self._limits,
            cancel=self._cancel,
        )
        if not connection.offer.references:
            raise EmptyRepositoryError(self._workspace)
        return connection, connection.offer.find(self._workspace.ref)

    def _fetch_into(self, incoming: Path) -> str:
        connection, tip = self._find(incoming)
        ref = self._workspace.ref
        commit = as_commit(ref)
        if tip is not None:
            connection.fetch(f"+{tip.name}:{_FETCHED}", depth=1)
            return self._fetched(incoming)
        if commit is None and as_abbreviation(ref) is None:
            raise NoSuchRefError(self._workspace)
        if commit is not None and _fetch_exactly(connection, commit):
            return self._fetched(incoming)
        # Servers need not give what no reference leads to directly, nor can they be asked what an id starts with.
        connection, _ = self._find(incoming)
        connection.fetch("+refs/heads/*:refs/all/heads/*", "+refs/tags/*:refs/all/tags/*", depth=EVERYTHING)
        return self._objects(incoming).find_commit()

    def _fetched(self, incoming: Path) -> str:
        target = pygit2.Repository(incoming).lookup_reference(_FETCHED).target
        return self._objects(incoming).peel(str(target))

    def _objects(self, repository: Path) -> GitObjects:
        return GitObjects(self._workspace, str(repository), limits=self._limits)

    def _make(self) -> None:
        self._used.use(self._home)
        if self._path.is_dir():
            return
        with self._locked(), self._temporary() as made:
            if not self._path.is_dir():
                pygit2.init_repository(made / "made", bare=True)
                (made / "made").rename(self._path)

    @contextmanager
    def _incoming(self) -> Iterator[Path]:
        """A repository that borrows the objects that are here and offers the host to send only what is missing."""
        with self._temporary() as incoming:
            pygit2.init_repository(incoming, bare=True)
            here = self._objects(self._path)
            known = [path.name for path in (self._path / _KNOWN).glob("*") if here.has(path.name)]
            (incoming / "objects/info/alternates").write_text(f"{self._path}/objects\n")
            (incoming / "packed-refs").write_text("".join(f"{commit} {_KNOWN}/{commit}\n" for commit in known))
            if (self._path / "shallow").exists():
                shutil.copyfile(self._path / "shallow", incoming / "shallow")
            yield incoming

    def _take_in(self, incoming: Path, commit: str) -> None:
        objects = self._path / "objects/pack"
        for pack in (incoming / "objects/pack").glob("*.pack"):
            pack.replace(objects / pack.name)
            index = pack.with_suffix(".idx")
            index.replace(objects / index.name)
        _sync(objects)
        if (incoming / "shallow").exists():
            (incoming / "shallow").replace(self._path / "shallow")
        else:
            (self._path / "shallow").unlink(missing_ok=True)
        (self._path / _KNOWN).mkdir(parents=True, exist_ok=True)
        (incoming / "commit").write_text(f"{commit}\n")
        (incoming / "commit").replace(self._path / _KNOWN / commit)

    @contextmanager
    def _temporary(self) -> Iterator[Path]:
        """A directory beside the repository; those that killed processes left are removed. Only under the lock."""
        for left in self._home.glob("incoming-*"):
            shutil.rmtree(left, ignore_errors=True)
        with tempfile.TemporaryDirectory(prefix="incoming-", dir=self._home, ignore_cleanup_errors=True) as made:
            yield Path(made)

    @contextmanager
    def _locked(self) -> Iterator[None]:
        descriptor = os.open(self._home / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
        try:
            self._wait_for(descriptor)
            yield
        finally:
            # Closing would not do while a child that was forked meanwhile holds a copy.
            fcntl.flock(descriptor, fcntl.LOCK_UN)
            os.close(descriptor)

    def _wait_for(self, descriptor: int) -> None:
        """Hold the lock. Raises CancelledError when the run is told to stop while another process has it."""
        while True:
            with suppress(BlockingIOError):
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return
            if self._cancel is not None and self._cancel.is_set():
                raise CancelledError
            time.sleep(_ASK_AGAIN_S)


def _fetch_exactly(connection: Connection, commit: str) -> bool:
    try:
        connection.fetch(f"{commit}:{_FETCHED}", depth=1)
    except GitSourceError:
        return False
    return True


def _shared(path: Path) -> int:
    """A descriptor that holds a directory together with others who use it."""
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def _is_still_at(descriptor: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(descriptor), path.stat())
    except FileNotFoundError:
        return False


def _sync(directory: Path) -> None:
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
