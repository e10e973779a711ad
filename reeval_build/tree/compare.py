"""What differs between two trees."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING

import attrs

from reeval_build.paths import Parts
from reeval_build.tree.directory import EMPTY, Entry, Kind

if TYPE_CHECKING:
    from collections.abc import Iterator

    from reeval_build.digest import Digest
    from reeval_build.tree.directory import Loader


class ChangeKind(Enum):
    """What happened to a path."""

    ADDED = "added"
    CHANGED = "changed"
    DELETED = "deleted"
    MODE = "chmod"


@attrs.frozen(kw_only=True)
class Change:
    """One file or link that differs: `before` is None when it was added, `after` when it was deleted."""

    parts: Parts
    before: Entry | None
    after: Entry | None

    @property
    def kind(self) -> ChangeKind:
        """What happened; a change of nothing but the executable bit is a chmod."""
        if self.before is None:
            return ChangeKind.ADDED
        if self.after is None:
            return ChangeKind.DELETED
        same_bytes = self.before.digest == self.after.digest and self.before.target == self.after.target
        return ChangeKind.MODE if same_bytes else ChangeKind.CHANGED


def compare(before: Digest, after: Digest, load: Loader) -> Iterator[Change]:
    """The files and links that differ, sorted by name; directories that are equal are not read.

    A directory counts only through what is in it. A directory in place of a file is a deletion and additions.
    """
    open_directories = [_side_by_side((), before, after, load)]
    while open_directories:
        pair = next(open_directories[-1], None)
        if pair is None:
            open_directories.pop()
            continue
        parts, old, new = pair
        old_leaf, old_directory = _sort(old)
        new_leaf, new_directory = _sort(new)
        if old_leaf != new_leaf:
            yield Change(parts=parts, before=old_leaf, after=new_leaf)
        open_directories.append(_side_by_side(parts, old_directory, new_directory, load))


def _side_by_side(
    above: Parts, before: Digest | None, after: Digest | None, load: Loader
) -> Iterator[tuple[Parts, Entry | None, Entry | None]]:
    """What each of two directories has under every name that one of them has; nothing when they are equal."""
    if before == after:
        return
    old = EMPTY if before is None else load(before)
    new = EMPTY if after is None else load(after)
    for name in sorted(old.keys() | new.keys()):
        yield (*above, name), old.get(name), new.get(name)


def _sort(entry: Entry | None) -> tuple[Entry | None, Digest | None]:
    if entry is None:
        return None, None
    return (None, entry.content) if entry.kind is Kind.DIRECTORY else (entry, None)
