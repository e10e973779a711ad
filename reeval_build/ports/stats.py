"""What files were, by what the system says of them without their being read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import attrs

from reeval_build.digest import Digest

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


@attrs.frozen(kw_only=True)
class KnownDirectory:
    """Files of one directory as they were when they were read.

    `names` are sorted, with a NUL between them; for each of them `stats` has the integers that change with a file
    (`sources.freshness` says which), and `digests` the 32 bytes that name its content. `tree` is the object of the
    whole directory, and `rest` the encoding of the entries in it that are no files; None when it has other files, too.
    """

    names: bytes
    stats: bytes
    digests: bytes
    rest: bytes = b""
    tree: Digest | None = None


class StatCache(Protocol):
    """Remembers what files of the host were; safe to use from several threads and processes.

    It may forget at any time, and never makes anything up.
    """

    def load(self, root: bytes) -> Mapping[bytes, KnownDirectory]:
        """What is known of the directories of a root, by their paths in it."""

    def save(self, root: bytes, found: Mapping[bytes, KnownDirectory], *, gone: Iterable[bytes] = ()) -> None:
        """Remember directories of a root in place of what was known of them, and forget those that are `gone`."""
