"""Talks to a git host."""

from __future__ import annotations

import re
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

import pygit2

from reeval_build.sources.git_credentials import Host, read_token
from reeval_build.sources.git_errors import (
    AccessRefusedError,
    GitSourceError,
    HostAwayError,
    NoRepositoryError,
    UnsupportedRepositoryError,
)
from reeval_build.sources.git_refs import Offer

if TYPE_CHECKING:
    from collections.abc import Iterator

    from reeval_build.model.spec import GitWorkspace
    from reeval_build.ports.engine import Cancellation
    from reeval_build.sources.git_limits import GitLimits

EVERYTHING: Final = 2**31 - 1
"""The depth that makes a shallow repository whole (`GIT_FETCH_DEPTH_UNSHALLOW` of libgit2)."""

_USER_IN_URL: Final = re.compile(r"(?<=//)[^/@\s]+@")


def _saying(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE)


# What libgit2 and servers say, by what it means; the first that matches counts.
_TIMED_OUT: Final = _saying("timed? ?out|temporarily unavailable")
_NOT_THERE: Final = _saying("status code: 404|not found|not exported|not appear to be a git|does not exist")
_REFUSED: Final = _saying("status code: 40[13]|authenticat|denied|credential")
_AWAY: Final = _saying("failed to (resolve|connect)|could not|unreachable|reset|refused|closed|eof|status code: 5")
_FORMAT: Final = _saying("object format")


class Connection:
    """A connection to the repository of one workspace; `repository` is where what is fetched goes.

    Raises:
        TokenNotSetError: when the workspace's token variable is not set.
        GitSourceError: when the host is away, refuses access or has no such repository.
    """

    def __init__(
        self,
        workspace: GitWorkspace,
        repository: pygit2.Repository,
        *,
        timeout_s: float,
        limits: GitLimits,
        cancel: Cancellation | None = None,
    ) -> None:
        # Of the whole process, like the timeouts of `socket`; libgit2 has no others.
        pygit2.settings.server_connect_timeout = pygit2.settings.server_timeout = int(timeout_s * 1000)
        self._workspace = workspace
        self._timeout_s = timeout_s
        self._limits = limits
        self._cancel = cancel
        self._token = read_token(workspace)
        with self._explained():
            # Anonymous, so that no URL is written into the repository's configuration.
            self._remote = repository.remotes.create_anonymous(workspace.url)
            self._remote.connect(callbacks=self._callbacks(), proxy=True)
            heads = self._remote.list_heads(connect=False)
        self.offer = Offer({head.name: str(head.oid) for head in heads if head.name is not None})

    def fetch(self, *specifications: str, depth: int) -> None:
        """Fetch references or object ids into the repository.

        Raises:
            GitSourceError: when they cannot be had.
            CancelledError: when the run is told to stop while the host sends.
        """
        with self._explained():
            self._remote.fetch(list(specifications), callbacks=self._callbacks(), depth=depth, proxy=True)

    def _callbacks(self) -> Host:
        return Host(self._workspace, self._token, most_bytes=self._limits.received_bytes, cancel=self._cancel)

    @contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except pygit2.GitError as error:
            raise self._explain(str(error)) from None

    def _explain(self, said: str) -> GitSourceError:
        shown = _USER_IN_URL.sub("", said if self._token is None else said.replace(self._token, "***")).strip()
        if _TIMED_OUT.search(shown):
            return HostAwayError(self._workspace, f"its host did not answer for {self._timeout_s:g} s")
        if _NOT_THERE.search(shown):
            hint = "check the URL; a host may say so of a private repository too"
            return NoRepositoryError(self._workspace, f"is not there: {shown}", hint=hint)
        if _REFUSED.search(shown):
            return AccessRefusedError(self._workspace, shown, hint="check who may read it, and what you log in with")
        if _FORMAT.search(shown):
            return UnsupportedRepositoryError(self._workspace, shown)
        if _AWAY.search(shown):
            return HostAwayError(self._workspace, shown)
        return GitSourceError(self._workspace, f"cannot be fetched: {shown}")
