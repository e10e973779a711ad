"""How much is read of archives and directories."""

from __future__ import annotations

from typing import Final

import attrs


@attrs.frozen(kw_only=True)
class Limits:
    """How much may be in an archive or a directory.

    Headers of archives count for both, so that one of nothing else ends, too.
    """

    unpacked_bytes: int = 4 * 1024**3
    members: int = 250_000


GENEROUS: Final = Limits()
"""More than anything that is meant to be used."""

MAX_DEPTH: Final = 255
"""How deep directories may be: deeper than any project, and as deep as in git workspaces."""
