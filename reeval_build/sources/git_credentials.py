"""Proves who we are to a git host, once a way, and whether the host is who it says and sends no more than it may."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

import pygit2
from pygit2.enums import CredentialType

from reeval_build.errors import CancelledError
from reeval_build.sources.git_errors import AccessRefusedError, HugeRepositoryError, TokenNotSetError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from reeval_build.model.spec import GitWorkspace
    from reeval_build.ports.engine import Cancellation

_Credentials = pygit2.Username | pygit2.UserPass | pygit2.Keypair

# The name that GitHub gives to a token's bearer; other hosts take any name with a token.
_USER_OF_TOKENS: Final = "x-access-token"
_SSH_USER: Final = "git"
_KEY_NAMES: Final = ("id_ed25519", "id_ecdsa", "id_rsa")
_LOOPBACK: Final = ("localhost", "127.0.0.1", "::1")


def read_token(workspace: GitWorkspace) -> str | None:
    """The value of the workspace's token variable, if it names one. Raises TokenNotSetError."""
    if workspace.token is None:
        return None
    value = os.environ.get(workspace.token, "")
    if not value:
        raise TokenNotSetError(workspace)
    return value


class Host(pygit2.RemoteCallbacks):
    """What libgit2 asks and says of a host, for one connection.

    It asks who we are again for as long as the host refuses, so each way is offered once and then access is refused.
    """

    def __init__(
        self, workspace: GitWorkspace, token: str | None, *, most_bytes: int, cancel: Cancellation | None
    ) -> None:
        super().__init__()
        self._workspace = workspace
        self._most_bytes = most_bytes
        self._cancel = cancel
        self._tokens = iter([] if token is None else [token])
        self._keys: Iterator[_Credentials] | None = None

    def credentials(self, url: str, username_from_url: str | None, allowed_types: CredentialType) -> _Credentials:
        """See pygit2."""
        allowed = CredentialType(allowed_types)
        if CredentialType.USERNAME in allowed:
            return pygit2.Username(_SSH_USER)
        if CredentialType.SSH_KEY in allowed:
            return self._next_key(username_from_url or _SSH_USER)
        return pygit2.UserPass(_USER_OF_TOKENS, self._next_token(url))

    def certificate_check(self, certificate: None, valid: bool, host: bytes) -> bool:  # noqa: ARG002, FBT001 - pygit2's
        """See pygit2, which by itself takes the key of any SSH host."""
        if not valid:
            raise AccessRefusedError(
                self._workspace,
                f"{host.decode('utf-8', 'replace')} cannot prove who it is",
                hint="for SSH, put its key into ~/.ssh/known_hosts (connect once with ssh);"
                " for https, let SSL_CERT_FILE name a file with the certificate authority",
            )
        return True

    def transfer_progress(self, stats: pygit2.remotes.TransferProgress) -> None:
        """See pygit2."""
        self._stop_if_told()
        if stats.received_bytes > self._most_bytes:
            raise HugeRepositoryError(self._workspace, f"sends more than the {self._most_bytes:,} bytes allowed")

    def sideband_progress(self, string: str) -> None:  # noqa: ARG002 - pygit2's
        """See pygit2."""
        self._stop_if_told()

    def _stop_if_told(self) -> None:
        if self._cancel is not None and self._cancel.is_set():
            raise CancelledError

    def _next_token(self, url: str) -> str:
        if self._workspace.token is None:
            raise AccessRefusedError(
                self._workspace,
                "its host asks for a password",
                hint="check the URL, which may name nothing; for a private repository pass token= with the NAME of a"
                " host variable",
            )
        if not may_see_token(url, self._workspace.url):
            raise AccessRefusedError(
                self._workspace,
                "it leads to another address, which the token is not for",
                hint="name the repository by the address it is at now",
            )
        try:
            return next(self._tokens)
        except StopIteration:
            raise AccessRefusedError(
                self._workspace,
                f"its host does not take the token in {self._workspace.token}",
                hint="check that the token is valid and may read this repository",
            ) from None

    def _next_key(self, user: str) -> _Credentials:
        if self._keys is None:
            self._keys = _keys(user)
        try:
            return next(self._keys)
        except StopIteration:
            raise AccessRefusedError(
                self._workspace,
                f"its host takes none of the keys of your SSH agent and ~/.ssh ({', '.join(_KEY_NAMES)})",
                hint="add the key that it knows to your agent with `ssh-add`",
            ) from None


def _keys(user: str) -> Iterator[_Credentials]:
    if "SSH_AUTH_SOCK" in os.environ:
        yield pygit2.KeypairFromAgent(user)
    for name in _KEY_NAMES:
        private = Path("~/.ssh").expanduser() / name
        if private.is_file():
            # No public half: it may not be there, and follows from the private one.
            yield pygit2.Keypair(user, None, str(private), "")


def may_see_token(asking: str, meant: str) -> bool:
    """Whether a host that asks is the one the author named, over a line that others cannot read."""
    there, ours = urlsplit(asking), urlsplit(meant)
    same = (there.scheme, there.hostname, there.port) == (ours.scheme, ours.hostname, ours.port)
    return same and (ours.scheme == "https" or ours.hostname in _LOOPBACK)
