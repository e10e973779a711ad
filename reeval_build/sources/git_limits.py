"""How much there may be in a git repository that a workspace is read from."""

from __future__ import annotations

from typing import Final

import attrs


@attrs.frozen(kw_only=True)
class GitLimits:
    """Owners of repositories may be strangers, and a few kilobytes of git can stand for any number of files.

    `received_bytes` is how much a host may send in one fetch, `object_bytes` how large one object may be, which is
    held in memory. `entries`, of files, links and directories, and `total_bytes` are for the whole tree, where equal
    ones count each time.
    """

    received_bytes: int = 32 * 1024**3
    object_bytes: int = 1024**3
    entries: int = 1_000_000
    total_bytes: int = 32 * 1024**3


GENEROUS: Final = GitLimits()
"""More than anything that is meant to be a workspace."""
